"""`weft hub token new`."""

import click

from clawft.cli.hub._open import folder_option, open_hub
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say
from clawft.hub.model import SCOPES
from clawft.hub.tokens import HubTokens

__all__ = ["command"]


@click.command("new")
@click.argument("owner", metavar="OWNER")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="What it allows (repeatable); read and publish if none is given.",
)
@click.option("--label", default="", metavar="TEXT", help="What it is for, to know it again.")
@click.option("--days", default=0, type=click.IntRange(0, 36_500), help="How long it counts; 0 for ever.")
@folder_option
@format_option
def command(owner: str, scopes: tuple[str, ...], label: str, days: int, folder: str | None, output: str) -> None:
    """Make a token for an owner. It is printed once, and cannot be shown again."""
    app = open_here()
    with open_hub(app, folder) as store:
        secret, token = HubTokens(store).create(owner, scopes or ("read", "publish"), label, days=days)
    detail = {"owner": owner, "scopes": " ".join(token.scopes)}
    app.audit.tell("hub", f"token {token.id} for {token.owner}", decision="granted", detail=detail)
    if output == "json":
        return print_json(
            "clawft.hub.token.v1",
            id=token.id,
            owner=token.owner,
            scopes=list(token.scopes),
            label=token.label,
            created=token.created,
            expires=token.expires,
            token=secret,
        )
    say(f"A token for {token.owner} ({', '.join(token.scopes)}), known as {token.id}. It is shown only now:")
    click.echo(secret)
    return None
