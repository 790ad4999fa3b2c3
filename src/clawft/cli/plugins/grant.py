"""`weft plugins grant ID`: what a plugin may touch, of what it asks for."""

import sys
from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.plugins._asking import Keys, ask_each, from_keys, to_keys
from clawft.cli.plugins._entries import judge_enabled
from clawft.cli.plugins._json import permissions_json
from clawft.cli.plugins._words import permission_lines
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Refused
from clawft.plugging import change_grant, find_plugin, load_plugin_standings
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

    Without options you are asked one by one. It holds for the plugin as it is now; put it into use first, with
    `weft plugins enable`.
    """
    options = _Options(**given)
    app = open_here()
    standing = _find(app, plugin_id)
    asked, granted = to_keys(_asked(standing)), to_keys(standing.permissions)
    wanted = _choose(standing, asked, granted, options)
    if wanted is not None and wanted != granted:
        change_grant(app, standing, from_keys(wanted))
        granted = wanted
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


def _choose(standing: PluginStanding, asked: Keys, granted: Keys, options: _Options) -> Keys | None:
    """What is to be granted; None where nobody asked for a change. Raises: ClawftError, UsageError."""
    if sum((options.every, options.none, bool(options.named))) > 1:
        raise click.UsageError("Say one of: --all, --none, or what is meant by name")
    if options.revoke:
        if options.none or not (options.named or options.every):
            raise click.UsageError("Say what to take back: --revoke --network HOST, or --revoke --all")
        return set() if options.every else granted - _checked(standing, options.named, granted, "was granted")
    if options.every:
        return asked
    if options.none:
        return set()
    if options.named:
        return granted | _checked(standing, options.named, asked, "asks for")
    if options.output == "json" or not asked or not _is_terminal():
        return None
    return ask_each(standing.id, _asked(standing), granted)


def _checked(standing: PluginStanding, named: Keys, known: Keys, verb: str) -> Keys:
    """What was named, all of it known. Raises: ClawftError."""
    for kind, value in sorted(named - known):
        what = "to start programs" if kind == "shell" else f"'{value}'"
        have = ", ".join(sorted(value for other, value in known if other == kind and other != "shell"))
        message = f"The plugin '{standing.id}' never {verb} {what}".replace("never asks", "does not ask")
        hint = f"Of {_OPTIONS[kind]} there is: {have}" if have else f"Run: weft plugins grant {standing.id}"
        raise ClawftError("plugin-not-asked", message, path=standing.found.file, hint=hint)
    return named


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _tell(standing: PluginStanding, granted: Keys, options: _Options) -> None:
    asked = _asked(standing)
    if options.output == "json":
        held = permissions_json(from_keys(granted))
        return print_json("clawft.plugins.grant.v1", id=standing.id, asked=permissions_json(asked), granted=held)
    click.echo(one_line(f"{standing.id} {standing.grant.version if standing.grant else ''}"))
    if asked == Permissions():
        click.echo("  asks for nothing")
    for line in permission_lines(asked, lambda key: "granted" if key in granted else "not granted"):
        click.echo(line)
    return None
