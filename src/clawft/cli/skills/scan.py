"""`weft skills scan`: what skills would do and whether they attack."""

import os
from collections.abc import Callable
from typing import Any

import click

from clawft.app.app import App
from clawft.cli.completion import complete_models, complete_skills
from clawft.cli.options import dir_option, open_here
from clawft.cli.output import one_line, say
from clawft.cli.scan import ScanOptions, path_targets, run_scan, scan_options
from clawft.config.registries import list_registries
from clawft.errors import NotFound, find_close
from clawft.scanner.batch import ScannedPath, find_enclosing_skill
from clawft.scanner.findings import Report
from clawft.skills.discovery import DiscoveredSkill


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
        wanted = [target for named in targets if named not in references for target in _find(app, named)]
    else:
        wanted = [_target(found) for found in app.catalog.found]
    ask = _open_judge(app, model) if judge or model else None
    if references:
        return _scan_references(app, references, wanted, ScanOptions(**options), ask)
    return run_scan(wanted, ScanOptions(**options), app.scan_dir, ask)


def _scan_references(
    app: App,
    references: list[str],
    others: list[ScannedPath],
    options: ScanOptions,
    ask: Callable[[Report], Report] | None,
) -> int:
    """Scan fetched skills together with local ones. A registry's verdict can only make the result worse.

    Raises: ClawftError.
    """
    from clawft.cli.skills.registry import fetch_references, print_downloads

    with fetch_references(app, references) as brought:
        code = run_scan([*others, *(ScannedPath(skill.folder) for skill in brought)], options, None, ask)
        malicious = print_downloads(brought)
    return 3 if malicious and options.fail_on != "never" else code


def _is_reference(app: App, named: str) -> bool:
    """Return whether it is nothing here: neither a path nor a skill's name. A bare word is never looked for
    elsewhere."""
    if os.path.lexists(os.path.join(app.workspace.cwd, os.path.expanduser(named))):
        return False
    if "://" in named or named.startswith(("@", "git@", "git+")):
        return True
    if "/" in named:
        return not named.startswith(("/", "./", "../", "~/"))
    prefix, colon, bare = named.partition(":")
    if not colon:
        return "@" in named
    registries = list_registries(app.own_config.registries)
    here = any(skill.name == bare and skill.location.matches_reference(prefix) for skill in app.catalog.found)
    return prefix in registries and not here


def _open_judge(app: App, model: str) -> Callable[[Report], Report]:
    """A model's opinion on each report. What the skill holds is sent to it. Raises: ClawftError."""
    import anyio

    from clawft.agent.judge import check_judge, judge_skill

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


def _find(app: App, named: str) -> list[ScannedPath]:
    """Find what a word names: a path if it exists, else a skill's name. Raises: NotFound."""
    path = os.path.join(app.workspace.cwd, os.path.expanduser(named))
    if not os.path.lexists(path) and "/" not in named:
        return _find_named(app, named)
    holder = find_enclosing_skill(path, app.workspace.cwd) if os.path.isfile(path) else None
    return [ScannedPath(holder)] if holder else path_targets(named)


def _find_named(app: App, reference: str) -> list[ScannedPath]:
    """Every skill of a name, or of `scope:name`, usable or not. Whether it may be used is not asked: that scans too.

    Raises: NotFound with the close match.
    """
    scope, colon, bare = reference.rpartition(":")
    found = app.catalog.found
    named = [skill for skill in found if skill.name == bare and (not colon or skill.location.matches_reference(scope))]
    if not named:
        close = find_close(bare, (skill.name for skill in found))
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft skills list; a folder is named by its path"
        hint += ", what a registry has by clawhub:NAME"
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=hint)
    return [_target(skill) for skill in named]


def _target(found: DiscoveredSkill) -> ScannedPath:
    return ScannedPath(found.base_dir or found.file)
