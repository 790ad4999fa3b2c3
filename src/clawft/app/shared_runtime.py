"""Runtimes that are opened once and shared: each in a task of its own, ended when nobody uses it any more."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from clawft.run import Runtime
from clawft.trust import Standing
from clawft.wiring import open_runtime

if TYPE_CHECKING:
    from clawft.reloading.live import LiveSkills

__all__ = ["LiveRuntimes", "SharedRuntime"]

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
        """End it, whoever uses it."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _hold(self) -> None:
        try:
            async with self._opening as runtime:
                self._opened.set_result(runtime)
                try:
                    await self._wait_unused()
                finally:
                    self._forget()  # before it is closed, and never after: whoever comes now has opened another
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


class LiveRuntimes:
    """The runtime that turns of a long-lived process use: one for as long as settings, approvals, hooks and plugins
    stay as they are. When they change, new turns get a new one, and the old one ends with the last turn that uses it.

    Skills are those of the generation that is current when a turn begins, or when its model asks for one (R68).
    """

    def __init__(self, live: "LiveSkills") -> None:
        self._live = live
        self._open: dict[int, SharedRuntime] = {}

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Runtime]:
        """The runtime for a turn that begins now. Raises: ClawftError."""
        generation = self._live.current
        held = self._open.get(generation.base)
        if held is None:
            opening = open_runtime(generation.app, load_skills=self._load_skills)
            held = self._open[generation.base] = SharedRuntime(opening, lambda: self._open.pop(generation.base, None))
        async with held.use() as runtime:
            yield runtime

    async def close(self) -> None:
        """End them all."""
        for held in tuple(self._open.values()):
            await held.close()

    def _load_skills(self) -> Sequence[Standing]:
        return self._live.current.app.skills
