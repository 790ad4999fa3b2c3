"""A word at the prompt when a skill came, went or changed on disk meanwhile."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clawft.cli.output import fit

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.protocol.changes import SkillChange, SkillsChanged

__all__ = ["SkillNotices", "describe_change"]

_MANY = 5  # skills that are named one by one


class SkillNotices:
    """Watches beside everything else, and begins a while after the prompt is there."""

    after_s = 3.0

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.following = asyncio.Event()  # what changes from now on is told

    async def follow(self, app: "App", tell: Callable[[], None]) -> None:
        """Until cancelled; `tell` is called whenever there is something new to say."""
        await asyncio.sleep(self.after_s)
        if not app.config.skills.load.watch:
            return
        from clawft.reloading import LiveSkills  # the prompt does not wait for it

        def note(change: "SkillsChanged") -> None:
            self._lines += describe_change(change)
            if self._lines:
                tell()

        live = LiveSkills(app)
        await live.open()
        live.subscribe(note)
        self.following.set()
        await live.run()

    def take(self, width: int) -> list[str]:
        """What there is to say, once."""
        lines, self._lines = self._lines, []
        return [fit(f"● {line}", width).rstrip() for line in lines]


def describe_change(change: "SkillsChanged") -> list[str]:
    """What changed, a line for each skill unless there are many."""
    if change.failed is not None:
        return [f"{change.failed.message}; skills stay as they were"]
    said = [*map(_came, change.added), *map(_went, change.removed), *map(_changed, change.changed)]
    return said if len(said) <= _MANY else [_count(change)]


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
    told = ", ".join(f"{number:,} {what}" for number, what in counts if number)
    return f"Many skills changed on disk: {told}. See: /skills"
