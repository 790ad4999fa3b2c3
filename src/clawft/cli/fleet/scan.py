"""`weft fleet scan`: many skills, scanned by all workers."""

import os
from typing import TYPE_CHECKING, Any

import click

from clawft.cli.fleet._options import FeedOptions, feed_options
from clawft.cli.fleet._output import Output
from clawft.cli.output import one_line
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.fleets import Fleet
    from clawft.run.durable.runs import Runs

__all__ = ["command"]


@click.command("scan")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...", type=click.Path(allow_dash=True))
@feed_options
@click.option("--fresh", is_flag=True, help="Scan again what was scanned before and has not changed.")
def command(sources: tuple[str, ...], fresh: bool, **given: Any) -> int:
    """Scan many skills over all workers: one line of JSON for each, in order. Nothing of them is run.

    SOURCE is a skill, a folder of skills at any depth, an archive, or a list: a file that ends in .txt, .list or .lst,
    or @FILE, or - for stdin, with one path on each line. Workers must see the same paths as this command.

    A worker scans with one core; --workers sees to as many as there are cores.

    Exit code: 0, or 1 if anything could not be scanned. Verdicts do not change it.
    """
    from clawft.cli.fleet._follow import follow, go_on

    options = FeedOptions(**given)
    if options.goes_on:
        options.check_alone(bool(sources or fresh))
        return go_on(options)
    if not sources:
        raise click.UsageError("Name what to scan: folders, archives, or lists of them")
    from clawft.cli.options import open_here
    from clawft.working import open_app_runs

    app = open_here()
    runs = open_app_runs(app)
    try:
        with Output(options.output) as output:
            fleet = _begin(app, runs, options, sources, fresh=fresh)
            output.clear()
            return follow(runs, fleet, output, options)
    finally:
        runs.close()


def _begin(app: "App", runs: "Runs", options: FeedOptions, sources: tuple[str, ...], *, fresh: bool) -> "Fleet":
    from clawft.cli.fleet._begin import begin, lines_path
    from clawft.cli.fleet._sources import find_all, write_targets
    from clawft.run.durable.fleets import Fleet, FleetSpec, new_fleet_id
    from clawft.run.durable.inputs import check_file, find_last_batch
    from clawft.run.durable.request import RunRequest
    from clawft.run.durable.values import now_text

    name = new_fleet_id()
    path = lines_path(app, name)
    total = write_targets(path, find_all(sources))
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
    return begin(app, runs, Fleet(name, "scan", spec, total, now_text()))
