"""`weft plugins remove ID`: a plugin's folder is taken away, and what it was granted with it."""

import os

import click

from clawft.app import App
from clawft.cli._complete import complete_plugins
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.plugins._entries import write_enabled
from clawft.config.plugins import PluginEntry
from clawft.errors import Refused
from clawft.packing.place import remove_folder
from clawft.plugging import find_plugin, load_plugin_standings, plugin_settings, revoke_plugin
from clawft.trust.plugins import PluginStanding

__all__ = ["command"]


@click.command("remove")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@click.option("--data", is_flag=True, help="Also the data that it kept.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(plugin_id: str, data: bool, dry_run: bool, yes: bool, output: str) -> int:
    """Remove a plugin from ~/.clawft/plugins, with what it was granted. Its data stays, unless --data is given."""
    app = open_here()
    standing = find_plugin(load_plugin_standings(app), plugin_id)
    _check(app, standing)
    kept = os.path.join(app.workspace.user_dir, "plugin-data", standing.id)
    goes = [standing.found.folder, *([kept] if data and os.path.isdir(kept) else [])]
    lines = [f"Goes: {one_line(app.workspace.shorten(one))}" for one in goes]
    lines += [f"Stays: {one_line(app.workspace.shorten(kept))}"] if os.path.isdir(kept) and kept not in goes else []
    lines += _setting_lines(app, standing)
    if output == "table" and (dry_run or yes):
        for line in lines:
            say(line)
    agreed = dry_run or yes or confirm(f"Remove {standing.id}?", "Removing a plugin", lines=lines)
    if agreed and not dry_run:
        app.audit.write("plugin", f"remove {standing.found.folder}", decision="done")
        revoke_plugin(app, standing.found)
        for one in goes:
            remove_folder(one)
        write_enabled(app, [standing.id], enabled=True)  # one that comes back waits for a grant anyway
    removed = goes if agreed and not dry_run else []
    if output == "json":
        print_json("clawft.plugins.remove.v1", id=standing.id, removed=removed, goes=goes)
    elif not dry_run:
        say(one_line(f"Removed: {standing.id}") if agreed else "Nothing was removed")
    return 0 if agreed else 1


def _check(app: App, standing: PluginStanding) -> None:
    """Raises: Refused for a plugin that is not ours to remove."""
    found = standing.found
    base = os.path.join(app.workspace.user_dir, "plugins")
    if found.scope == "user" and os.path.dirname(found.folder) == base:
        return
    hints = {
        "python": "Run: pip uninstall, with the package that brought it",
        "project": f"It belongs to the project. To leave it out: weft plugins disable {standing.id}",
    }
    hint = hints.get(found.scope, f"Remove {app.workspace.shorten(found.folder)} yourself")
    message = f"The plugin '{standing.id}' is not in ~/.clawft/plugins"
    raise Refused("plugin-elsewhere", message, path=found.folder, hint=hint)


def _setting_lines(app: App, standing: PluginStanding) -> list[str]:
    entry = plugin_settings(app).entries.get(standing.id, PluginEntry())
    if entry in (PluginEntry(), PluginEntry(enabled=False)):
        return []
    return [one_line(f'Stays: its settings, plugins.entries."{standing.id}"')]
