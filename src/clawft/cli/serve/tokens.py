"""`weft serve token`: create, list and remove tokens of the daemon."""

from collections.abc import Iterator

import click

from clawft.cli.completion import completes, open_app_for
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.prompts import confirm
from clawft.server.tokens import ServeTokens


@completes
def complete_serve_tokens(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for token in ServeTokens(open_app_for(ctx).workspace.user_dir).all():
        yield token.name, f"{' '.join(token.scopes)} {token.label}"


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
def new_command(name: str, scopes: tuple[str, ...], label: str, days: int) -> CommandResult:
    """Make a token. It is printed once, and cannot be shown again; a daemon that runs knows it at once.

    What is done with it is logged under its NAME, and its sessions are its own.
    """
    app = open_here()
    secret, token = ServeTokens(app.workspace.user_dir).create(name, scopes or ("read",), label, days=days)
    detail = {"name": name, "scopes": " ".join(token.scopes)}
    app.audit.tell("serve", f"token {token.name}", decision="granted", detail=detail)

    def show() -> None:
        say(f"A token '{token.name}' ({', '.join(token.scopes)}). It is shown only now:")
        click.echo(secret)

    return CommandResult(
        "clawft.serve.token.v1",
        {
            "name": token.name,
            "scopes": list(token.scopes),
            "label": token.label,
            "created": token.created,
            "expires": token.expires,
            "token": secret,
        },
        show,
    )


_HEADS = ("NAME", "SCOPES", "STATE", "CREATED", "EXPIRES", "LABEL")


@click.command("list")
@format_option
def list_command() -> CommandResult:
    """List the tokens of the daemon: what they allow, and until when."""
    tokens = ServeTokens(open_here().workspace.user_dir).all()
    rows = [
        {
            "name": token.name,
            "scopes": list(token.scopes),
            "label": token.label,
            "state": "expired" if token.is_over else "valid",
            "created": token.created,
            "expires": token.expires,
        }
        for token in tokens
    ]

    def show() -> None:
        if not tokens:
            return say("No tokens but your own. Make one: weft serve token new NAME --scope read")
        table = [
            (
                token.name,
                " ".join(token.scopes),
                "expired" if token.is_over else "valid",
                token.created[:10],
                token.expires[:10] or "never",
                one_line(token.label),
            )
            for token in tokens
        ]
        return print_table(_HEADS, table, wide=5)

    return CommandResult("clawft.serve.tokens.v1", {"tokens": rows}, show)


@click.command("remove")
@click.argument("name", metavar="NAME", shell_complete=complete_serve_tokens)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(name: str, yes: bool) -> CommandResult:
    """Remove a token at once and for good; clients connected with it are disconnected."""
    app = open_here()
    tokens = ServeTokens(app.workspace.user_dir)
    token = tokens.get(name)
    agreed = yes or confirm(f"Remove the token '{token.name}'?", "Removing a token")
    if agreed:
        app.audit.write("serve", f"token {token.name}", decision="revoked", detail={"name": token.name})
        tokens.remove(token.name)
    return CommandResult(
        "clawft.serve.token.remove.v1",
        {"name": token.name, "removed": agreed},
        lambda: say(f"Removed: {token.name}" if agreed else "Nothing was changed"),
        0 if agreed else 1,
    )
