"""Work in the background that survives: the list, one run with its timeline, starting, ending, and what runs ask."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from clawft.protocol.base import Answer, Key, Problem, Request, Words

__all__ = [
    "AnswerRun",
    "CancelRun",
    "GetRun",
    "ListRuns",
    "RetryRun",
    "RunAnswer",
    "RunDetail",
    "RunEntry",
    "RunError",
    "RunQuestion",
    "RunStarted",
    "RunStatus",
    "RunsChanged",
    "RunsList",
    "StartRun",
]

RunStatus = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
_Run = Annotated[str, Meta(min_length=1, max_length=128)]
_Name = Annotated[str, Meta(max_length=256)]


class ListRuns(Request, frozen=True, kw_only=True, tag="list_runs"):
    """Runs in the background, the newest first: of all states, or of some. `cursor` goes on where a list ended."""

    statuses: Annotated[tuple[RunStatus, ...], Meta(max_length=6)] = ()
    fleet: _Name = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: Annotated[str, Meta(max_length=200)] = ""


class RunQuestion(Struct, frozen=True, kw_only=True):
    """What a run waits for a person to say, and the answers there are. `grave`: each time anew, by a person."""

    key: str
    kind: str
    tool: str
    question: str
    reason: str | None
    grave: bool
    asked: str
    choices: tuple[str, ...]


class RunError(Struct, frozen=True, kw_only=True):
    """Why a run failed."""

    code: str
    message: str
    hint: str | None


class RunEntry(Struct, frozen=True, kw_only=True):
    """One run: an object of `clawft.runs.v1`. `steps` counts those that are done."""

    id: str
    status: RunStatus
    kind: str
    session: str
    started: str | None
    finished: str | None
    steps: int
    usage: dict[str, int]
    error: RunError | None
    title: str
    queue: str
    worker: str | None
    attempt: int
    created: str
    cost_usd: float | None
    worked_ms: int
    cancelling: bool
    project: str
    parent: str | None
    fleet: str | None
    line: int | None
    questions: tuple[RunQuestion, ...] = ()


class RunsList(Answer, frozen=True, kw_only=True, tag="runs_list"):
    """`counts` are of all runs, by state; `cursor` is '' at the end. Where there are none, `missing` says why."""

    runs: tuple[RunEntry, ...]
    counts: dict[str, int]
    cursor: str = ""
    missing: Problem | None = None


class GetRun(Request, frozen=True, kw_only=True, tag="get_run"):
    """One run, by its id or as much of it as tells it from others: what it did, when, and at what cost."""

    run: _Run


class RunDetail(Struct, frozen=True, kw_only=True):
    """A run whole. The `timeline` is as `weft runs show --format json` has it; of one that is long, its end."""

    summary: RunEntry
    result: str | None
    timeline: tuple[dict[str, Any], ...]
    totals: dict[str, Any]
    left_out: int = 0  # entries of the timeline


class RunAnswer(Answer, frozen=True, kw_only=True, tag="run"):
    run: RunDetail


class StartRun(Request, frozen=True, kw_only=True, tag="start_run"):
    """Have a skill executed, or a message answered, in the background: it goes on when everybody is gone."""

    skill: _Name = ""
    text: Words = ""
    session: Key = ""
    model: _Name = ""
    agent: _Name = ""


class RunStarted(Answer, frozen=True, kw_only=True, tag="run_started"):
    """It is queued. `problem` tells why nobody does it yet, where that is so."""

    run: str
    session: str
    problem: Problem | None = None


class CancelRun(Request, frozen=True, kw_only=True, tag="cancel_run"):
    """End a run. What it did so far is kept."""

    run: _Run


class RetryRun(Request, frozen=True, kw_only=True, tag="retry_run"):
    """Go on with a run that failed or was cancelled, after the steps that are done."""

    run: _Run


class AnswerRun(Request, frozen=True, kw_only=True, tag="answer_run"):
    """Answer what a run waits for: one of the question's choices. The first answer counts."""

    run: _Run
    key: Annotated[str, Meta(max_length=256)]
    answer: Literal["once", "session", "always", "no", "again", "done", "skip"]


class RunsChanged(Answer, frozen=True, kw_only=True, tag="runs_changed"):
    """To the subscribers of `runs`: those that are new, or not as they were, and how many there are by state."""

    runs: tuple[RunEntry, ...]
    counts: dict[str, int]
