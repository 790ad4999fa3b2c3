"""Server-sent events: what happens, as it happens, in the answer to one request."""

from collections.abc import Awaitable, Callable

import anyio
from starlette.responses import Response

from clawft.errors import ClawftError, Diagnostic
from clawft.protocol.base import Answer, Refusal, to_problem
from clawft.protocol.encoding import encode
from clawft.protocol.operations import type_name
from clawft.protocol.running import TurnEvent
from clawft.serve.door import RECHECK_S, Visitor
from clawft.serve.outbox import Outbox
from clawft.web.visit import Receive, Scope, Send

__all__ = ["EventStream", "frame_answer", "frame_encoded", "frame_refusal", "watch_client"]

BEAT_S = 15.0  # so that whoever is between here and the client does not think that it is over
_BEAT = b": still here\n\n"
_TOKEN_GONE = Diagnostic("token-wrong", "error", "That token does not count any more")
_TYPE = b'{"type":"'  # how every message begins
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def frame_answer(answer: Answer) -> bytes:
    """One message. What happens in a turn is numbered, so that a client sees that it missed nothing."""
    number = answer.sequence if isinstance(answer, TurnEvent) else 0
    return _frame(type_name(type(answer)).encode(), encode(answer), number)


def frame_refusal(why: Diagnostic) -> bytes:
    """Why it is over."""
    return frame_answer(Refusal(error=to_problem(why)))


def frame_encoded(message: bytes) -> bytes:
    """The same of one that is encoded already."""
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

    def __init__(self, outbox: Outbox, work: Callable[[], Awaitable[None]], visitor: Visitor) -> None:
        super().__init__(headers=_HEADERS, media_type="text/event-stream")
        del self.headers["content-length"]
        self._outbox = outbox
        self._work = work
        self._visitor = visitor
        self._error: ClawftError | None = None

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        self._visitor.leave = lambda: self._outbox.end(_TOKEN_GONE)
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
            self._outbox.end(_TOKEN_GONE)
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
