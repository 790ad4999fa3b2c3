"""A context that a task of its own holds open, so that any task may open it and any other close it.

What MCP servers run in must be left by the very task that entered it; commands come and go as tasks.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

__all__ = ["Held"]

T = TypeVar("T")


class Held(Generic[T]):
    """One context, from `open` to `close`."""

    def __init__(self, context: AbstractAsyncContextManager[T]) -> None:
        self._context = context
        self._end = asyncio.Event()
        self._ready: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    async def open(self) -> T:
        """What the context gives. Raises: what the context raises; it is left again when the wait is cancelled."""
        try:
            return await asyncio.shield(self._ready)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise

    async def close(self) -> None:
        """Leave the context. Raises: what the context raises on leaving."""
        self._end.set()
        await self._task

    async def _hold(self) -> None:
        try:
            async with self._context as value:
                self._ready.set_result(value)
                await self._end.wait()
        except Exception as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)
        finally:
            self._ready.cancel()
