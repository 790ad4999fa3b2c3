"""`weft cron run`: the scheduler in the foreground, or one job now."""

import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
import click
import msgspec

from clawft.cli.cron._open import Cron, describe, open_cron, show_time
from clawft.cli.options import format_option
from clawft.cli.output import clean, escape_unsafe, say, show_diagnostic, show_error
from clawft.cron import Job, Run, find_job
from clawft.cron.process import Launcher
from clawft.cron.schedule import MAX_COUNTED
from clawft.cron.scheduler import Clock, Scheduler
from clawft.errors import ClawftError, Diagnostic

__all__ = ["command"]

# Jobs have sessions of their own: they do not end with the terminal unless we end them.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CODES = {"ok": 0, "missed": 0, "refused": 3, "interrupted": 130}


@click.command("run")
@click.argument("id", required=False, default="")
@click.option("--once", is_flag=True, help="Run what is due now, and leave.")
@format_option
def command(id: str, once: bool, output: str) -> int:
    """Run jobs when they are due, until interrupted; with ID, run that job now.

    A job that was due while no scheduler was running runs once, if that is no longer ago than its interval or an hour,
    whichever is less. Other runs that were missed are counted and not made up for. --format json prints a run per line.
    """
    if id and once:
        raise click.UsageError("A job that is named runs once anyway: leave --once out")
    cron = open_cron()
    cron.app.user_file("")
    job = find_job(cron.store.load(), id) if id else None
    printer = _Printer(cron, as_json=output == "json", answers=job is not None)
    scheduler = Scheduler(cron.store, _launcher(cron).run, Clock(cron.tell_time, cron.zone), printer)
    if not (job or once or cron.store.has_scheduler()):
        say("Waiting for jobs to be due; Ctrl-C ends it")
    caught = anyio.run(_run_until_signal, partial(_work, scheduler, job, once))
    if caught == signal.SIGINT:
        return 130
    return printer.exit_code if job or once else 0


def _launcher(cron: Cron) -> Launcher:
    # -P: what lies in a project's folder is not taken for a part of this program.
    program = (sys.executable, "-P", "-m", "clawft")
    return Launcher(program, cron.app.environ, cron.app.workspace.user_dir)


async def _work(scheduler: Scheduler, job: Job | None, once: bool) -> None:
    if job:
        await scheduler.run_now(job)
    elif once:
        await scheduler.run_due()
    else:
        await scheduler.run_forever()


async def _run_until_signal(work: Callable[[], Awaitable[object]]) -> int | None:
    """Work until it is done, or until a signal comes: which one it was. Raises: ClawftError."""
    caught: list[int] = []
    failed: ClawftError | None = None
    heard = [one for one in _SIGNALS if signal.getsignal(one) != signal.SIG_IGN]  # `nohup` wants some ignored
    with anyio.open_signal_receiver(*heard) as signals:
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                async for number in signals:
                    caught.append(number)
                    tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                await work()
            except ClawftError as error:  # the group would wrap it
                failed = error
            tasks.cancel_scope.cancel()
    if failed:
        raise failed
    return caught[0] if caught else None


class _Printer:
    """Runs as they end: on stdout, with what went wrong on stderr."""

    def __init__(self, cron: Cron, *, as_json: bool, answers: bool) -> None:
        self._cron = cron
        self._as_json = as_json
        self._answers = answers
        self._codes: list[int] = []

    @property
    def exit_code(self) -> int:
        """That of the one job that was named; otherwise 1 if any run failed."""
        return self._codes[0] if self._answers and self._codes else int(any(self._codes))

    def ended(self, job: Job, run: Run, text: str) -> None:
        self._codes.append(_CODES.get(run.status, 1))
        with suppress(OSError):  # who reads this may leave; the jobs go on
            self._show(job, run, text)

    def failed(self, error: ClawftError) -> None:
        self._codes.append(1)
        with suppress(OSError):
            show_error(error)

    def _show(self, job: Job, run: Run, text: str) -> None:
        if self._as_json:
            document = {"schema": "clawft.cron.run.v1", **msgspec.to_builtins(run), "text": text}
            click.echo(escape_unsafe(msgspec.json.encode(document).decode()))
        elif self._answers:
            if text:
                click.echo(clean(text) if sys.stdout.isatty() else text)
        elif run.status != "missed":
            at = show_time(run.started or self._cron.tell_time(), self._cron.zone)
            click.echo(f"{at}  {job.id}  {run.status}  {describe(job)}")
        if run.missed:
            _warn_missed(job, run)
        if run.error:
            _show_failure(job, run)


def _warn_missed(job: Job, run: Run) -> None:
    count = f"{run.missed} run{'s' * (run.missed != 1)}" + (" or more" if run.missed >= MAX_COUNTED - 1 else "")
    ending = "it ran once for all of them" if run.status != "missed" else "it waits for its next time"
    message = f"{count} of {job.id} {'was' if run.missed == 1 else 'were'} missed; {ending}"
    show_diagnostic(Diagnostic("cron-missed", "warning", message), where="")


def _show_failure(job: Job, run: Run) -> None:
    hint = f"Run: weft sessions show {run.session}" if run.session else ""
    message = f"{job.id} ({run.status}): {run.error}"
    show_diagnostic(Diagnostic("cron-failed", "error", message, hint=hint), where="")
