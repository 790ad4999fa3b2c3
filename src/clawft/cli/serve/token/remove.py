"""`weft serve token remove`."""

import click

from clawft.cli._complete import complete_serve_tokens
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say

__all__ = ["command"]


@click.command("remove")
@click.argument("name", metavar="NAME", shell_complete=complete_serve_tokens)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(name: str, yes: bool, output: str) -> int:
    """Let a token count no more, at once and for good; whoever is connected by it is let go."""
    from clawft.serve.tokens import ServeTokens

    app = open_here()
    tokens = ServeTokens(app.workspace.user_dir)
    token = tokens.get(name)
    agreed = yes or confirm(f"Remove the token '{token.name}'?", "Removing a token")
    if agreed:
        app.audit.write("serve", f"token {token.name}", decision="revoked", detail={"name": token.name})
        tokens.remove(token.name)
    if output == "json":
        print_json("clawft.serve.token.remove.v1", name=token.name, removed=agreed)
    else:
        say(f"Removed: {token.name}" if agreed else "Nothing was changed")
    return 0 if agreed else 1
