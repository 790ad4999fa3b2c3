"""`weft fleet run`: a skill on many inputs, one run for each line."""

import os
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from clawft.cli._complete import complete_agents, complete_models, complete_skills
from clawft.cli.fleet._options import FeedOptions, feed_options
from clawft.cli.fleet._output import Output
from clawft.cli.output import one_line, say
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.fleets import Fleet
    from clawft.run.durable.inputs import Checked
    from clawft.run.durable.runs import Runs

__all__ = ["command"]


class _Asked(Struct, frozen=True):
    skill: str = ""
    inputs: str = ""
    agent: str = ""
    model: str = ""
    mode: str = ""
    yes: bool = False
    limit: int = 0
    skip_bad: bool = False


@click.command("run")
@click.option("--skill", metavar="NAME", default="", help="The skill to run.", shell_complete=complete_skills)
@click.option("--inputs", metavar="FILE", default="", type=click.Path(), help="One JSON value on each line.")
@feed_options
@click.option("--agent", "-a", metavar="NAME", default="", help="Which agent does it.", shell_complete=complete_agents)
@click.option(
    "--model", metavar="PROVIDER/MODEL", default="", help="Which model answers.", shell_complete=complete_models
)
@click.option(
    "--mode",
    type=click.Choice(["plan", "ask", "auto-edit", "full"]),
    callback=lambda _context, _option, mode: mode or "",
    help="What is done unasked: nothing but looking, nothing that acts, edits of the project, or all.",
)
@click.option("--yes", "-y", is_flag=True, help="Allow what tools ask for; what a policy forbids stays so.")
@click.option("--limit", type=click.IntRange(min=0), default=0, metavar="N", help="Only the first N lines.")
@click.option("--skip-bad", is_flag=True, help="Lines that cannot be read are failures, and the others are done.")
def command(**given: Any) -> int:
    """Run a skill once for each line of a file, over all workers.

    A line is a JSON text, the arguments; or an object with `args` (a text, or a list of words) or `text`, whose other
    keys are yours; or any other object, which as a whole is the argument. Blank lines are passed over.

    Each result is one line of JSON, in the order of the inputs. Ctrl-C leaves what is begun running; --resume goes on.

    Exit code: 0, or 1 if any line failed or waits for a person.
    """
    from clawft.cli.fleet._follow import follow, go_on

    options = FeedOptions(**{name: given.pop(name) for name in FeedOptions.__struct_fields__})
    wanted = _Asked(**given)
    if options.goes_on:
        options.check_alone(wanted != _Asked())
        return go_on(options)
    if not wanted.skill or not wanted.inputs:
        raise click.UsageError("Name a skill and its inputs: --skill NAME --inputs FILE.jsonl")
    from clawft.cli.options import open_here
    from clawft.cli.skills.run import make_ready
    from clawft.working import open_app_runs

    app, _ = make_ready(open_here(), wanted.skill, yes=wanted.yes)
    checked = _check(wanted)
    runs = open_app_runs(app)
    try:
        with Output(options.output) as output:
            fleet = _begin(app, runs, options, wanted, checked)
            output.clear()
            return follow(runs, fleet, output, options)
    finally:
        runs.close()


def _check(wanted: _Asked) -> "Checked":
    """What the inputs are. Raises: ClawftError if a line is none."""
    from clawft.run.durable.inputs import check_inputs

    checked = check_inputs(os.path.abspath(wanted.inputs), wanted.limit)
    if not checked.total:
        raise ClawftError("fleet-inputs", "There are no inputs", path=wanted.inputs)
    if checked.bad_total and not wanted.skip_bad:
        for one in checked.bad:
            say(one_line(f"{wanted.inputs}:{one.line}: {one.reason}"))
        message = f"{checked.bad_total} of {checked.total} lines are no inputs, so nothing was started"
        hint = "Mend them, or leave them out with --skip-bad"
        raise ClawftError("fleet-lines", message, path=wanted.inputs, line=checked.bad[0].line, hint=hint)
    return checked


def _begin(app: "App", runs: "Runs", options: FeedOptions, wanted: _Asked, checked: "Checked") -> "Fleet":
    from clawft.cli.background import make_request
    from clawft.cli.fleet._begin import begin
    from clawft.cli.options import TurnOptions
    from clawft.run import TurnRequest
    from clawft.run.durable.fleets import Fleet, FleetSpec, new_fleet_id
    from clawft.run.durable.values import now_text

    turn = TurnOptions(agent=wanted.agent, model=wanted.model, mode=wanted.mode, yes=wanted.yes)
    request = make_request(app, turn, TurnRequest("", model=wanted.model, skill=wanted.skill))
    spec = FleetSpec(
        title=f"/{wanted.skill} on {os.path.basename(wanted.inputs)}",
        path=os.path.abspath(wanted.inputs),
        size=checked.size,
        digest=checked.digest,
        last=checked.last,
        request=request,
        queue=options.queue or runs.settings.queue,
        output=os.path.abspath(options.output) if options.output else "",
        limit=wanted.limit,
        skip_bad=wanted.skip_bad,
    )
    return begin(app, runs, Fleet(new_fleet_id(), "run", spec, checked.total, now_text()))
