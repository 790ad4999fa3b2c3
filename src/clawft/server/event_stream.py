"""Outgoing messages of one connection, bounded in bytes, and server-sent events made of them."""

from collections import deque
from collections.abc import Awaitable, Callable

import anyio
from starlette.responses import Response

from clawft.errors import ClawftError, Diagnostic
from clawft.files import encode_json
from clawft.server.http.exchange import AsgiScope, Receive, Send
from clawft.server.middleware import RECHECK_S, RequestClient
from clawft.server.protocol.base import DaemonAnswer, Refusal, to_problem
from clawft.server.protocol.executions import TurnEvent
from clawft.server.protocol.operations import type_name

_PIECE = 64 * 1024


class TokenBacklog:
    """The bytes that wait for, or are on their way to, all connections of one token: it bounds the memory of each
    token."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._turn = anyio.Lock()
        self._room = anyio.Event()

    @property
    def is_full(self) -> bool:
        return self._bytes > self._most

    def add(self, size: int) -> None:
        self._bytes += size
        if not self.is_full:
            self._room.set()

    async def wait_for_room(self) -> None:
        """Wait until there is room; waiting callers go one after the other."""
        async with self._turn:
            while self.is_full:
                self._room = anyio.Event()
                await self._room.wait()


class ClientOutbox:
    """Messages as they go out. To put one never waits; `ended` tells why it was cut short."""

    def __init__(self, most_bytes: int, held: TokenBacklog | None = None) -> None:
        self._most = most_bytes
        self._held = held or TokenBacklog(most_bytes)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._sending = 0  # of what was taken last
        self._news = anyio.Event()
        self._room: anyio.Event | None = None  # set for a caller that waits for it
        self._is_finished = False
        self.is_used = False
        self.is_slow = False
        self.ended: Diagnostic | None = None
        self.is_cut = anyio.Event()  # set when it has

    def put(self, message: bytes) -> None:
        if self._is_finished:
            return
        self.is_used = True
        if self._waiting and self._bytes + len(message) > self._most:  # one alone may be larger
            self.is_slow = True
            self.end(
                Diagnostic(
                    "slow-consumer",
                    "error",
                    f"More than {self._most // 1024} kB waited to be read",
                    hint="Read faster, subscribe to less, or raise serve.limits.unread_kb",
                )
            )
            return
        self._bytes += len(message)
        self._held.add(len(message))
        self._waiting.append(message)
        self._news.set()

    def end(self, why: Diagnostic) -> None:
        """Nothing more comes, and what waits is lost."""
        self.ended = self.ended or why
        self.is_cut.set()
        self._forget()
        self.finish()

    def close(self) -> None:
        """The other end is gone: nothing is kept for it."""
        self._forget()
        self._let_go()
        self.finish()

    def finish(self) -> None:
        """Nothing more comes."""
        self._is_finished = True
        self._news.set()
        self._make_room()

    async def take(self) -> bytes:
        """Take the waiting messages, up to a chunk that is worth sending; b"" when no more come."""
        taken = [await self.take_one()]
        while self._waiting and self._sending < _PIECE:
            taken.append(self._pop())
        return b"".join(taken)

    async def take_one(self) -> bytes:
        """Take the next message; b"" when no more come. Asking for it confirms that the one before was sent."""
        self._let_go()
        while not self._waiting and not self._is_finished:
            self._news = anyio.Event()
            await self._news.wait()
        return self._pop() if self._waiting else b""

    async def wait_for_room(self) -> None:
        """Wait until less than half of the limit is queued; only for callers that can wait."""
        while self._is_full():
            self._room = self._room or anyio.Event()
            await self._room.wait()

    async def wait_for_all(self) -> None:
        """Wait until there is room for this connection, and for all connections of the token."""
        while self._is_full() or (self._held.is_full and not self._is_finished):
            await self.wait_for_room()
            await self._held.wait_for_room()

    def _is_full(self) -> bool:
        return self._bytes > self._most // 2 and not self._is_finished

    def _pop(self) -> bytes:
        message = self._waiting.popleft()
        self._bytes -= len(message)
        self._sending += len(message)
        self._make_room()
        return message

    def _let_go(self) -> None:
        self._held.add(-self._sending)
        self._sending = 0

    def _forget(self) -> None:
        self._held.add(-self._bytes)
        self._waiting.clear()
        self._bytes = 0

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None


BEAT_S = 15.0  # so that no proxy between here and the client takes the stream for dead
_BEAT = b": still here\n\n"
_TOKEN_REVOKED = Diagnostic("token-wrong", "error", "That token does not count any more")
_TYPE = b'{"type":"'  # how every message begins
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def frame_answer(answer: DaemonAnswer) -> bytes:
    """One message. What happens in a turn is numbered, so that a client sees that it missed nothing."""
    number = answer.sequence if isinstance(answer, TurnEvent) else 0
    return _frame(type_name(type(answer)).encode(), encode_json(answer), number)


def frame_refusal(why: Diagnostic) -> bytes:
    """Encode the reason why a stream ends."""
    return frame_answer(Refusal(error=to_problem(why)))


def frame_encoded(message: bytes) -> bytes:
    """Frame a message that is encoded already."""
    return _frame(message[len(_TYPE) : message.index(b'"', len(_TYPE))], message)


def _frame(name: bytes, message: bytes, number: int = 0) -> bytes:
    return b"%sevent: %s\ndata: %s\n\n" % (b"id: %d\n" % number if number else b"", name, message)


async def watch_client(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel what is done for a client when it goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class EventStream(Response):
    """Sends what `work` puts into the outbox until it is done, the outbox has ended, or the client goes.

    It ends, too, when the visitor's token does not count any more.
    What goes wrong before anything was sent is raised, as an answer with a status of its own.
    """

    def __init__(self, outbox: ClientOutbox, work: Callable[[], Awaitable[None]], visitor: RequestClient) -> None:
        super().__init__(headers=_HEADERS, media_type="text/event-stream")
        del self.headers["content-length"]
        self._outbox = outbox
        self._work = work
        self._visitor = visitor
        self._error: ClawftError | None = None

    async def __call__(self, _scope: AsgiScope, receive: Receive, send: Send) -> None:
        begun = False
        self._visitor.leave = lambda: self._outbox.end(_TOKEN_REVOKED)
        async with anyio.create_task_group() as group:
            group.start_soon(watch_client, receive, group.cancel_scope)
            group.start_soon(self._do)
            piece = await self._outbox.take()
            if piece or self._error is None:
                begun = True
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._send_all(piece, send)
            group.cancel_scope.cancel()
        if self._error is not None and not begun:
            raise self._error

    async def _send_all(self, piece: bytes, send: Send) -> None:
        body = "http.response.body"
        while piece:
            await send({"type": body, "body": piece, "more_body": True})
            piece = await self._next()
        await send({"type": body, "body": self._last_words(), "more_body": False})

    async def _next(self) -> bytes:
        piece = _BEAT
        with anyio.move_on_after(BEAT_S):
            piece = await self._outbox.take()
        if not self._visitor.is_known(after_s=RECHECK_S):
            self._outbox.end(_TOKEN_REVOKED)
            return b""
        return piece

    async def _do(self) -> None:
        """The work, unless nobody reads what comes of it."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_outbox, group.cancel_scope)
            try:
                await self._work()
            except ClawftError as error:
                self._error = error
                if self._outbox.is_used:
                    self._outbox.put(frame_refusal(error.diagnostic))
            group.cancel_scope.cancel()
        self._outbox.finish()

    async def _watch_outbox(self, scope: anyio.CancelScope) -> None:
        await self._outbox.is_cut.wait()
        scope.cancel()

    def _last_words(self) -> bytes:
        why = self._outbox.ended
        return frame_refusal(why) if why else b""
