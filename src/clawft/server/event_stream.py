"""What waits for one connection: bounded in bytes. A client that does not read loses it, and is told so."""

from collections import deque

import anyio

from clawft.errors import Diagnostic

__all__ = ["Outbox"]

_PIECE = 64 * 1024


class Held:
    """All that waits for the connections of one token, or is on its way to them: one alone cannot fill the memory."""

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
        """Until there is some, for whoever can wait; one after the other."""
        async with self._turn:
            while self.is_full:
                self._room = anyio.Event()
                await self._room.wait()


class Outbox:
    """Messages as they go out. To put one never waits; `ended` tells why it was cut short."""

    def __init__(self, most_bytes: int, held: Held | None = None) -> None:
        self._most = most_bytes
        self._held = held or Held(most_bytes)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._sending = 0  # of what was taken last
        self._news = anyio.Event()
        self._room: anyio.Event | None = None  # of whoever waits for it
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
        """What waits, up to a piece that is worth sending; nothing (b"") when no more comes."""
        taken = [await self.take_one()]
        while self._waiting and self._sending < _PIECE:
            taken.append(self._pop())
        return b"".join(taken)

    async def take_one(self) -> bytes:
        """The next message; nothing (b"") when no more comes. Whoever asks for it has sent the one before."""
        self._let_go()
        while not self._waiting and not self._is_finished:
            self._news = anyio.Event()
            await self._news.wait()
        return self._pop() if self._waiting else b""

    async def wait_for_room(self) -> None:
        """Until less than half of what may wait does, for whoever can wait."""
        while self._is_full():
            self._room = self._room or anyio.Event()
            await self._room.wait()

    async def wait_for_all(self) -> None:
        """The same, and until there is room for all of the token."""
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
