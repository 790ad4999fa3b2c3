"""`weft plugins grant`: choose which of the permissions that a plugin asks for it gets."""

import os
import sys
from collections.abc import Iterator

import click

from clawft.app.app import App
from clawft.app.plugin_grants import change_grant
from clawft.app.plugins import find_plugin, load_plugin_statuses
from clawft.cli.completion import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say
from clawft.cli.plugins.description import permission_lines, permission_words, permissions_json, render_granted
from clawft.cli.plugins.settings import load_as_enabled
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path
from clawft.trust.plugin_review import make_broken_error
from clawft.trust.plugins import COVERS, PluginStatus, covers_host, covers_path, list_granted
from clawft.workspace import Workspace, resolve_path

Keys = set[tuple[str, str]]  # kind and value


def to_keys(permissions: Permissions) -> Keys:
    """Return the keys of permissions."""
    return set(permission_words(permissions))


def from_keys(keys: Keys) -> Permissions:
    """Return the permissions that keys name."""

    def values(kind: str) -> tuple[str, ...]:
        return tuple(sorted(value for other, value in keys if other == kind))

    return Permissions(values("filesystem"), values("network"), values("env_vars"), ("shell", "shell") in keys)


def find_within(key: tuple[str, str], asked: Keys, workspace: Workspace) -> tuple[str, str] | None:
    """Return a permission as it can be granted: a requested one, or a part of one. None for anything else."""
    kind, text = key
    if key in asked:
        return key
    values = sorted(value for other, value in asked if other == kind)
    if kind == "network":
        text = text.strip().lower()
        return (kind, text) if any(covers_host(value, text) for value in values) else None
    if kind == "filesystem":
        return next(((kind, path) for path in _find_paths(text.strip(), values, workspace)), None)
    return None


def _find_paths(text: str, values: list[str], workspace: Workspace) -> Iterator[str]:
    """A path as it is written below one that is asked for: a shell makes `/home/me/Mail` of `~/Mail`."""
    bare = text.removesuffix(":ro")
    path = resolve_path(bare, workspace.project, workspace.home)
    for value in values:
        outer = value.removesuffix(":ro")
        root = resolve_path(outer, workspace.project, workspace.home)
        if not is_within(path, root) or not is_within(real_path(path), real_path(root)):
            continue
        inner = os.path.relpath(path, root)
        found = (outer if inner == "." else os.path.join(outer, inner)) + text[len(bare) :]
        if covers_path(value, found):
            yield found


def ask_each(plugin_id: str, asked: Permissions, granted: Permissions, workspace: Workspace) -> Keys:
    """Ask for each requested permission whether to grant it, or a part of it. Enter leaves each as it is."""
    words = permission_words(asked)
    say(one_line(f"{plugin_id} asks for {len(words)} thing{'s' * (len(words) != 1)}. Enter leaves it as it is."))
    chosen: Keys = set()
    for key, text in words.items():
        held = [value for value in list_granted(*key, granted) if value == key[1] or (key[0], value) not in words]
        if _can_be_less(*key):
            chosen |= _ask_part(key, one_line(text), held, workspace)
        elif click.confirm(f"  It {one_line(text)}?", bool(held), err=True):
            chosen.add(key)
    return chosen


def _can_be_less(kind: str, value: str) -> bool:
    return kind == "filesystem" or (kind == "network" and value.startswith("*"))


def _ask_part(key: tuple[str, str], text: str, held: list[str], workspace: Workspace) -> Keys:
    def read(answer: str) -> Keys:
        if answer.strip().lower() in ("y", "yes", "n", "no"):
            return {key} if answer.strip().lower().startswith("y") else set()
        parts: Keys = set()
        for part in answer.split(","):
            found = find_within((key[0], part.strip()), {key}, workspace)
            if found is None:
                raise click.BadParameter(one_line(f"{part.strip()} is no part of {key[1]}"))
            parts.add(found)
        return parts

    less = "a host" if key[0] == "network" else "a path in it, or with :ro to read only"
    default = "y" if key[1] in held else ", ".join(held) or "n"
    chosen: Keys = click.prompt(f"  It {text}? (y, n, or {less})", default, value_proc=read, err=True)
    return chosen


_OPTIONS = {"filesystem": "--filesystem", "network": "--network", "env_vars": "--env", "shell": "--shell"}


@click.command("grant")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@click.option("--network", multiple=True, metavar="HOST", help="A host that it may reach (repeatable).")
@click.option("--filesystem", multiple=True, metavar="PATH", help="A file or folder that it may use (repeatable).")
@click.option("--env", "env_vars", multiple=True, metavar="NAME", help="A variable that it is given (repeatable).")
@click.option("--shell", is_flag=True, help="It may start programs.")
@click.option("--all", "every", is_flag=True, help="All that it asks for.")
@click.option("--none", is_flag=True, help="Nothing: it may be used, and touches nothing.")
@click.option("--revoke", is_flag=True, help="Take back what is named instead of granting it.")
@format_option
def command(
    plugin_id: str,
    network: tuple[str, ...],
    filesystem: tuple[str, ...],
    env_vars: tuple[str, ...],
    shell: bool,
    every: bool,
    none: bool,
    revoke: bool,
) -> CommandResult:
    """Show and change what a plugin may touch, of what it asks for.

    Less can be granted than is asked for: `--network imap.example.com:993` of `*:993`, `--filesystem ~/Mail/work` or
    `~/Mail:ro` of `~/Mail`. It takes the place of what was granted around it. Without options you are asked one by
    one. It holds for the plugin as it is now; put it into use first, with `weft plugins enable`.
    """
    named = to_keys(Permissions(filesystem, network, env_vars, shell))
    if sum((every, none, bool(named))) > 1:
        raise click.UsageError("Say one of: --all, --none, or what is meant by name")
    if revoke and (none or not (named or every)):
        raise click.UsageError("Say what to take back: --revoke --network HOST, or --revoke --all")
    app = open_here()
    status = _find(app, plugin_id)
    granted = status.permissions
    wanted = _choose(app, status, named, every=every, none=none, revoke=revoke)
    if wanted is not None and wanted != to_keys(granted):
        granted = change_grant(app, status, from_keys(wanted)).permissions
    elif wanted is not None:
        say("Nothing changed")
    return _report(status, granted)


def _find(app: App, plugin_id: str) -> PluginStatus:
    """Find a plugin that was reviewed in its current form. Raises: ClawftError."""
    (status,) = load_as_enabled(app, [find_plugin(load_plugin_statuses(app), plugin_id)])
    if status.found.manifest is None:
        raise make_broken_error(status.found)
    if status.grant is None:
        why = f": {status.reasons[0].message}" if status.reasons else ""
        message = f"The plugin '{status.id}' is {status.state}{why}"
        hint = f"Look at it first: weft plugins enable {status.id}"
        raise Refused("plugin-untrusted", message, path=status.found.folder, hint=hint)
    return status


def _asked(status: PluginStatus) -> Permissions:
    assert status.found.manifest is not None
    return status.found.manifest.permissions


def _choose(app: App, status: PluginStatus, named: Keys, *, every: bool, none: bool, revoke: bool) -> Keys | None:
    """Return the permissions to grant; None if no change was requested. Raises: ClawftError, UsageError."""
    asked, granted = to_keys(_asked(status)), to_keys(status.permissions)
    if revoke:
        return set() if every else granted - _find_revoked(app, status, named)
    if every:
        return asked
    if none:
        return set()
    if named:
        return _add(granted, _find_named(app, status, named), asked)
    if is_json_asked() or not asked or not (sys.stdin is not None and sys.stdin.isatty()):
        return None
    return ask_each(status.id, _asked(status), status.permissions, app.workspace)


def _find_named(app: App, status: PluginStatus, named: Keys) -> Keys:
    """Return the named permissions, all of them within what the plugin asks for. Raises: ClawftError."""
    asked, found = to_keys(_asked(status)), set()
    for key in sorted(named):
        one = find_within(key, asked, app.workspace)
        if one is None:
            raise _unknown(status, key, asked, "does not ask for")
        found.add(one)
    return found


def _add(granted: Keys, named: Keys, asked: Keys) -> Keys:
    """Add the named permissions to the granted ones. A part replaces the whole: naming it means only that part."""
    parts = named - asked
    return named | {permission for permission in granted if not any(_covers(permission, part) for part in parts)}


def _find_revoked(app: App, status: PluginStatus, named: Keys) -> Keys:
    """Return the granted permissions that lie within the named ones. Raises: ClawftError."""
    asked, granted = to_keys(_asked(status)), to_keys(status.permissions)
    found: Keys = set()
    for key in sorted(named):
        meant = find_within(key, asked, app.workspace) or key
        inside = {permission for permission in granted if _covers(meant, permission)}
        around = [permission for permission in granted if _covers(permission, meant)]
        if not inside and around:
            message = f"'{key[1]}' is only a part of '{around[0][1]}', which was granted to '{status.id}' as a whole"
            hint = f"Grant what is to stay: weft plugins grant {status.id} {_OPTIONS[key[0]]} …"
            raise ClawftError("plugin-not-asked", message, path=status.found.file, hint=hint)
        if not inside:
            raise _unknown(status, key, granted, "never was granted")
        found |= inside
    return found


def _covers(wide: tuple[str, str], narrow: tuple[str, str]) -> bool:
    return wide[0] == narrow[0] and COVERS[wide[0]](wide[1], narrow[1])


def _unknown(status: PluginStatus, key: tuple[str, str], known: Keys, verb: str) -> ClawftError:
    kind, value = key
    what = "the right to start programs" if kind == "shell" else f"'{value}'"
    have = ", ".join(sorted(value for other, value in known if other == kind and other != "shell"))
    message = f"The plugin '{status.id}' {verb} {what}"
    hint = f"Of {_OPTIONS[kind]} there is: {have}" if have else f"Run: weft plugins grant {status.id}"
    return ClawftError("plugin-not-asked", message, path=status.found.file, hint=hint)


def _report(status: PluginStatus, granted: Permissions) -> CommandResult:
    asked = _asked(status)
    document = {"id": status.id, "asked": permissions_json(asked), "granted": permissions_json(granted)}
    lines = [
        one_line(f"{status.id} {status.grant.version if status.grant else ''}"),
        *(["  asks for nothing"] if asked == Permissions() else []),
        *permission_lines(asked, lambda key: render_granted(key, granted)),
    ]
    return CommandResult("clawft.plugins.grant.v1", document, "\n".join(lines))
