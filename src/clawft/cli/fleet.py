"""`weft fleet`: run a skill on many inputs or scan many skills, and follow what comes of it."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import Struct

from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.app.jobs import open_app_runs
from clawft.cli.completion import complete_agents, complete_models, complete_skills
from clawft.cli.fleet_feed import (
    FeedOptions,
    FleetOutput,
    create_fleet,
    feed_options,
    follow_fleet,
    lines_path,
    print_next_steps,
    resume_fleet,
)
from clawft.cli.fleet_sources import find_scan_targets, write_targets
from clawft.cli.options import MODE_HELP, TurnOptions, format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.run_display import long_ago, when_words
from clawft.cli.skills.run import prepare_skill
from clawft.cli.turn import make_request
from clawft.errors import ClawftError
from clawft.jobs.run_state import Run, now_text

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.jobs.fleet_feed import CheckedInputs
    from clawft.jobs.fleets import Fleet, FleetStore
    from clawft.jobs.runs import Runs


_ORDER = ("done", "failed", "cancelled", "waiting", "running", "queued")


class FleetSummary(Struct, frozen=True):
    """A fleet, and how many runs of it there are of each status. `all_started`: no line waits to become one."""

    fleet: "Fleet"
    counts: dict[str, int]
    all_started: bool

    @property
    def status(self) -> Literal["running", "waiting", "left", "failed", "done"]:
        """`left`: nothing of it is under way, and lines of it are not begun."""
        if self.counts.get("queued") or self.counts.get("running"):
            return "running"
        if not self.all_started:
            return "left"
        if self.counts.get("waiting"):
            return "waiting"
        return "failed" if self.counts.get("failed") or self.counts.get("cancelled") else "done"

    def describe(self) -> str:
        return ", ".join(f"{self.counts[status]:,} {status}" for status in _ORDER if self.counts.get(status)) or "none"


def load_summary(runs: "Runs", store: "FleetStore", fleet: "Fleet") -> FleetSummary:
    """Raises: ClawftError."""
    return FleetSummary(fleet, runs.store.counts(fleet.id), store.last_line(fleet.id) >= fleet.spec.last)


def fleet_json(summary: FleetSummary) -> dict[str, Any]:
    """Return the summary of a fleet as JSON."""
    fleet = summary.fleet
    return {
        "id": fleet.id,
        "kind": fleet.kind,
        "status": summary.status,
        "title": fleet.spec.title,
        "lines": fleet.total,
        "runs": {status: summary.counts.get(status, 0) for status in _ORDER},
        "created": fleet.created,
        "queue": fleet.spec.queue,
        "inputs": fleet.spec.path,
        "output": fleet.spec.output or None,
    }


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
    help=MODE_HELP,
)
@click.option("--yes", "-y", is_flag=True, help="Allow what tools ask for; what a policy forbids stays so.")
@click.option("--limit", type=click.IntRange(min=0), default=0, metavar="N", help="Only the first N lines.")
@click.option("--skip-bad", is_flag=True, help="Lines that cannot be read are failures, and the others are done.")
def run_command(**values: Any) -> int:
    """Run a skill once for each line of a file, over all workers.

    A line is a JSON text, the arguments; or an object with `args` (a text, or a list of words) or `text`, whose other
    keys are yours; or any other object, which as a whole is the argument. Blank lines are passed over.

    Each result is one line of JSON, in the order of the inputs. Ctrl-C leaves what is begun running; --resume goes on.

    Exit code: 0, or 1 if any line failed or waits for a person.
    """
    options = FeedOptions(**{name: values.pop(name) for name in FeedOptions.__struct_fields__})
    wanted = _Asked(**values)
    if options.goes_on:
        options.check_alone(wanted != _Asked())
        return resume_fleet(options)
    if not wanted.skill or not wanted.inputs:
        raise click.UsageError("Name a skill and its inputs: --skill NAME --inputs FILE.jsonl")

    app = open_here()
    prepare_skill(app, wanted.skill, yes=wanted.yes)
    checked = _check(wanted)
    runs = open_app_runs(app)
    try:
        with FleetOutput(options.output) as output:
            fleet = _begin_run(app, runs, options, wanted, checked)
            output.clear()
            return follow_fleet(runs, fleet, output, options)
    finally:
        runs.close()


def _check(wanted: _Asked) -> "CheckedInputs":
    """Check the inputs and return them. Raises: ClawftError if a line is not a valid input."""
    from clawft.jobs.fleet_feed import check_inputs

    checked = check_inputs(os.path.abspath(wanted.inputs), wanted.limit)
    if not checked.total:
        raise ClawftError("fleet-inputs", "There are no inputs", path=wanted.inputs)
    if checked.bad_total and not wanted.skip_bad:
        for line in checked.bad:
            say(one_line(f"{wanted.inputs}:{line.line}: {line.reason}"))
        message = f"{checked.bad_total} of {checked.total} lines are no inputs, so nothing was started"
        hint = "Mend them, or leave them out with --skip-bad"
        raise ClawftError("fleet-lines", message, path=wanted.inputs, line=checked.bad[0].line, hint=hint)
    return checked


def _begin_run(app: "App", runs: "Runs", options: FeedOptions, wanted: _Asked, checked: "CheckedInputs") -> "Fleet":
    from clawft.jobs.fleets import Fleet, FleetSpec, new_fleet_id

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
    return create_fleet(app, runs, Fleet(new_fleet_id(), "run", spec, checked.total, now_text()))


@click.command("scan")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...", type=click.Path(allow_dash=True))
@feed_options
@click.option("--fresh", is_flag=True, help="Scan again what was scanned before and has not changed.")
def scan_command(sources: tuple[str, ...], fresh: bool, **values: Any) -> int:
    """Scan many skills over all workers: one line of JSON for each, in order. Nothing of them is run.

    SOURCE is a skill, a folder of skills at any depth, an archive, or a list: a file that ends in .txt, .list or .lst,
    or @FILE, or - for stdin, with one path on each line. Workers must see the same paths as this command.

    A worker scans with one core; --workers sees to as many as there are cores.

    Exit code: 0, or 1 if anything could not be scanned. Verdicts do not change it.
    """
    options = FeedOptions(**values)
    if options.goes_on:
        options.check_alone(bool(sources or fresh))
        return resume_fleet(options)
    if not sources:
        raise click.UsageError("Name what to scan: folders, archives, or lists of them")

    app = open_here()
    runs = open_app_runs(app)
    try:
        with FleetOutput(options.output) as output:
            fleet = _begin_scan(app, runs, options, sources, fresh=fresh)
            output.clear()
            return follow_fleet(runs, fleet, output, options)
    finally:
        runs.close()


def _begin_scan(app: "App", runs: "Runs", options: FeedOptions, sources: tuple[str, ...], *, fresh: bool) -> "Fleet":
    from clawft.jobs.fleet_feed import check_file, find_last_batch
    from clawft.jobs.fleets import Fleet, FleetSpec, new_fleet_id

    name = new_fleet_id()
    path = lines_path(app, name)
    total = write_targets(path, find_scan_targets(sources))
    if not total:
        os.unlink(path)
        raise ClawftError("fleet-inputs", "There is nothing to scan", hint="Name folders of skills, archives or lists")
    size, digest = check_file(path)
    spec = FleetSpec(
        title=one_line(f"scan of {', '.join(sources)}")[:200],
        path=path,
        size=size,
        digest=digest,
        last=find_last_batch(total),
        request=RunRequest(kind="scan", cwd=app.workspace.cwd),
        queue=options.queue or runs.settings.queue,
        output=os.path.abspath(options.output) if options.output else "",
        fresh=fresh,
    )
    return create_fleet(app, runs, Fleet(name, "scan", spec, total, now_text()))


@click.command("list")
@format_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The newest so many.")
def list_command(limit: int) -> CommandResult:
    """List fleets, the newest first."""
    from clawft.jobs.fleets import FleetStore

    runs = open_app_runs(open_here())
    try:
        store = FleetStore(runs.database)
        found = [load_summary(runs, store, fleet) for fleet in store.list(limit)]
    finally:
        runs.close()

    def show() -> None:
        if not found:
            say("There are no fleets. Run: weft fleet run --skill NAME --inputs FILE.jsonl")
            return
        heads = ("FLEET", "STATUS", "LINES", "WHEN", "RUNS", "WHAT")
        rows = []
        for summary in found:
            lines, when = f"{summary.fleet.total:,}", long_ago(summary.fleet.created)
            rows.append((summary.fleet.id, summary.status, lines, when, summary.describe(), summary.fleet.spec.title))
        print_table(heads, rows, wide=5)

    return CommandResult("clawft.fleets.v1", {"fleets": [fleet_json(fleet) for fleet in found]}, show)


_TROUBLE = ("failed", "cancelled", "waiting")


@click.command("show")
@click.argument("fleet")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Runs that are named.")
@format_option
def show_command(fleet: str, limit: int) -> CommandResult:
    """Tell how far a fleet is, and which of its runs failed or wait for a person."""
    from clawft.jobs.fleets import FleetStore

    def describe(run: Run) -> dict[str, Any]:
        error = {"code": run.error.code, "message": run.error.message} if run.error else None
        return {"run": run.id, "line": run.line, "status": run.status, "error": error}

    runs = open_app_runs(open_here())
    try:
        store = FleetStore(runs.database)
        summary = load_summary(runs, store, store.get(fleet))
        trouble = store.runs(summary.fleet.id, statuses=_TROUBLE, limit=limit)
    finally:
        runs.close()
    document = {**fleet_json(summary), "trouble": [describe(run) for run in trouble]}
    return CommandResult("clawft.fleet.v1", document, lambda: _show(summary, trouble))


def _show(summary: FleetSummary, trouble: Sequence[Run]) -> None:
    spec = summary.fleet.spec
    click.echo(one_line(f"{summary.fleet.id}  {summary.status}  {spec.title}"))
    started = when_words(summary.fleet.created)
    click.echo("  " + one_line(f"{summary.fleet.total:,} lines of {spec.path}, started {started}"))
    click.echo(f"  runs: {summary.describe()}")
    if spec.output:
        click.echo("  " + one_line(f"results: {spec.output}"))
    for run in trouble:
        reason = f": {run.error.message} [{run.error.code}]" if run.error else ""
        click.echo("  " + one_line(f"line {run.line}  {run.status}  {run.id}{reason}"))
    counts = summary.counts
    failed = counts.get("failed", 0) + counts.get("cancelled", 0)
    if (more := failed + counts.get("waiting", 0) - len(trouble)) > 0:
        click.echo(f"  … and {more} more: --limit")
    print_next_steps(summary.fleet, failed=failed, waiting=counts.get("waiting", 0) or int(summary.status == "left"))


_OPEN = ("queued", "running", "waiting")


@click.command("cancel")
@click.argument("fleet")
@format_option
def cancel_command(fleet: str) -> CommandResult:
    """Cancel all unfinished runs of a fleet. Stop the command that feeds it first (Ctrl-C), or it starts others."""
    from clawft.jobs.fleets import FleetStore

    runs = open_app_runs(open_here())
    ended = line = 0
    try:
        store = FleetStore(runs.database)
        found = store.get(fleet)
        while page := store.runs(found.id, after=line, statuses=_OPEN):
            for run in page:
                runs.store.ask_to_cancel(run.id)
            ended, line = ended + len(page), page[-1].line
        summary = load_summary(runs, store, found)
    finally:
        runs.close()

    def show() -> None:
        many = f"{ended} run{'s' * (ended != 1)} {'are' if ended != 1 else 'is'}"
        say(f"{many} ended, or about to be" if ended else "Nothing of it was under way")
        if ended:
            say(f"to have them done after all: weft fleet {found.kind} --retry {found.id}")

    return CommandResult("clawft.fleets.v1", {"fleets": [fleet_json(summary)]}, show)
