"""`weft plugins install SOURCE`: a plugin from a folder, an archive or a repository; nothing of it runs."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.plugins._json import permissions_json, plugin_json
from clawft.cli.plugins._words import brought_lines, kind_line, nothing_line, permission_lines, permission_words
from clawft.cli.plugins.enable import enable_plugins
from clawft.contracts import Permissions
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic
from clawft.plugging import find_plugin, load_found, load_plugin_contents, load_plugin_standings
from clawft.plugins.install import Staged, place_plugin, stage_plugin
from clawft.trust.plugin_fit import check_fit
from clawft.trust.plugins import compare_permissions
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.sources.model import Reference
    from clawft.sources.whole import Fetched

__all__ = ["command"]


@click.command("install")
@click.argument("source", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Look at it, and install nothing.")
@click.option("--yes", "-y", is_flag=True, help="Put it in the place of the one that is there without being asked.")
@format_option
def command(source: str, dry_run: bool, yes: bool, output: str) -> int:
    """Install a plugin: its files are put into ~/.clawft/plugins. SOURCE is a folder, a .zip or a .tar.gz, or the
    https address of one; or a git repository: owner/repo[/folder][#ref], an address with git+ before it, git@host:path.

    Nothing of it runs, and nothing is granted: `weft plugins enable` does that. A plugin of the same id is replaced,
    at once and only when the new one is whole.
    """
    app = open_here()
    came: list[Fetched] = []
    place, fetch = _find_source(app, source, came)
    if fetch is not None and output == "table":
        say(one_line(f"Fetching {place}"))
    with stage_plugin(place, os.path.join(app.workspace.user_dir, "plugins"), load_found(app), fetch) as staged:
        _check_signatures(app, staged)
        said = _check(app, staged)
        if output == "table":
            for line in (*_lines(app, staged), *map(_origin_line, came)):
                say(line)
            for problem in said:
                show_diagnostic(problem, where="")
        if dry_run:
            _tell(app, staged, output, (said, came), installed=False)
            return 0
        if staged.old is not None and not yes and not _ask(staged):
            say("Nothing was installed")
            return 1
        detail = {"from": place} | ({"commit": came[0].commit} if came and came[0].commit else {})
        app.audit.write("plugin", f"install {staged.target}", decision="done", detail=detail)
        place_plugin(staged)
    _tell(app, staged, output, (said, came), installed=True)
    return _offer(staged) if output == "table" else 0


def _find_source(app: App, source: str, came: "list[Fetched]") -> tuple[str, Callable[[str], None] | None]:
    """A path of this machine; or an address, and what fetches it and adds to `came`. Raises: ClawftError.

    What could be a path is one wherever its first folder is there.
    """
    home, cwd = app.workspace.home, os.getcwd()
    place = resolve_path(source, cwd, home)
    elsewhere = any(sign in source for sign in ("://", "git@", "github:", "gitlab:"))
    top = source.partition("/")[0]
    if os.path.lexists(place) or (not elsewhere and ("/" not in source or not top or os.path.lexists(top))):
        return place, None
    from clawft.sources.reference import parse_reference

    reference = parse_reference(source, {}, cwd, home)
    if reference.kind not in ("git", "archive"):
        hint = "Give a folder, a .zip, a .tar.gz or the address of one, or a git repository"
        raise ClawftError("plugin-source", "A plugin is not installed from there", path=reference.url, hint=hint)
    if "://" not in reference.url and reference.kind == "archive":
        return reference.url, None
    return reference.url, partial(_fetch, app, reference, came)


def _fetch(app: App, reference: "Reference", came: "list[Fetched]", folder: str) -> None:
    """Raises: ClawftError."""
    import anyio

    from clawft.packing.limits import PLUGIN
    from clawft.sources.whole import fetch_whole

    came.append(anyio.run(fetch_whole, reference, folder, PLUGIN, app.config.tools.web, app.launcher))


def _ask(staged: Staged) -> bool:
    """Whether a person agrees. Raises: Refused where there is nobody to ask."""
    return confirm(f"Put it in the place of the {staged.found.id} that is there?", "Replacing a plugin")


def _lines(app: App, staged: Staged) -> list[str]:
    """What is to be installed, and how it differs from what is there."""
    manifest = staged.found.manifest
    assert manifest is not None
    old = staged.old.manifest if staged.old else None
    version = f"{old.version} → {manifest.version}" if old and old.version != manifest.version else manifest.version
    about = [f"  {one_line(manifest.description)}"] if manifest.description else []
    head = one_line(f"{manifest.id} {version}, to {app.workspace.shorten(staged.target)}")
    brings = brought_lines(manifest, load_plugin_contents(app, staged.found))
    return [head, *about, f"Runs: {kind_line(staged.found)}", *brings, *_permission_lines(staged)]


def _check(app: App, staged: Staged) -> list[Diagnostic]:
    """What its manifest says in vain, and what it would lack here."""
    found = staged.found
    assert found.manifest is not None
    fit = check_fit(found, found.manifest.permissions, app.workspace, app.config.tools.web)
    return [*found.manifest.diagnostics, *fit]


def _check_signatures(app: App, staged: Staged) -> None:
    """What would not be installed as a skill does not come in a plugin either. Raises: Refused; ClawftError."""
    from clawft.discovery.digest import compute_digest
    from clawft.signing.check import check_signature, is_required, require_signature
    from clawft.signing.publishers import load_publishers
    from clawft.signing.statements import Statement, written_version

    user_dir = app.workspace.user_dir
    required = is_required(app.config, user_dir, app.environ)
    for one in load_plugin_contents(app, staged.found).skills:
        statement = Statement(one.name, written_version(one), compute_digest(one.folder).value)
        signature = check_signature(one.folder, statement, load_publishers(user_dir))
        require_signature(signature, required=required, path=os.path.relpath(one.folder, staged.found.folder))


def _permission_lines(staged: Staged) -> list[str]:
    assert staged.found.manifest is not None
    asked = staged.found.manifest.permissions
    before = staged.old.manifest.permissions if staged.old and staged.old.manifest else None
    new = set(permission_words(compare_permissions(before, asked))) if before is not None else set()
    lines = ["Asks for:", *permission_lines(asked, lambda key: "NEW" if key in new else "")]
    gone = permission_words(compare_permissions(asked, before)).values() if before is not None else ()
    return [
        *(lines if asked != Permissions() else [nothing_line(staged.found.manifest)]),
        *(f"No longer: {one_line(text)}" for text in gone),
    ]


def _origin_line(came: "Fetched") -> str:
    """What exactly came, so that the same can be had again."""
    what = f"commit {came.commit}" if came.commit else f"sha256 {came.archive}"
    return one_line(f"From: {came.url}, {what}")


def _tell(
    app: App, staged: Staged, output: str, facts: "tuple[list[Diagnostic], list[Fetched]]", *, installed: bool
) -> None:
    said, came = facts
    manifest = staged.found.manifest
    assert manifest is not None
    old = staged.old.manifest if staged.old else None
    if output == "json":
        fields: dict[str, Any] = {
            "id": manifest.id,
            "version": manifest.version,
            "previous_version": old.version if old else None,
            "path": staged.target,
            "installed": installed,
            "from": {"url": came[0].url, "commit": came[0].commit, "sha256": came[0].archive} if came else None,
            "diagnostics": [to_json(structs.replace(one, path=staged.target)) for one in said],
            "asked": permissions_json(manifest.permissions),
            "new": permissions_json(compare_permissions(old.permissions, manifest.permissions)) if old else None,
        }
        now = [one for one in load_plugin_standings(app.reopen()) if one.found.folder == staged.target]
        return print_json("clawft.plugins.install.v1", **fields, plugin=plugin_json(now[0]) if now else None)
    done = "Installed" if installed else "Would be installed"
    click.echo(one_line(f"{done}: {manifest.id} {manifest.version}"))
    return None


def _offer(staged: Staged) -> int:
    """Go on to look at it, where somebody sits there."""
    if sys.stdin is None or not sys.stdin.isatty():
        say(one_line(f"Look at it, then: weft plugins enable {staged.found.id}"))
        return 0
    if not click.confirm("Look at it, to put it into use?", default=True, err=True):
        return 0
    app = open_here()
    chosen = find_plugin(load_plugin_standings(app), staged.found.id)
    return enable_plugins(app, [chosen], yes=False, output="table")
