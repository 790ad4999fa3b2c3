"""A runtime that is opened once and shared: in a task of its own, ended when nobody uses it any more."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from clawft.agent.runtime import Runtime

_KEEP_S = 10.0  # how long a runtime that nobody uses stays open


class SharedRuntime:
    """One open runtime, in a task of its own, since it must be closed where it was opened."""

    def __init__(self, opening: AbstractAsyncContextManager[Runtime], forget: Callable[[], object]) -> None:
        self._opening = opening
        self._forget = forget
        self._users = 0
        self._opened: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._hold())

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Runtime]:
        """The runtime, which stays open until this block ends. Raises: ClawftError."""
        self._users += 1
        try:
            yield await asyncio.shield(self._opened)
        finally:
            self._users -= 1
            self._wake.set()

    async def close(self) -> None:
        """Close it, even while it is in use."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _hold(self) -> None:
        try:
            async with self._opening as runtime:
                self._opened.set_result(runtime)
                try:
                    await self._wait_unused()
                finally:
                    self._forget()  # before it is closed, and never after: a caller that comes now has opened another
        except Exception as error:
            if self._opened.done():
                raise
            self._forget()
            self._opened.set_exception(error)

    async def _wait_unused(self) -> None:
        while True:
            self._wake.clear()
            try:
                async with asyncio.timeout(_KEEP_S if not self._users else None):
                    await self._wake.wait()
            except TimeoutError:
                if not self._users:
                    return
