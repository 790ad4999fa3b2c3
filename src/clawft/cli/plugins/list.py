"""`weft plugins list`: every plugin with its state, also those that are missing."""

from collections.abc import Sequence

import click
from msgspec import structs

from clawft.app.app import App
from clawft.app.plugins import load_missing, load_plugin_statuses, open_grants
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, say, show_diagnostics, table_lines, terminal_width
from clawft.cli.plugins.description import plugin_json, render_contents_summary
from clawft.cli.skills.list import NARROW, render_reason, render_state_counts
from clawft.errors import ClawftError, Diagnostic
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.plugins import DiscoveredPlugin
from clawft.skills.parse.plugin import PluginManifest
from clawft.trust.plugins import PluginGrant, PluginStatus

MISSING = "gone"  # in the place of a scope


def load_missing_plugins(app: App, statuses: Sequence[PluginStatus]) -> tuple[PluginStatus, ...]:
    """All of them. Raises: ClawftError."""
    here = {status.found.folder for status in statuses}
    return tuple(_describe(app, grant) for grant in open_grants(app).load() if grant.folder not in here)


def load_required_missing_plugins(app: App, statuses: Sequence[PluginStatus]) -> tuple[PluginStatus, ...]:
    """Those that no turn goes on without."""
    missing = {
        missing_plugin.plugin: missing_plugin for missing_plugin in load_missing(app, statuses, app.own_config.plugins)
    }
    try:
        missing_plugins = load_missing_plugins(app, statuses) if missing else ()
    except ClawftError:  # the grants cannot be read, which is reported for every installed plugin
        return ()
    missed = []
    for plugin in missing_plugins:
        if plugin.id in missing:
            stages = ", ".join(f"'{name}'" for name in missing[plugin.id].stages)
            message = f"{plugin.reasons[0].message}, and no turn goes on without its stage {stages}"
            hint = f"Install it again, or go on without it: weft plugins disable {plugin.id}"
            missed.append(
                structs.replace(plugin, reasons=(structs.replace(plugin.reasons[0], message=message, hint=hint),))
            )
    return tuple(missed)


def _describe(app: App, grant: PluginGrant) -> PluginStatus:
    message = f"It is not in {app.workspace.shorten(grant.folder)} any more"
    manifest = PluginManifest(id=grant.id, name=grant.id, version=grant.version)
    reason = Diagnostic("plugin-gone", "note", message, grant.folder)
    return PluginStatus(DiscoveredPlugin(MISSING, grant.folder, manifest=manifest), "broken", (reason,))


_MARKS = {"ready": "✓", "shadowed": "·", "disabled": "·"}


@click.command("list")
@format_option
def command() -> CommandResult:
    """List every plugin found, with its state and why."""
    app = open_here()
    found = load_plugin_statuses(app)
    statuses = sorted((*found, *load_required_missing_plugins(app, found)), key=lambda one: one.id)
    diagnostics = app.config.diagnostics
    listed = [plugin_json(status) for status in statuses]

    def show() -> None:
        if statuses:
            click.echo("\n".join(plugin_lines(app, statuses, terminal_width())))
        show_diagnostics(diagnostics, app.workspace.shorten)
        say(count_plugins(statuses))

    return CommandResult(
        "clawft.plugins.list.v1",
        {"plugins": listed, "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics]},
        show,
    )


def plugin_lines(app: App, statuses: Sequence[PluginStatus], columns: int | None) -> list[str]:
    """A table of plugins, with what is to be said of each, for so many columns."""
    after = [_reason(app, status) for status in statuses]
    if (columns or NARROW) < NARROW:
        short = [(_mark(status), status.id, status.state) for status in statuses]
        below = [reason or _brings(status) for status, reason in zip(statuses, after, strict=True)]
        return table_lines(("", "ID", "STATE"), short, wide=1, after=below, columns=columns)
    heads = ("", "ID", "VERSION", "BRINGS", "STATE", "FROM")
    rows = [
        (_mark(status), status.id, _version(status), _brings(status), status.state, status.found.scope)
        for status in statuses
    ]
    return table_lines(heads, rows, wide=3, after=after, columns=columns)


def _mark(status: PluginStatus) -> str:
    return _MARKS.get(status.state, "✗")


def _version(status: PluginStatus) -> str:
    return status.found.manifest.version if status.found.manifest else ""


def _brings(status: PluginStatus) -> str:
    return render_contents_summary(status.found)


def _reason(app: App, status: PluginStatus) -> str:
    """One line on why a plugin cannot simply be used, or what else to know of it."""
    text = render_reason(status.state, status.reasons, (), f"weft plugins show {status.id}")
    is_placed = status.state in ("broken", "shadowed") and status.found.scope != MISSING
    where = f" ({app.workspace.shorten(status.found.folder)})" if is_placed else ""
    return text + where if text else ""


def count_plugins(statuses: Sequence[PluginStatus]) -> str:
    """Return a line with the number of plugins in each state."""
    none = "No plugins found. See: weft help plugins"
    return render_state_counts("plugin", (status.state for status in statuses)) if statuses else none
