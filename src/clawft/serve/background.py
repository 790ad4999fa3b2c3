"""Runs in the background, as a daemon has them: their database, opened when it is needed, and who is told of changes.

What does them are workers, processes of their own.
"""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from clawft.app import App
from clawft.config.runs import RunsSettings
from clawft.describe.runs import describe_run
from clawft.errors import ClawftError, Diagnostic
from clawft.protocol.runs import RunEntry, RunsChanged
from clawft.run.durable import is_installed, is_used, missing
from clawft.serve.beside import beside
from clawft.serve.topics import Topics
from clawft.working import open_app_runs, run_settings

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs

__all__ = ["BackgroundRuns"]

POLL_S = 1.0  # between two looks at the database, while somebody wants to be told
_NEWEST = 100  # runs that are looked at
_AT_ONCE = 4  # threads that use the database
_UNUSED = Diagnostic("runs-unused", "note", "No runs yet", hint="Start one: weft agent --background -m TEXT")

R = TypeVar("R")


class BackgroundRuns:
    """A subsystem of the daemon."""

    name = "runs"

    def __init__(self, load_app: Callable[[], App], topics: Topics) -> None:
        self._load_app = load_app
        self._topics = topics
        self._room = CapacityLimiter(_AT_ONCE)
        self._opening = threading.Lock()
        self._opened: tuple[RunsSettings, Runs] | None = None
        self._seen: dict[str, RunEntry] = {}
        self._soon = anyio.Event()
        self._problem: Diagnostic | None = None

    def check(self) -> Diagnostic | None:
        return self._problem

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tell subscribers of changes until the block ends."""
        try:
            async with beside(self._watch):
                yield
        finally:
            if self._opened is not None:
                self._opened[1].close()

    def why_none(self) -> Diagnostic | None:
        """Why there can be no runs here: the part is not installed, or nobody ever started one."""
        if not is_installed():
            return missing().diagnostic
        app = self._load_app()
        return None if is_used(run_settings(app), app.workspace.user_dir) else _UNUSED

    async def use(self, work: "Callable[[Runs], R]") -> R:
        """Do something with the runs, in a thread. Raises: ClawftError."""
        return await to_thread.run_sync(lambda: work(self._open()), limiter=self._room)

    def look_soon(self) -> None:
        """Somebody changed something here: those who want to know need not wait."""
        self._soon.set()

    def _open(self) -> "Runs":
        """Raises: ClawftError."""
        app = self._load_app()
        settings = run_settings(app)
        with self._opening:
            if self._opened is None or self._opened[0] != settings:
                before, self._opened = self._opened, (settings, open_app_runs(app))
                if before is not None:
                    before[1].close()
            return self._opened[1]

    async def _watch(self) -> None:
        while True:
            with anyio.move_on_after(POLL_S):
                await self._soon.wait()
            self._soon = anyio.Event()
            if not self._topics.has_listeners("runs"):
                self._seen = {}
            elif self.why_none() is None:
                try:
                    self._tell(await self.use(_look))
                    self._problem = None
                except ClawftError as error:  # a database that is away may come back
                    self._problem = error.diagnostic

    def _tell(self, looked: tuple[dict[str, RunEntry], dict[str, int]]) -> None:
        now, counts = looked
        changed = tuple(one for key, one in now.items() if self._seen.get(key) != one)
        self._seen = now
        if changed:
            self._topics.publish("runs", RunsChanged(runs=changed, counts=counts))


def _look(runs: "Runs") -> tuple[dict[str, RunEntry], dict[str, int]]:
    """The newest runs and those that are not over, as they are now."""
    questions = runs.store.questions()
    found = (*runs.store.list(limit=_NEWEST), *runs.store.list(statuses=("running", "waiting"), limit=_NEWEST))
    return {one.id: describe_run(one, questions) for one in found}, runs.store.counts()
