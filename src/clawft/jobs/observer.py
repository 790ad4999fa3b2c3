"""The observer of runs: notified when runs and steps begin, end, wait or fail."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import anyio
import msgspec
from msgspec import Struct, field

from clawft.agent.tools.steps import TurnStep
from clawft.errors import ClawftError
from clawft.jobs.run_state import PendingQuestion, Run, WorkerRow
from clawft.messages import Usage

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class ObservedStep(Struct, frozen=True):
    """A step, by its place in the conversation."""

    place: str
    kind: str
    name: str
    repeatable: bool


class ObservedOutcome(Struct, frozen=True):
    """The outcome of a step, or of a run. `error` is a code; '' where there is none.

    A run that is `parked`, `stopped` or `lost` continues elsewhere, or later.
    """

    status: str = ""
    error: str = ""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    ms: int | None = None  # how long a step took, as it is recorded


class RunObserver:
    """One who looks away. What an observer does takes no time and raises nothing."""

    def begun(self, seen: Run, *, is_first: bool) -> None:
        """An attempt begins here; `is_first` where nobody did anything about the run before."""

    def ended(self, seen: Run, outcome: ObservedOutcome) -> None:
        """An attempt ends here: with the status that the run has now, or '' where another worker goes on with it.

        With neither a status nor an error it broke off, and is begun again.
        """

    def step_begun(self, seen: Run, step: ObservedStep) -> None:
        """A step is being done, since nothing is recorded of it."""

    def step_ended(self, seen: Run, step: ObservedStep, outcome: ObservedOutcome) -> None:
        """It is over."""

    def answered(self, seen: Run, asked: PendingQuestion) -> None:
        """A person answered, and the run goes on with that."""

    def doubted(self, seen: Run, step: ObservedStep, how: Literal["checked", "asked"]) -> None:
        """A step was in flight when its worker died: its outcome was looked up, or a person is asked."""

    def retried(self) -> None:
        """The database could not be used, and is tried again."""

    def find_held(self, worker: WorkerRow) -> object:
        """Find what a worker that seems dead was doing, for `died`: called before other workers take over its runs."""

    def died(self, worker: WorkerRow, held: object) -> None:
        """A worker is dead, and this one was the first to say so."""

    def close(self) -> None:
        """The worker ends."""


class ObservedAttempt:
    """One attempt, and who watches it."""

    def __init__(self, run: Run, observer: RunObserver | None = None) -> None:
        self._seen = run
        self._observer = observer or RunObserver()
        self.why_ending: Callable[[], str] = lambda: ""

    def begun(self, *, is_first: bool) -> None:
        self._observer.begun(self._seen, is_first=is_first)

    def ended(self, outcome: ObservedOutcome) -> None:
        self._observer.ended(self._seen, outcome)

    @contextmanager
    def step(self, place: str, step: TurnStep, recorded: Mapping[str, Any]) -> Iterator[None]:
        """While a step is done; what came of it is in `recorded` then."""
        shown, error = ObservedStep(place, step.kind, step.name, step.repeatable), ""
        self._observer.step_begun(self._seen, shown)
        try:
            yield
        except BaseException as raised:
            error = self._name_error(raised)
            raise
        finally:
            self._observer.step_ended(self._seen, shown, _read_outcome(recorded.get(place), error))

    def _name_error(self, raised: BaseException) -> str:
        if isinstance(raised, ClawftError):
            return raised.code
        is_ended = isinstance(raised, anyio.get_cancelled_exc_class() | GeneratorExit)
        return (self.why_ending() or "cancelled") if is_ended else type(raised).__name__

    def answered(self, question: PendingQuestion) -> None:
        if not question.taken:  # else the run went on with it before, and was begun again
            self._observer.answered(self._seen, question)

    def doubted(self, place: str, step: TurnStep, how: Literal["checked", "asked"]) -> None:
        self._observer.doubted(self._seen, ObservedStep(place, step.kind, step.name, step.repeatable), how)

    def retried(self) -> None:
        self._observer.retried()


def _read_outcome(value: Mapping[str, Any] | None, error: str) -> ObservedOutcome:
    if value is None:
        return ObservedOutcome(error=error or "unfinished")
    result, usage = value.get("result"), value.get("usage") or {}
    if isinstance(result, dict) and result.get("status") == "error":
        code = (result.get("error") or {}).get("code")
        error = code if isinstance(code, str) and _CODE.fullmatch(code) else "error"
    return ObservedOutcome(
        error=error,
        usage=msgspec.convert(usage, Usage),
        cost_usd=value.get("cost_usd"),
        ms=value.get("ms"),
    )
