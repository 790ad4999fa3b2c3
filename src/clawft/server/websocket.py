"""The WebSocket at `/ws`: frames parsed to requests, handled concurrently, answered by one writer."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress

import anyio
import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.files import encode_json
from clawft.server.callers import DaemonCall, Listener, Subscriptions
from clawft.server.daemon import Daemon
from clawft.server.event_stream import ClientOutbox, TokenBacklog
from clawft.server.http.exchange import AsgiScope, Log, Receive, Send
from clawft.server.http.limits import WebError
from clawft.server.middleware import BUG, RECHECK_S, RequestClient, get_request_client
from clawft.server.observability import Metrics
from clawft.server.protocol.base import VERSION, DaemonAnswer, DaemonRequest, Id, Refusal, to_problem
from clawft.server.protocol.operations import (
    OPERATIONS,
    AnyOperation,
    decode_request,
    explain_invalid_request,
    find_operation,
)

_TYPES = {operation.name: operation.request for operation in OPERATIONS}


class BadFrame(ClawftError):
    """No request. `request` is the id that it came with, as far as that could be read."""

    def __init__(self, request: str, message: str, hint: str = "") -> None:
        super().__init__("request-invalid", message, hint=hint)
        self.request = request


class _Head(Struct):
    type: str = ""
    id: Id = ""


def parse_frame(text: str | None) -> DaemonRequest:
    """Parse a request; None is a message that is no text. Raises: BadFrame."""
    if text is None:
        raise BadFrame("", "Messages are text: a JSON object each", "Binary messages are not read")
    try:
        return decode_request(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise _explain(text, error) from None


def _explain(text: str, error: Exception) -> BadFrame:
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return BadFrame("", f"This is no request: {why}", 'A request is a JSON object: {"type": …, "id": …}')
    if head.type in _TYPES:
        message, hint = explain_invalid_request(error, _TYPES[head.type])
        return BadFrame(head.id, f"This is no {head.type}: {message}", hint)
    if not head.type:
        return BadFrame(head.id, "A request says what it is: `type` is missing", f"One of {', '.join(_TYPES)}")
    close = find_close(head.type[:60], _TYPES)
    hint = f"Did you mean '{close}'?" if close else f"One of {', '.join(_TYPES)}"
    return BadFrame(head.id, f"There is no request of the type '{head.type[:60]}'", hint)


PROTOCOL = f"clawft.{VERSION}"
MAX_BAD = 20  # messages in a row that are no requests, or too many
MAX_HELD = 128 << 20  # of answers that wait for all connections of one token
STALL_S = 30.0  # for a client to take some of what it is sent
_LOGGER = logging.getLogger("uvicorn.error")  # where those of HTTP are, too
_END_S = 5.0  # for what waits to be sent, when the daemon ends


class _Closing(Struct, frozen=True):
    """The code and reason with which the daemon closes a connection."""

    code: int
    reason: str


_DAEMON_ENDS = _Closing(1012, "the daemon ends")
_TOKEN_REVOKED = _Closing(4001, "the token does not count any more")
_BAD_FRAMES = _Closing(4002, "too many messages in a row that are no requests")
_SLOW = _Closing(4008, "slow-consumer: what it was sent was not read")
_TOO_MANY = _Closing(4029, "too many requests")


class WebSocketEndpoint:
    """The endpoint, and all connections that are open. The door has let them in."""

    def __init__(self, daemon: Daemon, metrics: Metrics, log: Log | None) -> None:
        self._daemon = daemon
        self._metrics = metrics
        self._log = log
        self._open: set[_Connection] = set()
        self._held: dict[str, TokenBacklog] = {}  # by the name of the token

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await receive()  # the connection request
        visitor = get_request_client(scope)
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL if PROTOCOL in scope["subprotocols"] else None})
        held = self._held.setdefault(visitor.caller.name, TokenBacklog(MAX_HELD))
        connection = _Connection(self._daemon, visitor, self._metrics, held)
        self._open.add(connection)
        try:
            await connection.run(receive, send)
        finally:
            self._open.discard(connection)
            if connection.is_slow:
                self._metrics.dropped("websocket")
                visitor.log_slow_client(self._log)

    async def close(self) -> None:
        """Send everybody what waits for them, and say that the daemon ends. The work is over by now."""
        with anyio.move_on_after(_END_S):
            async with anyio.create_task_group() as group:
                for connection in tuple(self._open):
                    group.start_soon(connection.finish)


class _Connection:
    """One client, while it is there."""

    def __init__(self, daemon: Daemon, visitor: RequestClient, metrics: Metrics, held: TokenBacklog) -> None:
        limits = daemon.settings.limits
        self._daemon = daemon
        self._visitor = visitor
        self._metrics = metrics
        self._outbox = ClientOutbox(limits.unread_kb << 10, held)
        self._subscriptions = Subscriptions(daemon.topics, Listener(visitor.caller, self._put))
        self._most = limits.per_connection
        self._quick = anyio.Semaphore(limits.per_connection, fast_acquire=True)  # all but work
        self._asked: dict[str, AnyOperation] = {}  # what is being done, by the id of its request
        self._bad = 0
        self._closing = _SLOW
        self._sending = anyio.CancelScope()
        self._group = anyio.create_task_group()
        self._is_over = anyio.Event()
        self.is_slow = False

    async def run(self, receive: Receive, send: Send) -> None:
        self._visitor.leave = lambda: self._end(_TOKEN_REVOKED)
        try:
            async with self._group:
                self._group.start_soon(self._write, send)
                await self._read(receive)
                self._group.cancel_scope.cancel()
        finally:
            self._subscriptions.remove(self._subscriptions.topics)
            self._outbox.close()
            self._is_over.set()

    async def finish(self) -> None:
        """The daemon ends: results first."""
        while any(pending.streams for pending in self._asked.values()) and not self._is_over.is_set():
            await anyio.sleep(0.01)
        self._end(_DAEMON_ENDS)
        await self._is_over.wait()

    async def _read(self, receive: Receive) -> None:
        while True:
            await self._outbox.wait_for_room()
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                request = parse_frame(message.get("text"))
                await self._begin(request)
            except BadFrame as error:
                self._refuse(error.request, error.diagnostic, _BAD_FRAMES)

    async def _begin(self, request: DaemonRequest) -> None:
        operation = find_operation(request)
        try:
            self._visitor.count("reads" if operation.method in ("GET", "") else "writes")
        except WebError as error:
            hint = f"Try again in {error.headers.get('Retry-After', '60')} seconds"
            self._refuse(request.id, Diagnostic("too-many-requests", "error", error.text, hint=hint), _TOO_MANY)
            return
        self._check_id(request.id)
        if not self._visitor.is_known():
            self._end(_TOKEN_REVOKED)
        elif operation.streams and sum(pending.streams for pending in self._asked.values()) >= self._most:
            message = f"{self._most} skills and messages of this connection are being worked on already"
            hint = "Wait for one to end, or raise serve.limits.per_connection"
            self._refuse(request.id, Diagnostic("connection-busy", "error", message, hint=hint), _TOO_MANY)
        else:
            self._bad = 0
            self._asked[request.id] = operation
            if not operation.streams:
                await self._quick.acquire()
            self._group.start_soon(self._work, request, operation)

    def _check_id(self, request: str) -> None:
        if request in self._asked:
            named = f"with the id '{request}'" if request else "without an id"
            raise BadFrame(request, f"A request {named} is being worked on already", "Give each an id of its own")

    def _refuse(self, request: str, why: Diagnostic, closing: _Closing) -> None:
        self._bad += 1
        self._put(encode_json(Refusal(id=request, error=to_problem(why))))
        if self._bad >= MAX_BAD:
            self._end(closing)

    async def _work(self, request: DaemonRequest, operation: AnyOperation) -> None:
        began, status = time.perf_counter(), "ok"
        call = DaemonCall(self._visitor.caller, self._sender(request.id), self._subscriptions, can_answer=True)
        try:
            answer = await self._daemon.answer(call, request)
            await self._outbox.wait_for_all()
            self._put(self._daemon.registry.encode(answer, request.id))
        except ClawftError as error:
            status = error.code
            call.send(Refusal(error=to_problem(error.diagnostic)))
        except Exception:  # a bug must not take the connection with it
            status = "bug"
            _LOGGER.exception("Exception in a request over a WebSocket")
            call.send(Refusal(error=to_problem(BUG)))
        finally:
            del self._asked[request.id]
            if not operation.streams:
                self._quick.release()
            self._metrics.request(operation.name, status, time.perf_counter() - began)

    def _sender(self, request: str) -> Callable[[DaemonAnswer], None]:
        def send(answer: DaemonAnswer) -> None:
            self._put(encode_json(structs.replace(answer, id=request)))

        return send

    def _put(self, message: bytes) -> None:
        self._outbox.put(message)
        if self._outbox.is_slow:
            self._sending.cancel()  # what is being sent is not waited for any more

    async def _write(self, send: Send) -> None:
        with suppress(OSError):  # the client went: the reader learns of it
            while message := await self._outbox.take_one():
                if not self._visitor.is_known(after_s=RECHECK_S):
                    self._closing = _TOKEN_REVOKED
                    break
                with anyio.move_on_after(STALL_S) as self._sending:
                    await send({"type": "websocket.send", "utf8": message})
                if self._sending.cancelled_caught:
                    self.is_slow = True
                    break
            self.is_slow = self.is_slow or self._outbox.is_slow
            closing = _SLOW if self.is_slow else self._closing
            await send({"type": "websocket.close", "code": closing.code, "reason": closing.reason})
        self._group.cancel_scope.cancel()

    def _end(self, closing: _Closing) -> None:
        """Close, after what waits was sent."""
        self._closing = closing
        self._outbox.finish()
