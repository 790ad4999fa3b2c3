"""`weft hub token list`."""

import time
from datetime import UTC, datetime

import click

from clawft.cli.hub._open import folder_option, hub_command, need_store
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.hub.model import HubToken
from clawft.hub.tokens import HubTokens

__all__ = ["command"]

_HEADS = ("ID", "OWNER", "SCOPES", "STATE", "EXPIRES", "LAST USED", "LABEL")


@click.command("list")
@folder_option
@format_option
def command(folder: str | None, output: str) -> None:
    """List the tokens of the hub: whose they are, what they allow, until when, and when they were last used."""
    with need_store(open_here(), folder) as store:
        tokens = HubTokens(store).list()
    if output == "json":
        rows = [
            {
                "id": one.id,
                "owner": one.owner,
                "scopes": list(one.scopes),
                "label": one.label,
                "state": _state(one),
                "created": one.created,
                "expires": one.expires,
                "revoked": one.revoked,
                "used": used,
            }
            for one, used in tokens
        ]
        return print_json("clawft.hub.tokens.v1", tokens=rows)
    if not tokens:
        return say(f"No tokens yet. Make one: {hub_command('token new OWNER', folder)}")
    table = [
        (one.id, one.owner, " ".join(one.scopes), _state(one), _day(one.expires), _day(used), one_line(one.label))
        for one, used in tokens
    ]
    print_table(_HEADS, table, wide=6)
    return None


def _state(token: HubToken) -> str:
    if token.revoked:
        return "revoked"
    return "expired" if token.expires and token.expires <= time.time() * 1000 else "valid"


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d %H:%M") if moment else "never"
