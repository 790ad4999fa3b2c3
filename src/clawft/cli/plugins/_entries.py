"""What `enable`, `disable` and `grant` share: whether a plugin is on, written to the user's config, and told."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec import structs

from clawft.app import App
from clawft.cli._switches import write_switches
from clawft.cli.options import open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.plugins._json import plugin_json
from clawft.cli.plugins._variables import add_missing
from clawft.config.edit import Edited
from clawft.config.plugins import PluginEntry, PluginsSettings
from clawft.plugging import judge_here, load_plugin_standings, plugin_settings
from clawft.trust.plugins import PLUGIN_STATES, PluginStanding

__all__ = ["judge_enabled", "tell", "write_enabled"]

_TOLD = ("plugin-withheld", "plugin-env-missing")  # also of a plugin that is ready


def judge_enabled(app: App, chosen: Sequence[PluginStanding]) -> list[PluginStanding]:
    """How plugins would stand if nothing turned them off. Raises: ClawftError."""
    standings = judge_here(app, _as_enabled(plugin_settings(app), chosen))
    by_folder = {one.found.folder: one for one in standings}
    return [by_folder.get(one.found.folder, one) for one in chosen]


def _as_enabled(settings: PluginsSettings, chosen: Sequence[PluginStanding]) -> PluginsSettings:
    entries = dict(settings.entries)
    for one in chosen:
        entries[one.id] = structs.replace(entries.get(one.id, PluginEntry()), enabled=True)
    return structs.replace(settings, enabled=True, entries=entries)


def write_enabled(app: App, ids: Sequence[str], *, enabled: bool) -> Edited:
    """Have plugins on or off. Raises: ClawftError."""
    return write_switches(app, "plugins", ids, enabled=enabled)


def tell(meant: Sequence[PluginStanding], edited: Edited | None, output: str, **more: Any) -> list[PluginStanding]:
    """Say how plugins stand now, and what was written; how they do."""
    app = open_here()
    now = {one.found.folder: one for one in load_plugin_standings(app)}
    standings = add_missing(app, (now.get(one.found.folder, one) for one in meant))
    if output == "json":
        told = {"path": edited.file if edited else None, "changed": edited is not None and edited.changed}
        print_json("clawft.plugins.entries.v1", plugins=[plugin_json(one) for one in standings], **told, **more)
        return standings
    for one in standings:
        click.echo(one_line(f"{one.id} is {one.state}: {PLUGIN_STATES.get(one.state, '')}"))
        for reason in one.reasons:
            if one.state != "ready" or reason.severity == "warning" or reason.code in _TOLD:
                show_diagnostic(reason, where="", indent="  ")
    if edited is not None and edited.changed:
        say(one_line(f"Written to {app.workspace.shorten(edited.file)}"))
    return standings
