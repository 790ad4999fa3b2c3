"""`weft skills scan`: what skills would do and whether they attack."""

import os
from collections.abc import Callable
from typing import Any

import click

from clawft.app import App
from clawft.cli._complete import complete_models, complete_skills
from clawft.cli.options import dir_option, open_here
from clawft.cli.output import one_line, say
from clawft.cli.scan._options import ScanOptions, scan_options
from clawft.cli.scan._run import run_scan
from clawft.cli.scan.path import path_targets
from clawft.discovery import Found
from clawft.errors import NotFound, find_close
from clawft.scan.findings import Report
from clawft.scan.targets import Target, holding_skill

__all__ = ["command"]


@click.command("scan")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=complete_skills)
@scan_options
@click.option("--judge", is_flag=True, help="Ask the configured language model too; it can only make a verdict worse.")
@click.option(
    "--model", metavar="PROVIDER/MODEL", default="", help="Which model judges.", shell_complete=complete_models
)
@dir_option
def command(targets: tuple[str, ...], dirs: tuple[str, ...], judge: bool, model: str, **options: Any) -> int:
    """Tell what skills would do, and whether they attack. Nothing of them is run.

    NAME is a skill that `weft skills list` shows, PATH a skill, a folder of skills, an archive, or a file: then the
    skill that holds it is scanned. Without any, all skills found. `weft help scan` tells more.

    Exit code: 0, or 3 when a verdict is `malicious` (see --fail-on), or 1 when something could not be scanned.
    """
    app = open_here(dirs)
    if targets:
        wanted = [one for named in targets for one in _find(app, named)]
    else:
        wanted = [_target(found) for found in app.catalog.found]
    ask = _open_judge(app, model) if judge or model else None
    return run_scan(wanted, ScanOptions(**options), app.scan_dir, ask)


def _open_judge(app: App, model: str) -> Callable[[Report], Report]:
    """A model's opinion on each report. What the skill holds is sent to it. Raises: ClawftError."""
    import anyio

    from clawft.run.judge import check_judge, judge_skill

    def judge(report: Report) -> Report:
        if report.failed or report.verdict == "malicious":
            return report
        try:
            judged = anyio.run(judge_skill, report, app.config, app.environ, app.workspace.project, model)
        except OSError as error:
            say(f"note: {one_line(report.name)}: it was not judged: {error.strerror}")
            return report
        say(f"note: {one_line(report.name)}: {one_line(judged.note)}")
        return judged.report

    check_judge(app.config, app.environ, model)
    return judge


def _find(app: App, named: str) -> list[Target]:
    """What a word means: a path if there is one, else a skill's name. Raises: NotFound."""
    path = os.path.join(app.workspace.cwd, os.path.expanduser(named))
    if not os.path.lexists(path) and "/" not in named:
        return _find_named(app, named)
    holder = holding_skill(path, app.workspace.cwd) if os.path.isfile(path) else None
    return [Target(holder)] if holder else path_targets(named)


def _find_named(app: App, reference: str) -> list[Target]:
    """Every skill of a name, or of `scope:name`, usable or not. Whether it may be used is not asked: that scans too.

    Raises: NotFound with the close match.
    """
    scope, colon, bare = reference.rpartition(":")
    found = app.catalog.found
    named = [one for one in found if one.name == bare and (not colon or one.location.goes_by(scope))]
    if not named:
        close = find_close(bare, (one.name for one in found))
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft skills list; a folder is named by its path"
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=hint)
    return [_target(one) for one in named]


def _target(found: Found) -> Target:
    return Target(found.base_dir or found.file)
