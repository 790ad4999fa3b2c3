"""`weft hub token revoke`."""

import click

from clawft.cli._complete import complete_hub_tokens
from clawft.cli._confirm import confirm
from clawft.cli.hub._open import folder_option, hub_command, need_store
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say
from clawft.errors import NotFound, find_close
from clawft.hub.tokens import HubTokens

__all__ = ["command"]


@click.command("revoke")
@click.argument("token_id", metavar="ID", shell_complete=complete_hub_tokens)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@folder_option
@format_option
def command(token_id: str, yes: bool, folder: str | None, output: str) -> int:
    """Let a token count no more, at once and for good; its ID is what `weft hub token list` says."""
    app = open_here()
    with need_store(app, folder) as store:
        tokens = HubTokens(store)
        known = {one.id: one for one, _ in tokens.list()}
        if token_id not in known:
            close = find_close(token_id, known)
            hint = f"Did you mean '{close}'?" if close else f"Run: {hub_command('token list', folder)}"
            raise NotFound("hub-token", f"There is no token '{token_id[:60]}'", hint=hint)
        one = known[token_id]
        agreed = yes or confirm(f"Revoke {one.id} of {one.owner}?", "Revoking a token")
        if agreed:
            app.audit.write("hub", f"token {one.id} of {one.owner}", decision="revoked", detail={"owner": one.owner})
            tokens.revoke(one.id)
    if output == "json":
        print_json("clawft.hub.token.revoke.v1", id=one.id, owner=one.owner, revoked=agreed)
    else:
        say(f"Revoked: {one.id} of {one.owner}" if agreed else "Nothing was changed")
    return 0 if agreed else 1
