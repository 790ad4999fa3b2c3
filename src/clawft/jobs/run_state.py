"""The state of a run, of the question it waits with, and of a worker."""

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clawft.agent.run_request import RunRequest
from clawft.errors import ClawftError
from clawft.messages import ApprovalNeeded, Usage

if TYPE_CHECKING:
    from sqlalchemy import RowMapping


RunStatus = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
OVER: tuple[RunStatus, ...] = ("done", "failed", "cancelled")
FORMAT = "runs-1"  # of what is recorded of a run: workers of one format take each other's runs
_MAX_TITLE = 120
FOREIGN = "It was written by another version of weft, or is damaged, and cannot be read"


class RunProblem(Struct, frozen=True):
    """The reason why a run failed."""

    code: str
    message: str
    hint: str = ""


class Run(Struct, frozen=True):
    """One run, as it is now. `steps` counts those that are done."""

    id: str
    kind: str
    status: RunStatus
    attempt: int
    queue: str
    title: str
    session: str
    worker: str
    created: str
    started: str | None
    finished: str | None
    steps: int
    usage: Usage
    cost_usd: float | None
    worked_ms: int
    base: int | None
    cancel: bool
    result: str | None
    error: RunProblem | None
    parent: str
    fleet: str
    line: int
    request: RunRequest
    format: str = FORMAT
    generation: int = 0
    deaths: int = 0
    unreadable: bool = False  # what it was asked is not known here, and `error` says so

    @property
    def is_foreign(self) -> bool:
        """Return whether only a worker of another version can go on with it."""
        return self.format != FORMAT and self.status not in OVER


class PendingQuestion(Struct, frozen=True):
    """Something that a run waits for a person to say."""

    run: str
    key: str
    kind: Literal["approval", "in-flight"]
    event: ApprovalNeeded
    asked: str
    answer: str | None = None
    answered: str | None = None
    by: str = ""
    taken: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers there are."""
        if not self.event.tool:  # nobody can tell what a yes would be to
            return ("no",)
        if self.kind == "in-flight":
            return ("again", "done", "skip")
        return ("once", "no") if self.event.dangerous else ("once", "session", "always", "no")


class WorkerRow(Struct, frozen=True):
    """A process that does runs."""

    id: str
    host: str
    pid: int
    mark: str
    queue: str
    concurrency: int
    started: str
    beat: int
    seen: str
    stopping: bool
    stays: bool = True  # with nothing to do too


def new_run_id() -> str:
    """An id that sorts by time, and is short enough to type."""
    return f"{datetime.now(UTC):%y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"


def now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def make_row(run: str, request: RunRequest, queue: str, created: str) -> dict[str, Any]:
    """A run that nobody did anything about yet. Raises: ClawftError."""
    try:
        asked = msgspec.json.encode(request).decode()
    except UnicodeEncodeError as error:
        message = "What the run is asked, or the name of a folder of it, is no Unicode, so it cannot be written down"
        raise ClawftError("run-not-text", message, hint="Say it in other words, or rename the folder") from error
    title = " ".join(f"/{request.skill} {request.text}".split() if request.skill else request.text.split())
    return {
        "id": run,
        "kind": request.kind,
        "status": "queued",
        "attempt": 1,
        "queue": queue,
        "title": title[:_MAX_TITLE].replace("\0", "\N{REPLACEMENT CHARACTER}"),  # which no server takes
        "session": request.session or f"run:{run}",
        "request": asked,
        "worker": "",
        "created": created,
        "steps": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "worked_ms": 0,
        "cancel": False,
        "parent": "",
        "fleet": "",
        "line": -1,
        "format": FORMAT,
        "generation": 0,
        "deaths": 0,
    }


def to_run(row: "RowMapping | dict[str, Any]") -> Run:
    values = dict(row)
    usage = Usage(values.pop("input_tokens"), values.pop("output_tokens"))
    request, error = values.pop("request"), values.pop("error")
    try:
        asked = msgspec.json.decode(request, type=RunRequest)
        problem = msgspec.json.decode(error, type=RunProblem) if error else None
    except (msgspec.DecodeError, RecursionError) as trouble:  # one such row must not hide the others
        problem = RunProblem(
            "run-unreadable", f"{FOREIGN}: {trouble}", "See it with the version of weft that started it"
        )
        return Run(**values, usage=usage, request=RunRequest(kind="agent", cwd=""), error=problem, unreadable=True)
    return Run(**values, usage=usage, request=asked, error=problem)


def to_question(row: "RowMapping | dict[str, Any]") -> PendingQuestion:
    values = dict(row)
    try:
        event = msgspec.json.decode(values["event"], type=ApprovalNeeded)
    except (msgspec.DecodeError, RecursionError):
        event = ApprovalNeeded(call="", tool="", question=FOREIGN, dangerous=True)
    return PendingQuestion(**values | {"event": event})
