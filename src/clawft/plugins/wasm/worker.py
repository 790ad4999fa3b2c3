"""A thread of its own for one component. A store is for one thread at a time: here it has the same one all its life.

It is asked from the event loop, in half the time that a pool of threads takes, and does one thing after the other.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar, cast

import anyio
from anyio import CancelScope

__all__ = ["Cancellable", "Unwanted", "Worker"]

T = TypeVar("T")
_STACK_BYTES = 8 << 20  # a guest may take half a megabyte, and some systems give a thread less than that
_END_S = 5.0  # for the host to end what it does for somebody who does not want it any more


class Cancellable(Protocol):
    """What is being done, as far as its end goes."""

    cancelled: bool

    def cancel(self) -> None: ...


class Unwanted(Exception):
    """Something was cancelled before it began."""


class _Job(Generic[T]):
    """One thing to do. It is over when `over` is set, in the loop that asked for it."""

    def __init__(self, work: Callable[[], T], call: Cancellable | None) -> None:
        self.work = work
        self.call = call
        self.loop = asyncio.get_running_loop()
        self.over = asyncio.Event()
        self.begun = False
        self.value: T | None = None
        self.error: BaseException | None = None

    def do(self) -> None:
        self.begun = True  # before it is looked whether it is still wanted: whoever cancels it does the opposite
        try:
            if self.call is not None and self.call.cancelled:
                raise Unwanted
            self.value = self.work()
        except BaseException as error:  # it is raised where it was asked for
            self.error = error
        with suppress(RuntimeError):  # the loop is gone, and nobody waits
            self.loop.call_soon_threadsafe(self.over.set)


class Worker:
    """The thread. It ends with the process, if nobody ends it before."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        before = threading.stack_size(_STACK_BYTES)
        try:
            self._thread.start()
        finally:
            threading.stack_size(before)

    async def run(self, work: Callable[[], T], call: Cancellable | None = None) -> T:
        """Do something in the thread. Cancelling this cancels the call, and waits a while for its end."""
        job = _Job(work, call)
        self._jobs.put(job)
        try:
            await job.over.wait()
        except BaseException:
            if call is not None:
                call.cancel()
            if job.begun:
                with CancelScope(shield=True), anyio.move_on_after(_END_S):
                    await job.over.wait()
            raise
        if job.error is not None:
            raise job.error
        return cast(T, job.value)

    def put(self, work: Callable[[], None]) -> None:
        """Do something after all else that was asked for, for which nobody waits."""
        self._jobs.put(_Job(work, None))

    async def close(self, last: Callable[[], None]) -> None:
        """Do a last thing, and end. Who is busy for too long is left to end by itself."""
        with CancelScope(shield=True), anyio.move_on_after(_END_S):
            await self.run(last)
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()
            del job  # what it holds is not kept until the next comes
