"""The WebSocket at `/ws` (R171): requests are worked on side by side, and one writer sends what comes of them in order.

What waits for a client is bounded in bytes. Whoever pipelines requests and does not read the answers is not listened to
until it does; whoever does not read what happens meanwhile is let go, and what was done for it ends.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress

import anyio
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic
from clawft.protocol.base import VERSION, Answer, Refusal, Request, to_problem
from clawft.protocol.encoding import encode
from clawft.protocol.operations import Operation, find_operation
from clawft.serve.answers import BUG
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon
from clawft.serve.door import RECHECK_S, Visitor, visitor_of
from clawft.serve.frames import BadFrame, parse_frame
from clawft.serve.metrics import Metrics
from clawft.serve.outbox import Held, Outbox
from clawft.serve.subscriptions import Subscriptions
from clawft.serve.topics import Listener
from clawft.web.errors import WebError
from clawft.web.visit import Log, Receive, Scope, Send

__all__ = ["PROTOCOL", "Sockets"]

PROTOCOL = f"clawft.{VERSION}"
MAX_BAD = 20  # messages in a row that are no requests, or too many
MAX_HELD = 128 << 20  # of answers that wait for all connections of one token
STALL_S = 30.0  # for a client to take some of what it is sent
_LOGGER = logging.getLogger("uvicorn.error")  # where those of HTTP are, too
_END_S = 5.0  # for what waits to be sent, when the daemon ends


class _Closing(Struct, frozen=True):
    """Why a connection is closed by us."""

    code: int
    reason: str


_DAEMON_ENDS = _Closing(1012, "the daemon ends")
_TOKEN_GONE = _Closing(4001, "the token does not count any more")
_BAD_FRAMES = _Closing(4002, "too many messages in a row that are no requests")
_SLOW = _Closing(4008, "slow-consumer: what it was sent was not read")
_TOO_MANY = _Closing(4029, "too many requests")


class Sockets:
    """The endpoint, and all connections that are open. The door has let them in."""

    def __init__(self, daemon: Daemon, metrics: Metrics, log: Log | None) -> None:
        self._daemon = daemon
        self._metrics = metrics
        self._log = log
        self._open: set[_Connection] = set()
        self._held: dict[str, Held] = {}  # by the name of the token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # that somebody connects
        visitor = visitor_of(scope)
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL if PROTOCOL in scope["subprotocols"] else None})
        held = self._held.setdefault(visitor.caller.name, Held(MAX_HELD))
        connection = _Connection(self._daemon, visitor, self._metrics, held)
        self._open.add(connection)
        try:
            await connection.run(receive, send)
        finally:
            self._open.discard(connection)
            if connection.is_slow:
                self._metrics.dropped("websocket")
                visitor.tell_slow(self._log)

    async def close(self) -> None:
        """Send everybody what waits for them, and say that the daemon ends. The work is over by now."""
        with anyio.move_on_after(_END_S):
            async with anyio.create_task_group() as group:
                for one in tuple(self._open):
                    group.start_soon(one.finish)


class _Connection:
    """One client, while it is there."""

    def __init__(self, daemon: Daemon, visitor: Visitor, metrics: Metrics, held: Held) -> None:
        limits = daemon.settings.limits
        self._daemon = daemon
        self._visitor = visitor
        self._metrics = metrics
        self._outbox = Outbox(limits.unread_kb << 10, held)
        self._subscriptions = Subscriptions(daemon.topics, Listener(visitor.caller, self._put))
        self._most = limits.per_connection
        self._quick = anyio.Semaphore(limits.per_connection, fast_acquire=True)  # all but work
        self._asked: dict[str, Operation] = {}  # what is being done, by the id of its request
        self._bad = 0
        self._closing = _SLOW
        self._sending = anyio.CancelScope()
        self._group = anyio.create_task_group()
        self._is_over = anyio.Event()
        self.is_slow = False

    async def run(self, receive: Receive, send: Send) -> None:
        self._visitor.leave = lambda: self._end(_TOKEN_GONE)
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
        while any(one.streams for one in self._asked.values()) and not self._is_over.is_set():
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

    async def _begin(self, request: Request) -> None:
        operation = find_operation(request)
        try:
            self._visitor.count("reads" if operation.method in ("GET", "") else "writes")
        except WebError as error:
            hint = f"Try again in {error.headers.get('Retry-After', '60')} seconds"
            self._refuse(request.id, Diagnostic("too-many-requests", "error", error.text, hint=hint), _TOO_MANY)
            return
        self._check_id(request.id)
        if not self._visitor.is_known():
            self._end(_TOKEN_GONE)
        elif operation.streams and sum(one.streams for one in self._asked.values()) >= self._most:
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
        self._put(encode(Refusal(id=request, error=to_problem(why))))
        if self._bad >= MAX_BAD:
            self._end(closing)

    async def _work(self, request: Request, operation: Operation) -> None:
        began, status = time.perf_counter(), "ok"
        call = Call(self._visitor.caller, self._sender(request.id), self._subscriptions, can_answer=True)
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

    def _sender(self, request: str) -> Callable[[Answer], None]:
        def send(answer: Answer) -> None:
            self._put(encode(structs.replace(answer, id=request)))

        return send

    def _put(self, message: bytes) -> None:
        self._outbox.put(message)
        if self._outbox.is_slow:
            self._sending.cancel()  # what is being sent is not waited for any more

    async def _write(self, send: Send) -> None:
        with suppress(OSError):  # the client went: whoever reads is told so
            while message := await self._outbox.take_one():
                if not self._visitor.is_known(after_s=RECHECK_S):
                    self._closing = _TOKEN_GONE
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
