"""`weft serve token list`."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say

__all__ = ["command"]

_HEADS = ("NAME", "SCOPES", "STATE", "CREATED", "EXPIRES", "LABEL")


@click.command("list")
@format_option
def command(output: str) -> None:
    """List the tokens of the daemon: what they allow, and until when."""
    from clawft.serve.tokens import ServeTokens

    tokens = ServeTokens(open_here().workspace.user_dir).all()
    if output == "json":
        rows = [
            {
                "name": one.name,
                "scopes": list(one.scopes),
                "label": one.label,
                "state": "expired" if one.is_over else "valid",
                "created": one.created,
                "expires": one.expires,
            }
            for one in tokens
        ]
        return print_json("clawft.serve.tokens.v1", tokens=rows)
    if not tokens:
        return say("No tokens but your own. Make one: weft serve token new NAME --scope read")
    table = [
        (
            one.name,
            " ".join(one.scopes),
            "expired" if one.is_over else "valid",
            one.created[:10],
            one.expires[:10] or "never",
            one_line(one.label),
        )
        for one in tokens
    ]
    print_table(_HEADS, table, wide=5)
    return None
