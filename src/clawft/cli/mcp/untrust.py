"""`weft mcp untrust SERVER:NAME`: take an approval back, and remove what lies here of the skill."""

import click

from clawft.borrowing.keep import give_back
from clawft.borrowing.states import find_served
from clawft.cli._complete import complete_served
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json

__all__ = ["command"]


@click.command("untrust")
@click.argument("references", nargs=-1, required=True, metavar="SERVER:NAME...", shell_complete=complete_served)
@format_option
def command(references: tuple[str, ...], output: str) -> None:
    """Take approvals of MCP servers' skills back, and remove their files here. SERVER alone means all of its skills."""
    app = open_here()
    meant = {one.folder: one for reference in references for one in find_served(app, reference)}
    give_back(app, list(meant.values()))
    if output == "json":
        removed = [{"server": one.origin.server, "uri": one.origin.uri, "name": one.name} for one in meant.values()]
        print_json("clawft.mcp.untrust.v1", removed=removed)
        return
    for one in meant.values():
        click.echo(one_line(f"Taken back, and removed: {one.origin.server}:{one.name}"))
