"""`weft plugins grant ID`: what a plugin may touch, of what it asks for."""

import sys
from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.plugins._asking import Keys, ask_each, find_within, from_keys, to_keys
from clawft.cli.plugins._entries import judge_enabled
from clawft.cli.plugins._json import permissions_json
from clawft.cli.plugins._words import permission_lines, say_held
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Refused
from clawft.plugging import change_grant, find_plugin, load_plugin_standings
from clawft.trust.covering import COVERS
from clawft.trust.plugin_review import broken
from clawft.trust.plugins import PluginStanding

__all__ = ["command"]

_OPTIONS = {"filesystem": "--filesystem", "network": "--network", "env_vars": "--env", "shell": "--shell"}


class _Options(Struct, frozen=True):
    """What was asked for."""

    network: tuple[str, ...]
    filesystem: tuple[str, ...]
    env_vars: tuple[str, ...]
    shell: bool
    every: bool
    none: bool
    revoke: bool
    output: str

    @property
    def named(self) -> Keys:
        named = {(kind, one) for kind in ("filesystem", "network", "env_vars") for one in getattr(self, kind)}
        return named | ({("shell", "shell")} if self.shell else set())


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
def command(plugin_id: str, **given: Any) -> int:
    """Show and change what a plugin may touch, of what it asks for.

    Less can be granted than is asked for: `--network imap.example.com:993` of `*:993`, `--filesystem ~/Mail/work` or
    `~/Mail:ro` of `~/Mail`. It takes the place of what was granted around it. Without options you are asked one by
    one. It holds for the plugin as it is now; put it into use first, with `weft plugins enable`.
    """
    options = _Options(**given)
    app = open_here()
    standing = _find(app, plugin_id)
    granted = standing.permissions
    wanted = _choose(app, standing, options)
    if wanted is not None and wanted != to_keys(granted):
        granted = change_grant(app, standing, from_keys(wanted)).permissions
    elif wanted is not None:
        say("Nothing changed")
    _tell(standing, granted, options)
    return 0


def _find(app: App, plugin_id: str) -> PluginStanding:
    """The plugin, which somebody looked at as it is now. Raises: ClawftError."""
    (standing,) = judge_enabled(app, [find_plugin(load_plugin_standings(app), plugin_id)])
    if standing.found.manifest is None:
        raise broken(standing.found)
    if standing.grant is None:
        why = f": {standing.reasons[0].message}" if standing.reasons else ""
        message = f"The plugin '{standing.id}' is {standing.state}{why}"
        hint = f"Look at it first: weft plugins enable {standing.id}"
        raise Refused("plugin-untrusted", message, path=standing.found.folder, hint=hint)
    return standing


def _asked(standing: PluginStanding) -> Permissions:
    assert standing.found.manifest is not None
    return standing.found.manifest.permissions


def _choose(app: App, standing: PluginStanding, options: _Options) -> Keys | None:
    """What is to be granted; None where nobody asked for a change. Raises: ClawftError, UsageError."""
    asked, granted = to_keys(_asked(standing)), to_keys(standing.permissions)
    if sum((options.every, options.none, bool(options.named))) > 1:
        raise click.UsageError("Say one of: --all, --none, or what is meant by name")
    if options.revoke:
        if options.none or not (options.named or options.every):
            raise click.UsageError("Say what to take back: --revoke --network HOST, or --revoke --all")
        return set() if options.every else granted - _find_revoked(app, standing, options.named)
    if options.every:
        return asked
    if options.none:
        return set()
    if options.named:
        return _add(granted, _find_named(app, standing, options.named), asked)
    if options.output == "json" or not asked or not _is_terminal():
        return None
    return ask_each(standing.id, _asked(standing), standing.permissions, app.workspace)


def _find_named(app: App, standing: PluginStanding, named: Keys) -> Keys:
    """What was named, all of it within what is asked for. Raises: ClawftError."""
    asked, found = to_keys(_asked(standing)), set()
    for key in sorted(named):
        one = find_within(key, asked, app.workspace)
        if one is None:
            raise _unknown(standing, key, asked, "does not ask for")
        found.add(one)
    return found


def _add(granted: Keys, named: Keys, asked: Keys) -> Keys:
    """What is granted with what was named. A part takes the place of the whole: who names it means only that."""
    parts = named - asked
    return named | {one for one in granted if not any(_covers(one, part) for part in parts)}


def _find_revoked(app: App, standing: PluginStanding, named: Keys) -> Keys:
    """What of that which was granted lies within what was named. Raises: ClawftError."""
    asked, granted = to_keys(_asked(standing)), to_keys(standing.permissions)
    found: Keys = set()
    for key in sorted(named):
        meant = find_within(key, asked, app.workspace) or key
        inside = {one for one in granted if _covers(meant, one)}
        around = [one for one in granted if _covers(one, meant)]
        if not inside and around:
            message = f"'{key[1]}' is only a part of '{around[0][1]}', which was granted to '{standing.id}' as a whole"
            hint = f"Grant what is to stay: weft plugins grant {standing.id} {_OPTIONS[key[0]]} …"
            raise ClawftError("plugin-not-asked", message, path=standing.found.file, hint=hint)
        if not inside:
            raise _unknown(standing, key, granted, "never was granted")
        found |= inside
    return found


def _covers(wide: tuple[str, str], narrow: tuple[str, str]) -> bool:
    return wide[0] == narrow[0] and COVERS[wide[0]](wide[1], narrow[1])


def _unknown(standing: PluginStanding, key: tuple[str, str], known: Keys, verb: str) -> ClawftError:
    kind, value = key
    what = "the right to start programs" if kind == "shell" else f"'{value}'"
    have = ", ".join(sorted(value for other, value in known if other == kind and other != "shell"))
    message = f"The plugin '{standing.id}' {verb} {what}"
    hint = f"Of {_OPTIONS[kind]} there is: {have}" if have else f"Run: weft plugins grant {standing.id}"
    return ClawftError("plugin-not-asked", message, path=standing.found.file, hint=hint)


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _tell(standing: PluginStanding, granted: Permissions, options: _Options) -> None:
    asked = _asked(standing)
    if options.output == "json":
        held = permissions_json(granted)
        return print_json("clawft.plugins.grant.v1", id=standing.id, asked=permissions_json(asked), granted=held)
    click.echo(one_line(f"{standing.id} {standing.grant.version if standing.grant else ''}"))
    if asked == Permissions():
        click.echo("  asks for nothing")
    for line in permission_lines(asked, lambda key: say_held(key, granted)):
        click.echo(line)
    return None
