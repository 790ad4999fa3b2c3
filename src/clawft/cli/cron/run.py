"""`weft cron run`: a worker in the foreground that tells of jobs, or what is due now, or one job."""

import signal
from typing import TYPE_CHECKING

import click

from clawft.cli.cron._open import open_cron
from clawft.cli.options import format_option
from clawft.cli.output import one_line, say, show_error
from clawft.cron import find_job

if TYPE_CHECKING:
    from clawft.cli.cron._open import Cron
    from clawft.cli.cron._report import Reporter

__all__ = ["command"]

_LOOK_S = 0.1
_ENSURE_S = 5.0  # after which it is looked whether somebody still does what is waited for


@click.command("run")
@click.argument("id", required=False, default="")
@click.option("--once", is_flag=True, help="Run what is due now, and leave.")
@format_option
def command(id: str, once: bool, output: str) -> int:
    """Run jobs when they are due, until interrupted: a worker that tells of jobs. With ID, run that job now.

    A job that was due while no worker was running runs once, if that is no longer ago than its interval or an hour,
    whichever is less. Other runs that were missed are counted and not made up for. --format json prints a run per line.
    With ID and with --once a worker is started where none is, and goes on if this command is ended.
    """
    import anyio

    from clawft.cli.cron._report import Reporter

    if id and once:
        raise click.UsageError("A job that is named runs once anyway: leave --once out")
    with open_cron() as cron:
        job = find_job(cron.runs.jobs.load(show_error), id) if id else None
        reporter = Reporter(cron, as_json=output == "json", answers=job is not None, stays=not (job or once))
        if job is None and not once:
            return 130 if anyio.run(_serve, cron, reporter) == signal.SIGINT else 0
        try:
            if job is not None:
                reporter.follow(job, cron.runs.jobs.start(job, cron.now))
            else:
                for fired in cron.runs.jobs.fire(reporter.failed):
                    reporter.fired(fired)
            anyio.run(_wait, cron, reporter)
        except KeyboardInterrupt:
            for run in reporter.open:
                say(f"{run} goes on in the background. Run: weft runs watch {run}")
            return 130
        return reporter.exit_code


async def _serve(cron: "Cron", reporter: "Reporter") -> int:
    """Be a worker; the signal that ended it."""
    from clawft.cli.worker import make_plan, work_here

    plan = make_plan(cron.app)
    caught = await work_here(cron.app, plan, lambda text: say(one_line(text)), reporter.fired, reporter.look)
    await reporter.look()
    for run in reporter.open:
        say(f"{run} goes on when a worker is started: weft worker")
    return caught


async def _wait(cron: "Cron", reporter: "Reporter") -> None:
    """Wait for the end of what was started, and see that somebody does it. Raises: ClawftError."""
    import anyio
    from anyio import to_thread

    ensured = float("-inf")
    while reporter.open:
        if anyio.current_time() - ensured >= _ENSURE_S:
            ensured = anyio.current_time()
            for queue in reporter.queues:
                await to_thread.run_sync(cron.runs.ensure_worker, queue)
        await anyio.sleep(_LOOK_S)
        await reporter.look()
