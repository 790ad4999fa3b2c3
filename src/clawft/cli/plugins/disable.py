"""`weft plugins disable ID`."""

import click
from msgspec import structs

from clawft.app import App
from clawft.cli._complete import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line
from clawft.cli.plugins._entries import tell, write_enabled
from clawft.cli.plugins._gone import load_gone
from clawft.errors import NotFound
from clawft.plugging import find_plugin, load_plugin_standings, open_grants, revoke_plugin
from clawft.trust.plugins import PluginStanding

__all__ = ["command"]


@click.command("disable")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", shell_complete=complete_plugins)
@click.option("--revoke", is_flag=True, help="Also take back what it was granted: it is asked for again.")
@format_option
def command(ids: tuple[str, ...], revoke: bool, output: str) -> None:
    """Take plugins out of use. What they were granted stays, unless --revoke takes it back."""
    app = open_here()
    standings = load_plugin_standings(app)
    chosen = [_find(app, standings, one) for one in ids]
    if not revoke:
        tell(chosen, write_enabled(app, [one.id for one in chosen], enabled=False), output)
        return
    known = {(one.id, one.folder) for one in open_grants(app).load()}
    lost = next((one for one in chosen if (one.id, one.found.folder) not in known), None)
    if lost is not None:
        hint = f"Run: weft plugins disable {lost.id}"
        raise NotFound("grant-not-found", one_line(f"Nothing is granted to the plugin '{lost.id}'"), hint=hint)
    edited = write_enabled(app, [one.id for one in chosen], enabled=False)
    for one in chosen:
        revoke_plugin(app, one.found)
        if output == "table":
            click.echo(one_line(f"Taken back: what {one.id} was granted"))
    tell(chosen, edited, output, revoked=[one.id for one in chosen])


def _find(app: App, standings: tuple[PluginStanding, ...], plugin_id: str) -> PluginStanding:
    """The plugin, or one that is gone and was granted something: a turn may still wait for it. Raises: NotFound."""
    try:
        return find_plugin(standings, plugin_id)
    except NotFound:
        try:
            gone = find_plugin(load_gone(app, standings), plugin_id)
        except NotFound:
            gone = None
        if gone is None:
            raise
        return structs.replace(gone, state="disabled")
