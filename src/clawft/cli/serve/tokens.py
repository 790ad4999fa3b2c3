"""`weft serve token`: create, list and remove tokens of the daemon."""

import click

from clawft.cli.completion import complete_serve_tokens
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.cli.prompts import confirm


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
def new_command(name: str, scopes: tuple[str, ...], label: str, days: int, output: str) -> None:
    """Make a token. It is printed once, and cannot be shown again; a daemon that runs knows it at once.

    What is done with it is logged under its NAME, and its sessions are its own.
    """
    from clawft.server.tokens import ServeTokens

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


_HEADS = ("NAME", "SCOPES", "STATE", "CREATED", "EXPIRES", "LABEL")


@click.command("list")
@format_option
def list_command(output: str) -> None:
    """List the tokens of the daemon: what they allow, and until when."""
    from clawft.server.tokens import ServeTokens

    tokens = ServeTokens(open_here().workspace.user_dir).all()
    if output == "json":
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
        return print_json("clawft.serve.tokens.v1", tokens=rows)
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
    print_table(_HEADS, table, wide=5)
    return None


@click.command("remove")
@click.argument("name", metavar="NAME", shell_complete=complete_serve_tokens)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(name: str, yes: bool, output: str) -> int:
    """Remove a token at once and for good; clients connected with it are disconnected."""
    from clawft.server.tokens import ServeTokens

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
