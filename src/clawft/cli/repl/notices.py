"""Notices at the prompt: background runs that wait or ended, and skills that changed on disk."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clawft.cli.output import fit, one_line

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.jobs.recent_runs import RecentRun
    from clawft.server.protocol.subscriptions import SkillChange, SkillsChanged


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
        """Return whether there is something new to say."""
        seen = await asyncio.to_thread(_look, app)
        self._note([run for run in seen if run.project == app.workspace.project])
        return bool(self._lines)

    def take(self, width: int) -> list[str]:
        """Return the pending notices and clear them."""
        lines, self._lines = self._lines, {}
        return [_shorten(*line, width) for line in lines.values()]

    def suppress(self, run: str) -> None:
        """Say nothing of a run: it is being watched."""
        self._hushed.add(run)
        self._lines.pop(run, None)

    def mention(self, run: str) -> None:
        """Tell of a run again."""
        self._hushed.discard(run)

    def _note(self, seen: "Sequence[RecentRun]") -> None:
        before, self._known = self._known, {run.id: (run.status, run.attempt) for run in seen}
        for run in seen:
            is_new = run.id not in self._hushed and (before or {}).get(run.id) != (run.status, run.attempt)
            title = one_line(run.title) or run.kind
            if is_new and run.status == "waiting":
                self._lines[run.id] = (title, f" waits for your answer: /runs {run.id}")
            elif is_new and before is not None and _is_news(run):
                self._lines[run.id] = (title, f" {_OVER[run.status]}: /runs {run.id}")


def _shorten(title: str, news: str, width: int) -> str:
    """One line of the terminal. The title gives way: what is to be typed is whole."""
    room = max(_LEAST, width - len(news) - len("● "))
    return fit(f"● {fit(title, room).rstrip()}{news}", width).rstrip()


def _is_news(run: "RecentRun") -> bool:
    """Return whether the end of a run is worth a word: jobs are done every so often, and channels bring much."""
    return run.status in _OVER and (run.kind not in ("cron", "gateway") or run.status == "failed")


def _look(app: "App") -> "tuple[RecentRun, ...]":
    """In a thread: the prompt waits for none of it, and for people who never had a run nothing is opened."""
    from clawft.jobs.recent_runs import load_recent_runs

    return load_recent_runs(app.own_config.runs, app.workspace.user_dir, app.environ, _NEWEST)


_MANY = 5  # skills that are named one by one


class SkillNotices:
    """Watches beside everything else, and begins a while after the prompt is there."""

    after_s = 3.0

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.following = asyncio.Event()  # set once changes are being followed

    async def follow(self, app: "App", tell: Callable[[], None]) -> None:
        """Until cancelled; `tell` is called whenever there is something new to say."""
        await asyncio.sleep(self.after_s)
        if not app.config.skills.load.watch:
            return
        from clawft.server.reload import LiveSkills  # the prompt does not wait for it

        def note(change: "SkillsChanged") -> None:
            self._lines += render_change(change)
            if self._lines:
                tell()

        live = LiveSkills(app)
        await live.open()
        live.subscribe(note)
        self.following.set()
        await live.run()

    def take(self, width: int) -> list[str]:
        """Return the pending notices and clear them."""
        lines, self._lines = self._lines, []
        return [fit(f"● {line}", width).rstrip() for line in lines]


def render_change(change: "SkillsChanged") -> list[str]:
    """Render what changed, one line per skill unless there are many."""
    if change.failed is not None:
        return [f"{change.failed.message}; skills stay as they were"]
    lines = [*map(_came, change.added), *map(_went, change.removed), *map(_changed, change.changed)]
    return lines if len(lines) <= _MANY else [_count(change)]


def _came(one: "SkillChange") -> str:
    return f"The skill {one.name} is new: {one.state}"


def _went(one: "SkillChange") -> str:
    return f"The skill {one.name} is gone"


def _changed(one: "SkillChange") -> str:
    if one.state == one.was_state:
        return f"The skill {one.name} changed"
    return f"The skill {one.name} is {one.state} now, and was {one.was_state}"


def _count(change: "SkillsChanged") -> str:
    counts: Sequence[tuple[int, str]] = (
        (len(change.added), "new"),
        (len(change.removed), "gone"),
        (len(change.changed), "changed"),
    )
    counted = ", ".join(f"{number:,} {what}" for number, what in counts if number)
    return f"Many skills changed on disk: {counted}. See: /skills"
