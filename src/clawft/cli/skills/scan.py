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
from clawft.config.registries import own_registries
from clawft.discovery import Found
from clawft.errors import NotFound, find_close
from clawft.scan.findings import Report
from clawft.scan.targets import Target, holding_skill

__all__ = ["command"]


@click.command("scan")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH|REF]...", shell_complete=complete_skills)
@scan_options
@click.option("--judge", is_flag=True, help="Ask the configured language model too; it can only make a verdict worse.")
@click.option(
    "--model", metavar="PROVIDER/MODEL", default="", help="Which model judges.", shell_complete=complete_models
)
@dir_option
def command(targets: tuple[str, ...], dirs: tuple[str, ...], judge: bool, model: str, **options: Any) -> int:
    """Tell what skills would do, and whether they attack. Nothing of them is run.

    NAME is a skill that `weft skills list` shows, PATH a skill, a folder of skills, an archive, or a file: then the
    skill that holds it is scanned. REF is what `weft skills install` takes, such as @owner/skill, clawhub:skill or
    owner/repository: it is downloaded, scanned and forgotten. Without any, all skills found. `weft help scan` tells
    more.

    Exit code: 0, or 3 when a verdict is `malicious` (see --fail-on), or 1 when something could not be scanned.
    """
    app = open_here(dirs)
    references = [named for named in targets if _is_reference(app, named)]
    if targets:
        wanted = [one for named in targets if named not in references for one in _find(app, named)]
    else:
        wanted = [_target(found) for found in app.catalog.found]
    ask = _open_judge(app, model) if judge or model else None
    if references:
        return _scan_references(app, references, wanted, ScanOptions(**options), ask)
    return run_scan(wanted, ScanOptions(**options), app.scan_dir, ask)


def _scan_references(
    app: App,
    references: list[str],
    others: list[Target],
    options: ScanOptions,
    ask: Callable[[Report], Report] | None,
) -> int:
    """What is somewhere else, with what is here. A registry's word can only make it worse. Raises: ClawftError."""
    from clawft.cli.skills._scan_references import bring, tell_brought

    with bring(app, references) as brought:
        code = run_scan([*others, *(Target(one.folder) for one in brought)], options, None, ask)
        malicious = tell_brought(brought)
    return 3 if malicious and options.fail_on != "never" else code


def _is_reference(app: App, named: str) -> bool:
    """Whether it is nothing here: neither a path nor a skill's name. A bare word is never looked for elsewhere."""
    if os.path.lexists(os.path.join(app.workspace.cwd, os.path.expanduser(named))):
        return False
    if "://" in named or named.startswith(("@", "git@", "git+")):
        return True
    if "/" in named:
        return not named.startswith(("/", "./", "../", "~/"))
    prefix, colon, bare = named.partition(":")
    if not colon:
        return "@" in named
    registries = own_registries(app.config, app.workspace.user_dir, app.environ)
    here = any(one.name == bare and one.location.goes_by(prefix) for one in app.catalog.found)
    return prefix in registries and not here


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
        hint += ", what a registry has by clawhub:NAME"
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=hint)
    return [_target(one) for one in named]


def _target(found: Found) -> Target:
    return Target(found.base_dir or found.file)
