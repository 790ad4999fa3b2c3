"""A word at the prompt when a background run of this project waits for an answer, or is over. Once for each."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawft.cli.output import fit, one_line

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.glance import Seen

__all__ = ["RunNotices"]

_NEWEST = 50
_LEAST = 8  # cells of a title
_OVER = {"done": "is done", "failed": "failed", "cancelled": "was cancelled"}


class RunNotices:
    """Looks every few seconds, beside everything else. `app` is looked up anew, since a reload changes it."""

    every_s = 3.0
    server_s = 15.0  # a server is asked less often than a file is read

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, int]] | None = None  # status and attempt of each; None before the first look
        self._lines: dict[
            str, tuple[str, str]
        ] = {}  # by run, title and news: what is newer takes the place of what nobody saw
        self._hushed: set[str] = set()

    async def wait(self, app: "App") -> None:
        """Until it is time to look again."""
        await asyncio.sleep(self.server_s if app.config.runs.database else self.every_s)

    async def look(self, app: "App") -> bool:
        """Whether there is something new to say."""
        seen = await asyncio.to_thread(_look, app)
        self._note([one for one in seen if one.project == app.workspace.project])
        return bool(self._lines)

    def take(self, width: int) -> list[str]:
        """What there is to say, once."""
        lines, self._lines = self._lines, {}
        return [_shorten(*line, width) for line in lines.values()]

    def hush(self, run: str) -> None:
        """Say nothing of a run: it is being watched."""
        self._hushed.add(run)
        self._lines.pop(run, None)

    def mention(self, run: str) -> None:
        """Tell of a run again."""
        self._hushed.discard(run)

    def _note(self, seen: "Sequence[Seen]") -> None:
        before, self._known = self._known, {one.id: (one.status, one.attempt) for one in seen}
        for one in seen:
            is_new = one.id not in self._hushed and (before or {}).get(one.id) != (one.status, one.attempt)
            title = one_line(one.title) or one.kind
            if is_new and one.status == "waiting":
                self._lines[one.id] = (title, f" waits for your answer: /runs {one.id}")
            elif is_new and before is not None and _is_news(one):
                self._lines[one.id] = (title, f" {_OVER[one.status]}: /runs {one.id}")


def _shorten(title: str, news: str, width: int) -> str:
    """One line of the terminal. The title gives way: what is to be typed is whole."""
    room = max(_LEAST, width - len(news) - len("● "))
    return fit(f"● {fit(title, room).rstrip()}{news}", width).rstrip()


def _is_news(run: "Seen") -> bool:
    """Whether the end of a run is worth a word: jobs are done every so often, and channels bring much."""
    return run.status in _OVER and (run.kind not in ("cron", "gateway") or run.status == "failed")


def _look(app: "App") -> "tuple[Seen, ...]":
    """In a thread: the prompt waits for none of it, and for people who never had a run nothing is opened."""
    from clawft.config.runs import own_runs
    from clawft.run.durable.glance import glance

    return glance(
        own_runs(app.config, app.workspace.user_dir, app.environ), app.workspace.user_dir, app.environ, _NEWEST
    )
