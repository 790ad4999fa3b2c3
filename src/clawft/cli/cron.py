"""`weft cron`: add, list, remove and run scheduled jobs."""

import shlex
import signal
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from clawft.app.app import App
from clawft.cli.completion import complete_agents, complete_models, complete_skills
from clawft.cli.cron_jobs import (
    CronJobs,
    find_unserved,
    has_jobs,
    job_json,
    open_cron,
    refresh_job,
    render_action,
    say_unserved,
    short_ids,
    show_time,
)
from clawft.cli.options import check_queue, format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, print_table, say, show_error
from clawft.cli.prompts import confirm
from clawft.jobs.schedule.jobs import ScheduledJob, ScheduledTask, find_job, find_zone, make_job, name_zone

if TYPE_CHECKING:
    from clawft.cli.cron_report import CronReporter


_SHOWN = 3
_MAX_NAME = 100


@click.command("add")
@click.argument("schedule")
@click.argument("args", nargs=-1)
@click.option("--message", "-m", metavar="TEXT", help="What to say to the agent.")
@click.option(
    "--skill",
    metavar="NAME",
    default="",
    help="The skill to run; ARGS are its arguments.",
    shell_complete=complete_skills,
)
@click.option("--name", metavar="TEXT", default="", help="What to call the job.")
@click.option("--agent", "-a", metavar="NAME", default="", help="Which agent answers.", shell_complete=complete_agents)
@click.option(
    "--model", metavar="PROVIDER/MODEL", default="", help="Which model answers.", shell_complete=complete_models
)
@click.option("--session", "-s", metavar="KEY", default="", help="Continue this session instead of the job's own.")
@click.option("--fresh", is_flag=True, help="A new session for each run.")
@click.option("--yes", "-y", is_flag=True, help="Let its tools do what they ask for; what a policy forbids stays so.")
@click.option("--queue", metavar="NAME", default="", callback=check_queue, help="Which workers start it and do it.")
@format_option
def add_command(
    schedule: str, args: tuple[str, ...], message: str | None, name: str, queue: str, **values: object
) -> CommandResult:
    """Run a message or a skill by itself, in this project, on SCHEDULE.

    SCHEDULE is '0 9 * * 1-5' (minute, hour, day, month, weekday), @hourly, @daily, @weekly, @monthly,
    'every 10m' (or 2h, 1d), or 'at 2026-12-01T09:00', in the time zone of this machine, which the job keeps.
    """
    task = msgspec.convert({**values, "text": shlex.join(args) if message is None else message}, ScheduledTask)
    _check_usage(task, args, message, name)
    app = open_here()
    _check_names(app, task)
    zone = find_zone(app.environ)
    job = make_job(schedule, task, name=name, cwd=app.workspace.project, now=datetime.now(zone), zone=zone)
    if task.yes:
        what = f"/{task.skill} {task.text}".rstrip() if task.skill else task.text
        app.audit.write("approval", f"job {job.id} on {schedule}: {what}", decision="granted", rule="--yes")
    with open_cron(app) as cron:
        job = replace(job, zone=name_zone(app.environ), queue=queue or cron.runs.settings.queue)
        cron.runs.jobs.add([job])
        times = list(islice(job.parse_schedule(zone).times(job.created), _SHOWN))
        unserved = find_unserved(cron.runs, [job])
    shown = {**job_json(job, cron), "times": msgspec.to_builtins(times)}

    def show() -> None:
        click.echo(job.id)
        say(f"next: {', '.join(show_time(time, zone) for time in times)}")
        say_unserved(unserved)

    return CommandResult("clawft.cron.add.v1", {"job": shown, "scheduler_running": not unserved}, show)


def _check_usage(task: ScheduledTask, args: tuple[str, ...], message: str | None, name: str) -> None:
    if bool(task.skill) == (message is not None):
        raise click.UsageError("Say what to run: either -m TEXT or --skill NAME [ARGS]")
    if args and not task.skill:
        raise click.UsageError("Only a skill takes arguments. Put the schedule in quotes: 'every 10m'")
    if not task.skill and not task.text.strip():
        raise click.UsageError("The message is empty")
    if task.session and task.fresh:
        raise click.UsageError("A job has either a --session or a --fresh one each time")
    if name and (not name.isprintable() or not name.strip() or len(name) > _MAX_NAME):
        raise click.UsageError(f"--name needs a text on one line, of {_MAX_NAME} characters at most")


def _check_names(app: App, task: ScheduledTask) -> None:
    """Whatever a job names must be there now. Raises: ClawftError."""
    if task.skill:
        status = app.get_skill(task.skill)
        if not status.user_may_invoke:
            why = "is not for users to start" if status.usable else f"is {status.state}"
            say(f"note: the skill '{one_line(status.name)}' {why} now. Run: weft skills why {one_line(task.skill)}")
    if task.agent:
        app.choose_agent(task.agent)
    if task.model:
        from clawft.agent.providers.selection import check_model

        check_model(task.model, app.config.providers, app.environ)
    if task.session:
        from clawft.agent.sessions.keys import encode_key

        encode_key(task.session)


_SCHEMA = "clawft.cron.list.v1"
_NONE = "No jobs. Run: weft cron add"


@click.command("list")
@format_option
def list_command() -> CommandResult:
    """List the jobs: when each runs next, how its last run went, and how many runs were missed."""
    app = open_here()
    if not has_jobs(app):
        return CommandResult(_SCHEMA, {"jobs": [], "scheduler_running": False}, lambda: say(_NONE))
    with open_cron(app) as cron:
        jobs = cron.runs.jobs.load(show_error)
        unserved = find_unserved(cron.runs, jobs)
        running = any(job.enabled for job in jobs) and not unserved
        document = {"jobs": [job_json(job, cron) for job in jobs], "scheduler_running": running}
        ids = short_ids(jobs)
        rows = [(ids[job.id], *_cells(refresh_job(job, cron), cron)) for job in jobs]

    def show() -> None:
        if rows:
            print_table(("ID", "WHAT", "SCHEDULE", "NEXT", "LAST RUN", "STATUS", "MISSED"), rows, wide=1)
        _summarize(jobs, unserved)

    return CommandResult(_SCHEMA, document, show)


def _cells(job: ScheduledJob, cron: CronJobs) -> tuple[str, ...]:
    what = f"{job.name}: {render_action(job)}" if job.name else render_action(job)
    last, status = show_time(job.last_run, cron.zone), job.last_status or "-"
    return (what, job.schedule, _next(job, cron), last, status, str(job.missed or "-"))


def _next(job: ScheduledJob, cron: CronJobs) -> str:
    if job.next_due is None or not job.enabled:
        return "done" if job.next_due is None else "off"
    return "now" if job.next_due <= cron.now else show_time(job.next_due, cron.zone)


def _summarize(jobs: Sequence[ScheduledJob], unserved: Sequence[str]) -> None:
    if not jobs:
        return say(_NONE)
    say(f"{len(jobs)} job{'s' * (len(jobs) != 1)}{'' if unserved else '; a worker starts what is due'}")
    waiting = [job.run for job in jobs if job.last_status == "waiting"]
    for run in waiting:
        say(f"A run waits for an answer, and its job with it. Run: weft runs show {run}")
    say_unserved(unserved)
    return None


@click.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(ids: tuple[str, ...], yes: bool) -> CommandResult:
    """Remove jobs. ID may be the start of an id, or a name. Their sessions stay; a run that goes on does so."""
    with open_cron() as cron:
        jobs = cron.runs.jobs.load(show_error)
        wanted = list({job.id: job for job in (find_job(jobs, text) for text in ids)}.values())
        agreed = yes or _ask(wanted)
        removed = [job.id for job in wanted] if agreed else []
        cron.runs.jobs.remove(removed)
    return CommandResult(
        "clawft.cron.remove.v1",
        {"removed": removed},
        lambda: say(f"Removed: {', '.join(removed)}" if removed else "Nothing was removed"),
        0 if agreed else 1,
    )


def _ask(jobs: Sequence[ScheduledJob]) -> bool:
    """Return whether a person agrees. Raises: Refused where there is nobody to ask."""
    lines = [f"{job.id}: {one_line(job.schedule)}: {render_action(job)}" for job in jobs]
    return confirm(f"Remove {'it' if len(jobs) == 1 else 'them'}?", "Removing jobs", lines=lines)


_LOOK_S = 0.1
_ENSURE_S = 5.0  # how often to check that a worker still runs what we wait for


@click.command("run")
@click.argument("id", required=False, default="")
@click.option("--once", is_flag=True, help="Run what is due now, and leave.")
@format_option
def run_command(id: str, once: bool) -> int:
    """Run jobs when they are due, until interrupted: a worker that tells of jobs. With ID, run that job now.

    A job that was due while no worker was running runs once, if that is no longer ago than its interval or an hour,
    whichever is less. Other runs that were missed are counted and not made up for. --format json prints a run per line.
    With ID and with --once a worker is started where none is, and goes on if this command is ended.
    """
    import anyio

    from clawft.cli.cron_report import CronReporter

    if id and once:
        raise click.UsageError("A job that is named runs once anyway: leave --once out")
    with open_cron() as cron:
        job = find_job(cron.runs.jobs.load(show_error), id) if id else None
        reporter = CronReporter(cron, as_json=is_json_asked(), answers=job is not None, stays=not (job or once))
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


async def _serve(cron: "CronJobs", reporter: "CronReporter") -> int:
    """Be a worker; the signal that ended it."""
    from clawft.cli.worker import make_plan, work_here

    plan = make_plan(cron.app)
    caught = await work_here(cron.app, plan, lambda text: say(one_line(text)), reporter.fired, reporter.look)
    await reporter.look()
    for run in reporter.open:
        say(f"{run} goes on when a worker is started: weft worker")
    return caught


async def _wait(cron: "CronJobs", reporter: "CronReporter") -> None:
    """Wait until everything that was started has ended, and make sure that a worker runs it. Raises: ClawftError."""
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
