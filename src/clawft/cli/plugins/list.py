"""`weft plugins list`: every plugin found, with its state and the reason for it."""

from collections.abc import Sequence

import click

from clawft.app import App
from clawft.cli._states import NARROW, count_states, tell_reason
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say, show_diagnostic, table_lines, terminal_width
from clawft.cli.plugins._gone import GONE, load_missed
from clawft.cli.plugins._json import plugin_json
from clawft.cli.plugins._words import brings_line
from clawft.describe.diagnostics import to_json
from clawft.plugging import load_plugin_standings
from clawft.trust.plugins import PluginStanding

__all__ = ["command", "count_plugins", "plugin_lines"]

_MARKS = {"ready": "✓", "shadowed": "·", "disabled": "·"}


@click.command("list")
@format_option
def command(output: str) -> None:
    """List every plugin found, with its state and why."""
    app = open_here()
    found = load_plugin_standings(app)
    standings = sorted((*found, *load_missed(app, found)), key=lambda one: one.id)
    said = app.config.diagnostics
    if output == "json":
        listed = [plugin_json(one) for one in standings]
        return print_json("clawft.plugins.list.v1", plugins=listed, diagnostics=[to_json(one) for one in said])
    if standings:
        click.echo("\n".join(plugin_lines(app, standings, terminal_width())))
    for diagnostic in said:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.path))
    say(count_plugins(standings))
    return None


def plugin_lines(app: App, standings: Sequence[PluginStanding], columns: int | None) -> list[str]:
    """A table of plugins, with what is to be said of each, for so many columns."""
    after = [_reason(app, one) for one in standings]
    if (columns or NARROW) < NARROW:
        short = [(_mark(one), one.id, one.state) for one in standings]
        below = [said or _brings(one) for one, said in zip(standings, after, strict=True)]
        return table_lines(("", "ID", "STATE"), short, wide=1, after=below, columns=columns)
    heads = ("", "ID", "VERSION", "BRINGS", "STATE", "FROM")
    rows = [(_mark(one), one.id, _version(one), _brings(one), one.state, one.found.scope) for one in standings]
    return table_lines(heads, rows, wide=3, after=after, columns=columns)


def _mark(standing: PluginStanding) -> str:
    return _MARKS.get(standing.state, "✗")


def _version(standing: PluginStanding) -> str:
    return standing.found.manifest.version if standing.found.manifest else ""


def _brings(standing: PluginStanding) -> str:
    return brings_line(standing.found)


def _reason(app: App, standing: PluginStanding) -> str:
    """One line on why a plugin cannot simply be used, or what else to know of it."""
    told = tell_reason(standing.state, standing.reasons, (), f"weft plugins show {standing.id}")
    is_placed = standing.state in ("broken", "shadowed") and standing.found.scope != GONE
    where = f" ({app.workspace.shorten(standing.found.folder)})" if is_placed else ""
    return told + where if told else ""


def count_plugins(standings: Sequence[PluginStanding]) -> str:
    """How many plugins there are, and of which state."""
    none = "No plugins found. See: weft help plugins"
    return count_states("plugin", (one.state for one in standings)) if standings else none
