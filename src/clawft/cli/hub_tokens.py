"""`weft hub token`: create, list and revoke tokens of the registry."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from clawft.cli.completion import completes, open_app_for
from clawft.cli.hub import folder_option, get_store, hub_command, open_hub
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.prompts import confirm
from clawft.errors import NotFound, find_close
from clawft.server.hub.model import SCOPES, HubToken
from clawft.server.hub.tokens import HubTokens


@completes
def complete_hub_tokens(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    with get_store(open_app_for(ctx), ctx.params.get("folder")) as store:
        for token, _ in HubTokens(store).list():
            yield token.id, f"{token.owner} {token.label}"


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
def new_command(owner: str, scopes: tuple[str, ...], label: str, days: int, folder: str | None) -> CommandResult:
    """Make a token for an owner. It is printed once, and cannot be shown again."""
    app = open_here()
    with open_hub(app, folder) as store:
        secret, token = HubTokens(store).create(owner, scopes or ("read", "publish"), label, days=days)
    detail = {"owner": owner, "scopes": " ".join(token.scopes)}
    app.audit.tell("hub", f"token {token.id} for {token.owner}", decision="granted", detail=detail)

    def show() -> None:
        say(f"A token for {token.owner} ({', '.join(token.scopes)}), known as {token.id}. It is shown only now:")
        click.echo(secret)

    return CommandResult(
        "clawft.hub.token.v1",
        {
            "id": token.id,
            "owner": token.owner,
            "scopes": list(token.scopes),
            "label": token.label,
            "created": token.created,
            "expires": token.expires,
            "token": secret,
        },
        show,
    )


_HEADS = ("ID", "OWNER", "SCOPES", "STATE", "EXPIRES", "LAST USED", "LABEL")


@click.command("list")
@folder_option
@format_option
def list_command(folder: str | None) -> CommandResult:
    """List the tokens of the hub: whose they are, what they allow, until when, and when they were last used."""
    with get_store(open_here(), folder) as store:
        tokens = HubTokens(store).list()
    rows = [
        {
            "id": token.id,
            "owner": token.owner,
            "scopes": list(token.scopes),
            "label": token.label,
            "state": _state(token),
            "created": token.created,
            "expires": token.expires,
            "revoked": token.revoked,
            "used": used,
        }
        for token, used in tokens
    ]

    def show() -> None:
        if not tokens:
            return say(f"No tokens yet. Make one: {hub_command('token new OWNER', folder)}")
        table = [
            (
                token.id,
                token.owner,
                " ".join(token.scopes),
                _state(token),
                _day(token.expires),
                _day(used),
                one_line(token.label),
            )
            for token, used in tokens
        ]
        return print_table(_HEADS, table, wide=6)

    return CommandResult("clawft.hub.tokens.v1", {"tokens": rows}, show)


def _state(token: HubToken) -> str:
    if token.revoked:
        return "revoked"
    return "expired" if token.expires and token.expires <= time.time() * 1000 else "valid"


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d %H:%M") if moment else "never"


@click.command("revoke")
@click.argument("token_id", metavar="ID", shell_complete=complete_hub_tokens)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@folder_option
@format_option
def revoke_command(token_id: str, yes: bool, folder: str | None) -> CommandResult:
    """Revoke a token at once and for good. `weft hub token list` shows its ID."""
    app = open_here()
    with get_store(app, folder) as store:
        tokens = HubTokens(store)
        known = {token.id: token for token, _ in tokens.list()}
        if token_id not in known:
            close = find_close(token_id, known)
            hint = f"Did you mean '{close}'?" if close else f"Run: {hub_command('token list', folder)}"
            raise NotFound("hub-token", f"There is no token '{token_id[:60]}'", hint=hint)
        one = known[token_id]
        agreed = yes or confirm(f"Revoke {one.id} of {one.owner}?", "Revoking a token")
        if agreed:
            app.audit.write("hub", f"token {one.id} of {one.owner}", decision="revoked", detail={"owner": one.owner})
            tokens.revoke(one.id)
    return CommandResult(
        "clawft.hub.token.revoke.v1",
        {"id": one.id, "owner": one.owner, "revoked": agreed},
        lambda: say(f"Revoked: {one.id} of {one.owner}" if agreed else "Nothing was changed"),
        0 if agreed else 1,
    )
