"""`weft mcp untrust SERVER:NAME`: take an approval back, and remove what lies here of the skill."""

import click

from clawft.borrowing.keep import give_back
from clawft.borrowing.states import find_served
from clawft.cli._complete import complete_served
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say

__all__ = ["command"]


@click.command("untrust")
@click.argument("references", nargs=-1, required=True, metavar="SERVER:NAME...", shell_complete=complete_served)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(references: tuple[str, ...], yes: bool, output: str) -> int:
    """Take approvals of MCP servers' skills back, and remove their files here. SERVER alone means all of its skills."""
    app = open_here()
    meant = {one.folder: one for reference in references for one in find_served(app, reference)}
    names = [f"{one.origin.server}:{one.name}" for one in meant.values()]
    agreed = yes or confirm(f"Take back and remove: {', '.join(names)}?", "Removing skills")
    if agreed:
        give_back(app, list(meant.values()))
    if output == "json":
        taken = meant.values() if agreed else ()
        removed = [{"server": one.origin.server, "uri": one.origin.uri, "name": one.name} for one in taken]
        print_json("clawft.mcp.untrust.v1", removed=removed)
    elif agreed:
        for name in names:
            click.echo(one_line(f"Taken back, and removed: {name}"))
    else:
        say("Nothing was changed")
    return 0 if agreed else 1
