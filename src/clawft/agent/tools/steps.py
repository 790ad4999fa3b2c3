"""The steps of a turn: what takes time, costs money or changes something.

In the foreground a step is just done. A run that must survive its process keeps what came of each, and does none twice
(`jobs/recorded_run.py`).
"""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from msgspec import Struct

from clawft.agent.sessions import OpenSession, SessionStore

STAYS = ("parked", "lost", "stopped")  # how a run goes on elsewhere: what was asked in it waits on

R = TypeVar("R")
# Tells what came of a step that may or may not have been done: that, or that it was not; None where nobody can tell.
CheckOutcome = Callable[[], Awaitable[Any | Literal["not-done"] | None]]


class TurnStep(Struct, frozen=True):
    """One step. `repeatable`: to do it again, where nobody knows whether it was done, does no harm."""

    kind: Literal["model", "tool", "command", "hook", "stage"]
    name: str
    repeatable: bool = True
    summary: str = ""


def _tell_nothing(answer: str) -> Any:
    raise AssertionError(f"nobody can be told {answer}: the step may be repeated")


class StepDoubt(Struct, frozen=True):
    """The way out of a step that may or may not have been done: check it, or follow a person's answer, `done` or
    `skip`."""

    check: CheckOutcome | None = None
    tell: Callable[[str], Any] = _tell_nothing


class TurnSteps:
    """The steps of one conversation, in the foreground."""

    owner = ""  # the run that they are steps of; what came of them then outlasts this process

    @property
    def ending(self) -> str:
        """The reason why that run ends here; '' if it does not."""
        return ""

    async def run(
        self,
        step: TurnStep,
        work: Callable[[], Awaitable[R]],
        result: Any,
        *,
        at: str = "",
        doubt: StepDoubt | None = None,
    ) -> R:
        """Do a step, or take what came of it before. `result` is its type, and `at` tells it from others beside it."""
        return await work()

    @contextmanager
    def within(self, at: str) -> Iterator[None]:
        """Treat the steps done meanwhile as steps below one place."""
        yield

    def below(self) -> "TurnSteps":
        """The steps of a conversation that is forked from here."""
        return self

    def name(self, at: str) -> str:
        """Return the globally unique name of a step, the same however often it is done; '' for a step that is done
        once."""
        return ""

    def mark(self) -> str:
        """A name for a conversation that is forked from here: the same one, if this is done again."""
        return uuid.uuid4().hex[:6]

    def open_session(self, sessions: SessionStore, key: str, cwd: str) -> OpenSession:
        """The session that a conversation writes to."""
        return sessions.open(key, cwd=cwd)
