"""`weft cron add SCHEDULE`: a message or a skill that is to run by itself."""

import shlex
from datetime import datetime
from itertools import islice

import click
import msgspec
from msgspec.structs import replace

from clawft.app import App
from clawft.cli._complete import complete_agents, complete_models, complete_skills
from clawft.cli.cron._open import find_unserved, job_json, open_cron, say_unserved, show_time
from clawft.cli.options import check_queue, format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cron import find_zone, make_job, name_zone
from clawft.cron.jobs import Task

__all__ = ["command"]

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
def command(
    schedule: str, args: tuple[str, ...], message: str | None, name: str, queue: str, output: str, **given: object
) -> None:
    """Run a message or a skill by itself, in this project, on SCHEDULE.

    SCHEDULE is '0 9 * * 1-5' (minute, hour, day, month, weekday), @hourly, @daily, @weekly, @monthly,
    'every 10m' (or 2h, 1d), or 'at 2026-12-01T09:00', in the time zone of this machine, which the job keeps.
    """
    task = msgspec.convert({**given, "text": shlex.join(args) if message is None else message}, Task)
    _check_usage(task, args, message, name)
    app = open_here()
    _check_names(app, task)
    zone = find_zone(app.environ)
    job = make_job(schedule, task, name=name, cwd=app.workspace.project, now=datetime.now(zone), zone=zone)
    with open_cron(app) as cron:
        job = replace(job, zone=name_zone(app.environ), queue=queue or cron.runs.settings.queue)
        cron.runs.jobs.add([job])
        times = list(islice(job.parse_schedule(zone).times(job.created), _SHOWN))
        unserved = find_unserved(cron.runs, [job])
    if output == "json":
        shown = {**job_json(job, cron), "times": msgspec.to_builtins(times)}
        return print_json("clawft.cron.add.v1", job=shown, scheduler_running=not unserved)
    click.echo(job.id)
    say(f"next: {', '.join(show_time(one, zone) for one in times)}")
    say_unserved(unserved)
    return None


def _check_usage(task: Task, args: tuple[str, ...], message: str | None, name: str) -> None:
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


def _check_names(app: App, task: Task) -> None:
    """Whatever a job names must be there now. Raises: ClawftError."""
    if task.skill:
        standing = app.get_skill(task.skill)
        if not standing.user_may_invoke:
            why = "is not for users to start" if standing.usable else f"is {standing.state}"
            say(f"note: the skill '{one_line(standing.name)}' {why} now. Run: weft skills why {one_line(task.skill)}")
    if task.agent:
        app.choose_agent(task.agent)
    if task.model:
        from clawft.providers.select import check_model

        check_model(task.model, app.config.providers, app.environ)
    if task.session:
        from clawft.sessions.keys import encode_key

        encode_key(task.session)
