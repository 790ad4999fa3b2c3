"""`weft serve token new`."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say

__all__ = ["command"]


@click.command("new")
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "run", "approve", "admin"]),
    help="What it allows (repeatable); read alone if none is given. admin allows everything.",
)
@click.option("--label", default="", metavar="TEXT", help="What it is for, to know it again.")
@click.option("--days", default=0, type=click.IntRange(0, 36_500), help="How long it counts; 0 for ever.")
@format_option
def command(name: str, scopes: tuple[str, ...], label: str, days: int, output: str) -> None:
    """Make a token. It is printed once, and cannot be shown again; a daemon that runs knows it at once.

    What is done with it is logged under its NAME, and its sessions are its own.
    """
    from clawft.serve.tokens import ServeTokens

    app = open_here()
    secret, token = ServeTokens(app.workspace.user_dir).create(name, scopes or ("read",), label, days=days)
    detail = {"name": name, "scopes": " ".join(token.scopes)}
    app.audit.tell("serve", f"token {token.name}", decision="granted", detail=detail)
    if output == "json":
        return print_json(
            "clawft.serve.token.v1",
            name=token.name,
            scopes=list(token.scopes),
            label=token.label,
            created=token.created,
            expires=token.expires,
            token=secret,
        )
    say(f"A token '{token.name}' ({', '.join(token.scopes)}). It is shown only now:")
    click.echo(secret)
    return None
