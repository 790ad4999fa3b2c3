"""What a client goes through as it comes: the events of work that it asked for, and what it subscribed to."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

import anyio

from clawft.client.errors import ClientError
from clawft.protocol.base import Answer, Refusal
from clawft.protocol.running import SkillResult, TurnEvent, TurnResult

__all__ = ["MAX_UNREAD", "Mailbox", "Subscription", "Work"]

MAX_UNREAD = 16 << 20  # bytes that wait for a program that does not go through what it asked for
_END_S = 5.0  # for work that is cancelled to say so
R = TypeVar("R", bound=SkillResult | TurnResult)


class Mailbox:
    """What came for one request or subscription. It never holds up what comes for others."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Answer, int]] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self.failure: ClientError | None = None

    def put(self, message: Answer, size: int) -> None:
        self._bytes += size
        self._waiting.append((message, size))
        if self._bytes > MAX_UNREAD:
            self._waiting.clear()
            self.fail(ClientError("slow-consumer", "What came was not read, and is lost", hint="Go through it faster"))
        self._news.set()

    def fail(self, why: ClientError) -> None:
        """There is no more, and why; what came before can still be taken."""
        self.failure = self.failure or why
        self._news.set()

    async def take(self) -> Answer:
        """Raises: ClientError."""
        while not self._waiting:
            if self.failure is not None:
                raise self.failure
            self._news.clear()
            await self._news.wait()
        message, size = self._waiting.popleft()
        self._bytes -= size
        return message


class Subscription:
    """What one is told of, until the block of `subscribe` ends. `generation` is that of the skills at its beginning."""

    def __init__(self, mailbox: Mailbox, generation: int) -> None:
        self._mailbox = mailbox
        self.generation = generation

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Answer:
        """Raises: ClientError when the connection is gone."""
        return await self._mailbox.take()


class Work(Generic[R]):
    """A skill or a message being worked on. It begins when it is first looked at.

    `async for` gives every event and, last, the result; `await work.result()` only that. In an `async with`, work that
    is not over when the block is left is cancelled.
    """

    def __init__(
        self,
        result: type[R],
        begin: Callable[[], Awaitable[Mailbox]],
        end: Callable[[str], Awaitable[object]],
        forget: Callable[[], None],
    ) -> None:
        self._kind = result
        self._begin = begin
        self._end = end
        self._forget = forget
        self._mailbox: Mailbox | None = None
        self._is_unwanted = False
        self._is_over = False
        self.execution = ""  # the daemon's name for it, known from its first event on

    def __aiter__(self) -> "Work[R]":
        return self

    async def __anext__(self) -> TurnEvent | R:
        """Raises: ClientError if it was refused, or the connection is gone."""
        if self._is_over:
            raise StopAsyncIteration
        await self._start()
        assert self._mailbox is not None
        try:
            message = await self._mailbox.take()
        except ClientError:
            self._close()
            raise
        if isinstance(message, TurnEvent):
            is_first, self.execution = not self.execution, message.execution
            if is_first and self._is_unwanted:
                await self.cancel()
            return message
        self._close()
        if isinstance(message, self._kind):
            return message
        if isinstance(message, Refusal):
            raise ClientError.of(message.error)
        raise ClientError("answer-unknown", f"The daemon answered something else: {type(message).__name__}")

    async def result(self) -> R:
        """How it ended, whatever comes before. Raises: ClientError."""
        async for message in self:
            if isinstance(message, self._kind):
                return message
        raise ClientError("work-over", "The result was taken already")

    async def cancel(self) -> None:
        """End it: the result says `cancelled`. Raises: ClientError."""
        self._is_unwanted = True
        if self.execution and not self._is_over:
            try:
                await self._end(self.execution)
            except ClientError as error:
                if error.code != "execution-not-found":  # it was over before
                    raise

    async def __aenter__(self) -> "Work[R]":
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_over or (self._mailbox is not None and self._mailbox.failure is not None):
            return
        with anyio.move_on_after(_END_S, shield=True), suppress(ClientError):
            await self.cancel()
            await self.result()
        self._close()

    async def _start(self) -> None:
        if self._mailbox is None:
            self._mailbox = await self._begin()

    def _close(self) -> None:
        self._is_over = True
        self._forget()
