"""A connection of a server: one that brings no request in time, or takes no answer, is closed."""

import asyncio
import resource
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["AT_ONCE", "Connection", "is_hung_up_on", "make_room"]

AT_ONCE = 64  # are let in before one of them is looked at
_MARGIN = 100  # that are told there are too many; more than that are hung up on
_FILES = 4 * AT_ONCE + 100  # of everything else; it takes some turns until one who was hung up on is gone
_FEWEST = 10


def make_room(connections: int) -> int:
    """How many connections there may be, where each may need a file, too. The system is asked for as many."""
    rest = _MARGIN + _FILES
    wanted = 2 * connections + rest
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):  # not everywhere may one ask
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        wanted = min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return max(_FEWEST, (wanted - rest) // 2)


def is_hung_up_on(one: "Connection") -> bool:
    """Whether there are too many to tell one more that there are."""
    most = one.config.limit_concurrency
    return most is not None and len(one.connections) > most + _MARGIN


class Connection(H11Protocol):
    """Uvicorn waits for ever for the head of a request, and for a client that does not read; here both have an end.

    It also keeps those who come when there are too many. With no file left for the next one, the loop only logs that.
    """

    head_s = 15.0  # for a request to be whole up to its body
    stall_s = 60.0  # for a client to take some of what it is sent
    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if is_hung_up_on(self):
            transport.abort()
            return
        most = self.config.limit_concurrency
        # Whoever was there before it got too full is answered; whoever comes then is told so.
        self.limit_concurrency = 0 if most is not None and len(self.connections) > most else None
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # the head of a request has begun and is not whole
            self._wait_for_head()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:  # a part of the next came with the last
            self._wait_for_head()

    def _should_upgrade(self) -> bool:
        """Where there are too many, a WebSocket is told so as all others are; uvicorn would let it in."""
        return super()._should_upgrade() and self.limit_concurrency is None

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        self._stop_waiting()  # it is somebody else's from now on

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.stall_s, self.transport.abort)  # else it stays until the last answer was taken

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
