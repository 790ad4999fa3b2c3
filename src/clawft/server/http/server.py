"""A connection of a server: one that brings no request in time, or takes no answer, is closed."""

import asyncio
import resource
from contextlib import suppress
from typing import Any, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from clawft.web.limits import name_client

__all__ = ["AT_ONCE", "IS_KNOWN", "MARGIN", "Connection", "IdleConnections", "count_surplus", "make_room", "name_peer"]

AT_ONCE = 64  # are let in before one of them is looked at
MARGIN = 100  # that are told there are too many; more than that are hung up on
_FILES = 4 * AT_ONCE + 100  # of everything else; it takes some turns until one who was hung up on is gone
_FEWEST = 10
IS_KNOWN = "is_known"  # in the state of a request: it came with a token that counts


def make_room(connections: int) -> int:
    """How many connections there may be, where each may need a file, too. The system is asked for as many."""
    rest = MARGIN + _FILES
    wanted = 2 * connections + rest
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):  # not everywhere may one ask
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        wanted = min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return max(_FEWEST, (wanted - rest) // 2)


class Idle(Protocol):
    """A connection that can be dropped."""

    def drop(self) -> None: ...


class IdleConnections:
    """The connections of one server on which no request is answered, and none with a token came before.

    When the server is full, the oldest of them makes room for a newcomer: of the address that has the most of them, so
    that nobody's silent connections keep others out.
    """

    def __init__(self) -> None:
        self._of_peer: dict[str, dict[Idle, None]] = {}  # oldest first

    def add(self, peer: str, one: Idle) -> None:
        self._of_peer.setdefault(peer, {})[one] = None

    def discard(self, peer: str, one: Idle) -> None:
        mine = self._of_peer.get(peer, {})
        mine.pop(one, None)
        if not mine:
            self._of_peer.pop(peer, None)

    def drop_oldest(self) -> bool:
        """Drop one; False if there is none."""
        if not self._of_peer:
            return False
        peer, most = max(self._of_peer.items(), key=lambda found: len(found[1]))
        oldest = next(iter(most))
        self.discard(peer, oldest)
        oldest.drop()
        return True


def count_surplus(one: "Connection") -> int:
    """How many connections there are too many with a newcomer, after an idle one has made room for it, if there is."""
    most = one.config.limit_concurrency
    if most is None or len(one.connections) <= most or one.idle.drop_oldest():
        return 0
    return len(one.connections) - most


def name_peer(transport: asyncio.BaseTransport) -> str:
    """The address of the other end, as one client of limits."""
    address = transport.get_extra_info("peername")
    return name_client(str(address[0])) if isinstance(address, tuple) and address else ""


class Connection(H11Protocol):
    """Uvicorn waits for ever for the head of a request, and for a client that does not read; here both have an end.

    It also keeps those who come when there are too many. With no file left for the next one, the loop only logs that.
    """

    head_s = 15.0  # for a request to be whole up to its body
    stall_s = 60.0  # for a client to take some of what it is sent
    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _peer = ""

    def __init__(self, idle: IdleConnections, **given: Any) -> None:
        super().__init__(**given)
        self.idle = idle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = name_peer(transport)
        surplus = count_surplus(self)
        if surplus > MARGIN:  # too many to tell one more that there are
            transport.abort()
            return
        # Whoever was there before it got too full is answered; whoever comes then is told so.
        self.limit_concurrency = 0 if surplus else None
        self.idle.add(self._peer, self)
        self._wait_for_head()

    def drop(self) -> None:
        """Make room for somebody else."""
        self.connections.discard(self)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY):  # a request is answered
            self.idle.discard(self._peer, self)
        if self.conn.their_state is h11.IDLE:  # the head of a request has begun and is not whole
            self._wait_for_head()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.scope["state"].get(IS_KNOWN) and not self.transport.is_closing():
            self.idle.add(self._peer, self)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:  # a part of the next came with the last
            self._wait_for_head()

    def _should_upgrade(self) -> bool:
        """Where there are too many, a WebSocket is told so as all others are; uvicorn would let it in."""
        return super()._should_upgrade() and self.limit_concurrency is None

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        self.idle.discard(self._peer, self)
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
        self.idle.discard(self._peer, self)
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
