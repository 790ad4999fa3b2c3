"""Messages about what is on record: sessions, background runs, usage and costs, and the audit log."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from clawft.messages import Usage
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Key, Problem, Words

_Cursor = Annotated[str, Meta(max_length=512)]


class ListSessions(DaemonRequest, frozen=True, tag="list_sessions"):
    """Conversations, the newest first: all, or those in which `search` was said. `cursor` goes on where a list ended.

    Those of skills and tasks that ran by themselves come only with `forks`.
    """

    search: Annotated[str, Meta(max_length=500)] = ""
    forks: bool = False
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: _Cursor = ""


class SessionMatch(Struct, frozen=True, kw_only=True):
    """A place where the text was said."""

    turn: int
    role: str
    snippet: str


class SessionEntry(Struct, frozen=True, kw_only=True):
    """One session of a list: an object of `clawft.sessions.list.v1`. `title` is the first line that a person wrote."""

    key: str
    path: str
    created: str
    updated: str
    turns: int
    messages: int
    title: str
    bytes: int
    cwd: str = ""
    matches: tuple[SessionMatch, ...] = ()


class SessionsList(DaemonAnswer, frozen=True, kw_only=True, tag="sessions_list"):
    """`cursor` is '' at the end."""

    sessions: tuple[SessionEntry, ...]
    cursor: str = ""
    diagnostics: tuple[Problem, ...] = ()


class GetSession(DaemonRequest, frozen=True, tag="get_session"):
    """One conversation: `limit` of its records, from the one with the number `start`."""

    key: Key
    start: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 200


class SessionAnswer(DaemonAnswer, frozen=True, kw_only=True, tag="session"):
    """The `records` of a session in the order they were written, each with its `type`: `message`, `skill`,
    `compaction`, `turn`.

    Their fields are those of `clawft.sessions.show.v1`. A long text is cut, and `cut` gives the number of missing
    characters; of pictures only the kind is given. `total` counts all records.
    """

    key: str
    path: str
    created: str
    cwd: str
    forked_from: str
    turns: int
    messages: int
    usage: Usage
    total: int
    start: int
    records: tuple[dict[str, Any], ...]
    diagnostics: tuple[Problem, ...] = ()


RunStatus = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
_Run = Annotated[str, Meta(min_length=1, max_length=128)]
_Name = Annotated[str, Meta(max_length=256)]


class ListRuns(DaemonRequest, frozen=True, tag="list_runs"):
    """Runs in the background, the newest first: of all states, or of some. `cursor` goes on where a list ended."""

    statuses: Annotated[tuple[RunStatus, ...], Meta(max_length=6)] = ()
    fleet: _Name = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: Annotated[str, Meta(max_length=200)] = ""


class RunQuestion(Struct, frozen=True, kw_only=True):
    """A question that a run waits on, and its possible answers. A dangerous one is answered each time anew, by a
    person."""

    key: str
    kind: str
    tool: str
    question: str
    reason: str | None
    dangerous: bool = field(name="grave")
    asked: str
    choices: tuple[str, ...]


class RunError(Struct, frozen=True, kw_only=True):
    """The reason why a run failed."""

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


class RunsList(DaemonAnswer, frozen=True, kw_only=True, tag="runs_list"):
    """`counts` are of all runs, by state; `cursor` is '' at the end. Where there are none, `missing` says why."""

    runs: tuple[RunEntry, ...]
    counts: dict[str, int]
    cursor: str = ""
    missing: Problem | None = None


class GetRun(DaemonRequest, frozen=True, tag="get_run"):
    """One run, by its id or as much of it as tells it from others: what it did, when, and at what cost."""

    run: _Run


class RunDetail(Struct, frozen=True, kw_only=True):
    """A run whole. The `timeline` is as `weft runs show --format json` has it; of one that is long, its end."""

    summary: RunEntry
    result: str | None
    timeline: tuple[dict[str, Any], ...]
    totals: dict[str, Any]
    left_out: int = 0  # entries of the timeline


class RunAnswer(DaemonAnswer, frozen=True, kw_only=True, tag="run"):
    run: RunDetail


class StartRun(DaemonRequest, frozen=True, tag="start_run"):
    """Have a skill executed, or a message answered, in the background: it goes on when everybody is gone."""

    skill: _Name = ""
    text: Words = ""
    session: Key = ""
    model: _Name = ""
    agent: _Name = ""


class RunStarted(DaemonAnswer, frozen=True, kw_only=True, tag="run_started"):
    """It is queued. `problem` tells why nobody does it yet, where that is so."""

    run: str
    session: str
    problem: Problem | None = None


class CancelRun(DaemonRequest, frozen=True, tag="cancel_run"):
    """End a run. What it did so far is kept."""

    run: _Run


class RetryRun(DaemonRequest, frozen=True, tag="retry_run"):
    """Go on with a run that failed or was cancelled, after the steps that are done."""

    run: _Run


class AnswerRun(DaemonRequest, frozen=True, tag="answer_run"):
    """Answer what a run waits for: one of the question's choices. The first answer counts."""

    run: _Run
    key: Annotated[str, Meta(max_length=256)]
    answer: Literal["once", "session", "always", "no", "again", "done", "skip"]


class RunsChanged(DaemonAnswer, frozen=True, kw_only=True, tag="runs_changed"):
    """To the subscribers of `runs`: those that are new, or not as they were, and how many there are by state."""

    runs: tuple[RunEntry, ...]
    counts: dict[str, int]


_Day = Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


class GetUsage(DaemonRequest, frozen=True, tag="get_usage"):
    """Costs, tokens and calls, by day, by model and by session, from one day to another; without days the last 30."""

    since: _Day = ""
    until: _Day = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class UsageSum(Usage, frozen=True, kw_only=True):
    """The usage of one day, model or session: its `name`. `unpriced` counts calls of models whose price is not known.

    `tokens` counts also tokens whose kind is not known.
    """

    name: str
    calls: int
    tokens: int
    usd: float
    unpriced: int = 0


class SkillUsage(Struct, frozen=True, kw_only=True):
    """The counts of how often a skill was offered to a model and loaded: an object of `clawft.skills.stats.v1`.

    `score` rates the turns in which it was loaded, from 0 to 1; `here`: it can be used now.
    """

    name: str
    offered: int
    loaded: int
    score: float
    last_loaded: str
    here: bool


class UsageBudget(Struct, frozen=True, kw_only=True):
    """The limits on usage in a day and in a session, where the config sets them."""

    per_day_usd: float | None = None
    per_day_tokens: int | None = None
    per_session_usd: float | None = None
    per_session_tokens: int | None = None


class UsageAnswer(DaemonAnswer, frozen=True, kw_only=True, tag="usage"):
    """Days in order; models and sessions with those first that cost most. Skills are counted since there were any.

    Where machines share a database of runs, what runs cost is counted there: it is added, or `problem` tells why not.
    """

    since: str
    until: str
    total: UsageSum
    days: tuple[UsageSum, ...]
    models: tuple[UsageSum, ...]
    sessions: tuple[UsageSum, ...]
    skills: tuple[SkillUsage, ...]
    budget: UsageBudget
    problem: Problem | None = None


_Word = Annotated[str, Meta(max_length=256)]


class ListAudit(DaemonRequest, frozen=True, tag="list_audit"):
    """Lines of the log, the newest first; '' means any. `text` stands in their subject, rule or session, in any case.

    `before` keeps those with a smaller number: the `next` of a list is where it goes on.
    """

    kind: _Word = ""
    skill: _Word = ""
    session: _Word = ""
    decision: _Word = ""
    text: _Word = ""
    since: Annotated[str, Meta(max_length=40)] = ""
    before: Annotated[int, Meta(ge=0, le=1 << 62)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class AuditLine(Struct, frozen=True, kw_only=True):
    """One line: an object of `clawft.audit.v1`."""

    seq: int
    at: str
    kind: str
    subject: str
    decision: str
    rule: str
    skill: str
    digest: str
    session: str
    detail: dict[str, Any]
    prev: str
    hash: str


class AuditList(DaemonAnswer, frozen=True, kw_only=True, tag="audit_list"):
    """`next` is 0 at the end of the log; a list may be short, or empty, and still go on."""

    lines: tuple[AuditLine, ...]
    next: int = 0
    unreadable: int = 0


class VerifyAudit(DaemonRequest, frozen=True, tag="verify_audit"):
    """Check the audit log for lines that were changed, removed, moved or added."""


class AuditBreak(Struct, frozen=True, kw_only=True):
    """The first place where the log is not what was written."""

    path: str
    line: int | None
    reason: str


class AuditVerdict(DaemonAnswer, frozen=True, kw_only=True, tag="audit_verdict"):
    """As `weft audit verify --format json` tells it. `lines` hold, up to the break if there is one."""

    intact: bool
    lines: int
    torn: int
    files: int
    since: str | None
    broken: AuditBreak | None
