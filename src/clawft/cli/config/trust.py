"""`weft config trust`: approve the project's config as it is now."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, one_line, print_json, say

__all__ = ["command"]

MAX_LINES = 200


@click.command("trust")
@format_option
def command(output: str) -> None:
    """Approve the project's config file as it is now. It is ignored until then, and again when it changes.

    Read it first: it can choose models, start MCP servers, loosen the policies of tools and give skills your keys.
    """
    app = open_here()
    approved = app.approve_config()
    if output == "json":
        return print_json("clawft.config.trust.v1", approved=list(approved))
    for path, content in approved.items():
        for line in content.decode("utf-8", "replace").splitlines()[:MAX_LINES]:
            say(f"  {clean(line)}")
        click.echo(one_line(f"Approved {app.workspace.shorten(path)}"))
    if not approved:
        say("There is no config in this project")
    return None
