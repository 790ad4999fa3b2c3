"""The current generation of everything read from disk, kept up to date, with events for whoever wants to know."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import anyio
from anyio import to_thread
from msgspec import structs

from clawft.app import App
from clawft.errors import ClawftError, Diagnostic
from clawft.protocol.base import Problem
from clawft.protocol.changes import SkillsChanged
from clawft.reloading.compare import compare
from clawft.reloading.generation import Generation, load_generation

__all__ = ["LiveSkills"]

_LOOK_S = 2.0


class LiveSkills:
    """`current` is taken once per turn: a reload is one assignment, between turns."""

    def __init__(self, app: App, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._app = app
        self._now = now
        self._subscribers: dict[object, Callable[[SkillsChanged], None]] = {}
        self._loading = anyio.Lock()
        self.current = Generation(0, app, "")
        self.watching: Literal["watchfiles", "stat", "off"] = "off"
        self.failure: Diagnostic | None = None

    async def open(self) -> None:
        """Read everything for the first time. Raises: ClawftError."""
        self.current = await to_thread.run_sync(load_generation, 1, self._app, self._at())

    async def run(self) -> None:
        """Look for changes until cancelled."""
        self.watching = "stat"
        try:
            while True:
                await anyio.sleep(_LOOK_S)
                await self.reload()
        finally:
            self.watching = "off"

    async def refresh(self) -> Generation:
        """The generation that is current, after a look at what is known to have changed."""
        return await self.reload()

    async def reload(self) -> Generation:
        """Look at everything now: after a decision of ours, such as an approval or an installation."""
        async with self._loading:
            before, start = self.current, time.perf_counter()
            try:
                made = await to_thread.run_sync(load_generation, before.number + 1, self._app, self._at())
            except ClawftError as error:
                self._fail(error.diagnostic, start)
                return before
            self.failure = None
            change = compare(before, made)
            if change is not None:
                self.current = made if change.also else structs.replace(made, base=before.base)
                self._tell(change)
            return self.current

    def subscribe(self, callback: Callable[[SkillsChanged], None]) -> Callable[[], None]:
        """Have every change told to a callback, which must not wait; the answer ends that."""
        key = object()
        self._subscribers[key] = callback
        return lambda: self._subscribers.pop(key, None) and None

    def _fail(self, why: Diagnostic, start: float) -> None:
        if why == self.failure:
            return
        self.failure = why
        took_ms = (time.perf_counter() - start) * 1000
        problem = Problem(code=why.code, severity=why.severity, message=why.message, path=why.path)
        self._tell(SkillsChanged(generation=self.current.number, at=self._at(), failed=problem, took_ms=took_ms))

    def _tell(self, change: SkillsChanged) -> None:
        for callback in tuple(self._subscribers.values()):
            callback(change)

    def _at(self) -> str:
        return self._now().isoformat(timespec="milliseconds")
