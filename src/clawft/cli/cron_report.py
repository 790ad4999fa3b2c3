"""Reports of scheduled jobs as their runs end. Needs SQLAlchemy, so it is imported only while jobs run."""

import sys
from contextlib import suppress
from datetime import datetime

import click
import msgspec
from anyio import to_thread
from msgspec import Struct

from clawft.cli.cron_jobs import CronJobs, render_action, show_time
from clawft.cli.output import clean, escape_unsafe, show_diagnostic, show_error
from clawft.errors import ClawftError, Diagnostic
from clawft.jobs.run_state import OVER, Run
from clawft.jobs.schedule.jobs import JobStatus, ScheduledJob
from clawft.jobs.schedule.store import FiredJob, get_run_outcome

_CODES: dict[JobStatus, int] = {"ok": 0, "waiting": 3, "interrupted": 130}


class _Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of a job as other programs read it. One that is `missed` never started."""

    job: str
    run: str = ""
    due: str | None = None  # None: the user started it by hand
    started: str | None = None
    finished: str | None = None
    status: JobStatus
    exit_code: int | None = None
    session: str = ""
    missed: int = 0
    error: str = ""


class CronReporter:
    """Follows runs that were started for jobs, and tells how each ended."""

    def __init__(self, cron: CronJobs, *, as_json: bool, answers: bool = False, stays: bool = False) -> None:
        """`answers`: tell what the one job said; `stays`: follow what waits for a person too."""
        self._cron = cron
        self._as_json = as_json
        self._answers = answers
        self._stays = stays
        self._waiting: set[str] = set()
        self._open: dict[str, tuple[ScheduledJob, FiredJob | None]] = {}
        self._codes: list[int] = []

    @property
    def exit_code(self) -> int:
        """That of the one job that was named; otherwise 1 if any run failed."""
        return self._codes[0] if self._answers and self._codes else int(any(self._codes))

    @property
    def open(self) -> tuple[str, ...]:
        """The runs that are not over."""
        return tuple(self._open)

    @property
    def queues(self) -> set[str]:
        """The queues of the runs that are not over."""
        return {job.queue for job, _ in self._open.values()}

    def failed(self, error: ClawftError) -> None:
        """Tell of a job that cannot be started."""
        self._codes.append(1)
        with suppress(OSError):
            show_error(error)

    def follow(self, job: ScheduledJob, run: str) -> None:
        """Report on a run that the user started by hand."""
        self._open[run] = (job, None)

    def fired(self, fired: FiredJob) -> None:
        """Tell of a job that was due."""
        if fired.claim.missed:
            diagnostic = Diagnostic("cron-missed", "warning", fired.claim.render_missed())
            with suppress(OSError):  # who reads this may leave; the jobs go on
                show_diagnostic(diagnostic, where="")
        if fired.run:
            self._open[fired.run] = (fired.job, fired)
        else:
            self._tell(_Line(job=fired.job.id, due=_moment(fired), status="missed", missed=fired.claim.missed))

    async def look(self) -> None:
        """Tell of what is over, or waits for a person. Raises: ClawftError."""
        for run, (job, fired) in tuple(self._open.items()):
            found = await to_thread.run_sync(self._cron.runs.store.find, run)
            if found is None:
                del self._open[run]
            elif found.status in OVER or (found.status == "waiting" and not self._stays):
                del self._open[run]
                self._end(job, fired, found)
            elif found.status == "waiting" and run not in self._waiting:
                self._waiting.add(run)
                self._end(job, fired, found)

    def _end(self, job: ScheduledJob, fired: FiredJob | None, run: Run) -> None:
        status = get_run_outcome(run.status, run.error)
        code = _CODES.get(status, 1)
        self._codes.append(code)
        error = f"{run.error.code}: {run.error.message}" if run.error else ""
        line = _Line(
            job=job.id,
            run=run.id,
            due=_moment(fired) if fired else None,
            started=run.started,
            finished=run.finished,
            status=status,
            exit_code=code,
            session=run.session,
            missed=fired.claim.missed if fired else 0,
            error=error,
        )
        with suppress(OSError):
            self._show(job, line, run)

    def _show(self, job: ScheduledJob, line: _Line, run: Run) -> None:
        text = run.result or ""
        self._tell(line, text)
        if self._answers and text and not self._as_json:
            click.echo(clean(text) if sys.stdout.isatty() else text)
        elif not self._answers and not self._as_json:
            at = show_time(datetime.fromisoformat(run.started or run.created), self._cron.zone)
            click.echo(f"{at}  {job.id}  {line.status}  {render_action(job)}")
        if line.status == "waiting":
            message, hint = f"{job.id} waits for an answer", f"Run: weft runs show {run.id}"
            show_diagnostic(Diagnostic("cron-waiting", "warning", message, hint=hint), where="")
        elif line.status != "ok":
            why = line.error or "it was cancelled"
            hint = f"Run: weft runs show {run.id}"
            diagnostic = Diagnostic("cron-failed", "error", f"{job.id} ({line.status}): {why}", hint=hint)
            show_diagnostic(diagnostic, where="")

    def _tell(self, line: _Line, text: str = "") -> None:
        if self._as_json:
            document = {"schema": "clawft.cron.run.v1", **msgspec.to_builtins(line), "text": text}
            with suppress(OSError):
                click.echo(escape_unsafe(msgspec.json.encode(document).decode()))


def _moment(fired: FiredJob) -> str:
    moment: str = msgspec.to_builtins(fired.claim.due)
    return moment
