"""The steps of a turn: what takes time, costs money or changes something.

In the foreground a step is just done. A run that must survive its process keeps what came of each, and does none twice
(`run/durable/journal.py`).
"""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from msgspec import Struct

from clawft.sessions import OpenSession, SessionStore

__all__ = ["STAYS", "Check", "Doubt", "Step", "Steps"]

STAYS = ("parked", "lost", "stopped")  # how a run goes on elsewhere: what was asked in it waits on

R = TypeVar("R")
# Tells what came of a step that may or may not have been done: that, or that it was not; None where nobody can tell.
Check = Callable[[], Awaitable[Any | Literal["not-done"] | None]]


class Step(Struct, frozen=True):
    """One step. `repeatable`: to do it again, where nobody knows whether it was done, does no harm."""

    kind: Literal["model", "tool", "command", "hook", "stage"]
    name: str
    repeatable: bool = True
    summary: str = ""


def _tell_nothing(answer: str) -> Any:
    raise AssertionError(f"nobody can be told {answer}: the step may be repeated")


class Doubt(Struct, frozen=True):
    """What to do about a step that may or may not have been done: find out, or go on with what a person says, which is
    `done` or `skip`."""

    check: Check | None = None
    tell: Callable[[str], Any] = _tell_nothing


class Steps:
    """The steps of one conversation, in the foreground."""

    owner = ""  # the run that they are steps of; what came of them then outlasts this process

    @property
    def ending(self) -> str:
        """Why that run ends here, if it does."""
        return ""

    async def run(
        self, step: Step, work: Callable[[], Awaitable[R]], result: Any, *, at: str = "", doubt: Doubt | None = None
    ) -> R:
        """Do a step, or take what came of it before. `result` is its type, and `at` tells it from others beside it."""
        return await work()

    @contextmanager
    def within(self, at: str) -> Iterator[None]:
        """What is done meanwhile are steps of their own, below one place."""
        yield

    def below(self) -> "Steps":
        """The steps of a conversation that is forked from here."""
        return self

    def name(self, at: str) -> str:
        """What a step is called in all the world, however often it is done; '' for one that is done once."""
        return ""

    def mark(self) -> str:
        """A name for a conversation that is forked from here: the same one, if this is done again."""
        return uuid.uuid4().hex[:6]

    def open_session(self, sessions: SessionStore, key: str, cwd: str) -> OpenSession:
        """The session that a conversation writes to."""
        return sessions.open(key, cwd=cwd)
