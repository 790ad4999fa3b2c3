"""`weft plugins install`, `remove` and `new`: the folders of plugins."""

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import click
from msgspec import structs

from clawft.app.app import App
from clawft.app.plugin_grants import revoke_plugin
from clawft.app.plugins import find_plugin, load_found, load_plugin_contents, load_plugin_statuses
from clawft.cli.completion import complete_folders, complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, print_result, say, say_lines, show_diagnostics
from clawft.cli.plugins.description import (
    permission_lines,
    permission_words,
    permissions_json,
    plugin_json,
    render_contents,
    render_kind,
    render_no_permissions,
)
from clawft.cli.plugins.enable import enable_plugins
from clawft.cli.plugins.settings import write_enabled
from clawft.cli.prompts import confirm
from clawft.config.extensions import PluginEntry
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import remove_folder
from clawft.install.archive.target import PLUGIN
from clawft.install.sources.git import fetch_whole
from clawft.install.sources.reference import parse_reference
from clawft.plugins.folder import KINDS, StagedPlugin, TemplateKind, make_plugin, place_plugin, stage_plugin
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import load_plugin
from clawft.trust.plugin_review import make_broken_error
from clawft.trust.plugins import PluginStatus, check_fit, compare_permissions
from clawft.trust.signing.publishers import SkillStatement, load_publishers, written_version
from clawft.trust.signing.signatures import check_signature, require_signature
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.install.sources.git import FetchedTree
    from clawft.install.sources.model import SkillReference


@click.command("install")
@click.argument("source", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Look at it, and install nothing.")
@click.option("--yes", "-y", is_flag=True, help="Put it in the place of the one that is there without being asked.")
@format_option
def install_command(source: str, dry_run: bool, yes: bool) -> CommandResult | int:
    """Install a plugin: its files are put into ~/.clawft/plugins. SOURCE is a folder, a .zip or a .tar.gz, or the
    https address of one; or a git repository: owner/repo[/folder][#ref], an address with git+ before it, git@host:path.

    Nothing of it runs, and nothing is granted: `weft plugins enable` does that. A plugin of the same id is replaced,
    at once and only when the new one is whole.
    """
    app = open_here()
    came: list[FetchedTree] = []
    place, fetch = _find_source(app, source, came)
    if fetch is not None and not is_json_asked():
        say(one_line(f"Fetching {place}"))
    with stage_plugin(place, os.path.join(app.workspace.user_dir, "plugins"), load_found(app), fetch) as staged:
        _check_signatures(app, staged)
        diagnostics = _check_install(app, staged)
        if not is_json_asked():
            say_lines((*_lines(app, staged), *map(_origin_line, came)))
            show_diagnostics(diagnostics)
        if dry_run:
            return _report(app, staged, diagnostics, came, installed=False)
        question = f"Put it in the place of the {staged.found.id} that is there?"
        if staged.old is not None and not yes and not confirm(question, "Replacing a plugin"):
            say("Nothing was installed")
            return 1
        detail = {"from": place} | ({"commit": came[0].commit} if came and came[0].commit else {})
        app.audit.write("plugin", f"install {staged.target}", decision="done", detail=detail)
        place_plugin(staged)
    result = _report(app, staged, diagnostics, came, installed=True)
    return result if is_json_asked() else _offer(staged, result)


def _find_source(app: App, source: str, came: "list[FetchedTree]") -> tuple[str, Callable[[str], None] | None]:
    """A path of this machine; or an address, and what fetches it and adds to `came`. Raises: ClawftError.

    What could be a path is one wherever its first folder is there.
    """
    home, cwd = app.workspace.home, os.getcwd()
    place = resolve_path(source, cwd, home)
    elsewhere = any(sign in source for sign in ("://", "git@", "github:", "gitlab:"))
    top = source.partition("/")[0]
    if os.path.lexists(place) or (not elsewhere and ("/" not in source or not top or os.path.lexists(top))):
        return place, None

    reference = parse_reference(source, {}, cwd, home)
    if reference.kind not in ("git", "archive"):
        hint = "Give a folder, a .zip, a .tar.gz or the address of one, or a git repository"
        raise ClawftError("plugin-source", "A plugin is not installed from there", path=reference.url, hint=hint)
    if "://" not in reference.url and reference.kind == "archive":
        return reference.url, None
    return reference.url, partial(_fetch, app, reference, came)


def _fetch(app: App, reference: "SkillReference", came: "list[FetchedTree]", folder: str) -> None:
    """Raises: ClawftError."""
    came.append(anyio.run(fetch_whole, reference, folder, PLUGIN, app.config.tools.web, app.host_programs))


def _lines(app: App, staged: StagedPlugin) -> list[str]:
    """Render what is to be installed, and how it differs from the installed version."""
    manifest = staged.found.manifest
    assert manifest is not None
    old = staged.old.manifest if staged.old else None
    version = f"{old.version} → {manifest.version}" if old and old.version != manifest.version else manifest.version
    about = [f"  {one_line(manifest.description)}"] if manifest.description else []
    head = one_line(f"{manifest.id} {version}, to {app.workspace.shorten(staged.target)}")
    brings = render_contents(manifest, load_plugin_contents(app, staged.found))
    return [head, *about, f"Runs: {render_kind(staged.found)}", *brings, *_permission_lines(staged)]


def _check_install(app: App, staged: StagedPlugin) -> list[Diagnostic]:
    """Check the staged plugin for entries of the manifest without effect, and for what it would lack here."""
    found = staged.found
    assert found.manifest is not None
    fit = check_fit(found, found.manifest.permissions, app.workspace, app.config.tools.web)
    return [*found.manifest.diagnostics, *fit]


def _check_signatures(app: App, staged: StagedPlugin) -> None:
    """Check the signatures of the plugin's skills: a skill that may not be installed alone may not come in a plugin.

    Raises: Refused, ClawftError.
    """
    user_dir = app.workspace.user_dir
    required = app.own_config.skills.security.require_signature
    for skill in load_plugin_contents(app, staged.found).skills:
        statement = SkillStatement(skill.name, written_version(skill), compute_digest(skill.folder).value)
        signature = check_signature(skill.folder, statement, load_publishers(user_dir))
        require_signature(signature, required=required, path=os.path.relpath(skill.folder, staged.found.folder))


def _permission_lines(staged: StagedPlugin) -> list[str]:
    assert staged.found.manifest is not None
    asked = staged.found.manifest.permissions
    before = staged.old.manifest.permissions if staged.old and staged.old.manifest else None
    new = set(permission_words(compare_permissions(before, asked))) if before is not None else set()
    lines = ["Asks for:", *permission_lines(asked, lambda key: "NEW" if key in new else "")]
    withdrawn = permission_words(compare_permissions(asked, before)).values() if before is not None else ()
    return [
        *(lines if asked != Permissions() else [render_no_permissions(staged.found.manifest)]),
        *(f"No longer: {one_line(text)}" for text in withdrawn),
    ]


def _origin_line(came: "FetchedTree") -> str:
    """Render the exact origin, so that the same content can be fetched again."""
    what = f"commit {came.commit}" if came.commit else f"sha256 {came.archive}"
    return one_line(f"From: {came.url}, {what}")


def _report(
    app: App, staged: StagedPlugin, diagnostics: list[Diagnostic], came: "list[FetchedTree]", *, installed: bool
) -> CommandResult:
    manifest = staged.found.manifest
    assert manifest is not None
    old = staged.old.manifest if staged.old else None
    fields: dict[str, Any] = {
        "id": manifest.id,
        "version": manifest.version,
        "previous_version": old.version if old else None,
        "path": staged.target,
        "installed": installed,
        "from": {"url": came[0].url, "commit": came[0].commit, "sha256": came[0].archive} if came else None,
        "diagnostics": [diagnostic_json(structs.replace(diagnostic, path=staged.target)) for diagnostic in diagnostics],
        "asked": permissions_json(manifest.permissions),
        "new": permissions_json(compare_permissions(old.permissions, manifest.permissions)) if old else None,
    }
    now = [status for status in load_plugin_statuses(app.refresh()) if status.found.folder == staged.target]

    text = one_line(f"{'Installed' if installed else 'Would be installed'}: {manifest.id} {manifest.version}")
    return CommandResult("clawft.plugins.install.v1", {**fields, "plugin": plugin_json(now[0]) if now else None}, text)


def _offer(staged: StagedPlugin, installed: CommandResult) -> CommandResult | int:
    """Tell that it is installed, and offer to review the plugin now, if a user is at the terminal."""
    print_result(installed, "table")
    if sys.stdin is None or not sys.stdin.isatty():
        say(one_line(f"Look at it, then: weft plugins enable {staged.found.id}"))
        return 0
    if not click.confirm("Look at it, to put it into use?", default=True, err=True):
        return 0
    app = open_here()
    chosen = find_plugin(load_plugin_statuses(app), staged.found.id)
    return enable_plugins(app, [chosen], yes=False)


@click.command("remove")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@click.option("--data", is_flag=True, help="Also the data that it kept.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(plugin_id: str, data: bool, dry_run: bool, yes: bool) -> CommandResult:
    """Remove a plugin from ~/.clawft/plugins, with what it was granted. Its data stays, unless --data is given."""
    app = open_here()
    status = find_plugin(load_plugin_statuses(app), plugin_id)
    _check_remove(app, status)
    data_dir = os.path.join(app.workspace.user_dir, "plugin-data", status.id)
    goes = [status.found.folder, *([data_dir] if data and os.path.isdir(data_dir) else [])]
    lines = [f"Goes: {one_line(app.workspace.shorten(goe))}" for goe in goes]
    lines += (
        [f"Stays: {one_line(app.workspace.shorten(data_dir))}"]
        if os.path.isdir(data_dir) and data_dir not in goes
        else []
    )
    lines += _setting_lines(app, status)
    if not is_json_asked() and (dry_run or yes):
        say_lines(lines)
    agreed = dry_run or yes or confirm(f"Remove {status.id}?", "Removing a plugin", lines=lines)
    if agreed and not dry_run:
        app.audit.write("plugin", f"remove {status.found.folder}", decision="done")
        revoke_plugin(app, status.found)
        for goe in goes:
            remove_folder(goe)
        write_enabled(app, [status.id], enabled=True)  # one that comes back waits for a grant anyway
    removed = goes if agreed and not dry_run else []

    def show() -> None:
        if not dry_run:
            say(one_line(f"Removed: {status.id}") if agreed else "Nothing was removed")

    document = {"id": status.id, "removed": removed, "goes": goes}
    return CommandResult("clawft.plugins.remove.v1", document, show, int(not agreed))


def _check_remove(app: App, status: PluginStatus) -> None:
    """Raises: Refused for a plugin that is not ours to remove."""
    found = status.found
    base = os.path.join(app.workspace.user_dir, "plugins")
    if found.scope == "user" and os.path.dirname(found.folder) == base:
        return
    hints = {
        "python": "Run: pip uninstall, with the package that brought it",
        "project": f"It belongs to the project. To leave it out: weft plugins disable {status.id}",
    }
    hint = hints.get(found.scope, f"Remove {app.workspace.shorten(found.folder)} yourself")
    message = f"The plugin '{status.id}' is not in ~/.clawft/plugins"
    raise Refused("plugin-elsewhere", message, path=found.folder, hint=hint)


def _setting_lines(app: App, status: PluginStatus) -> list[str]:
    entry = app.own_config.plugins.entries.get(status.id, PluginEntry())
    if entry in (PluginEntry(), PluginEntry(enabled=False)):
        return []
    return [one_line(f'Stays: its settings, plugins.entries."{status.id}"')]


@click.command("new")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), default="tool", show_default=True, help="What it brings.")
@click.option("--id", "plugin_id", default="", metavar="ID", help="Its id, as com.example.NAME; else local.NAME.")
@click.option(
    "--dir", "parent", default=".", metavar="PATH", help="Where its folder is made.", shell_complete=complete_folders
)
@format_option
def new_command(name: str, kind: str, plugin_id: str, parent: str) -> CommandResult:
    """Begin a plugin: a folder NAME with a manifest, code that works, and tests that pass."""
    folder = os.path.join(os.path.abspath(os.path.expanduser(parent)), name)
    files = make_plugin(name, cast(TemplateKind, kind), plugin_id or f"local.{name}", folder)
    found = load_plugin("user", folder)
    if found.manifest is None:  # an id that no manifest may have
        shutil.rmtree(folder)
        raise make_broken_error(found)

    def show() -> None:
        for path in files:
            click.echo(one_line(os.path.relpath(path)))
        shown = one_line(os.path.relpath(folder))
        say(f"Next: cd {shown} && pytest")
        say(f"Then: weft plugins install . && weft plugins enable {found.id}")

    return CommandResult("clawft.plugins.new.v1", {"id": found.id, "kind": kind, "path": folder, "files": files}, show)
