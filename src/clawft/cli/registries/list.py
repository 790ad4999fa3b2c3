"""`weft registries list`: which registries are asked, and how. Nothing is sent to any."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.config.registries import own_registries

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List the registries that are asked, the default one first. Nothing is sent to them.

    A name without a registry before it, as in `weft skills install NAME`, means the default one.
    """
    app = open_here()
    known = own_registries(app.config, app.workspace.user_dir, app.environ)
    rows = []
    for name, one in known.items():
        token = (
            "" if one.token is None else str(one.token) if one.token.is_known(app.environ) else f"{one.token} (not set)"
        )
        rows.append((name, one.url, one.kind, token))
    if output == "json":
        listed = [
            {"name": name, "url": url, "kind": kind, "token": token or None, "default": not number}
            for number, (name, url, kind, token) in enumerate(rows)
        ]
        return print_json("clawft.registries.list.v1", registries=listed)
    if not rows:
        return say("No registry is in use. To add one: weft registries add NAME URL")
    marked = [(*row, "" if number else "yes") for number, row in enumerate(rows)]
    return print_table(("NAME", "ADDRESS", "KIND", "TOKEN", "DEFAULT"), marked, wide=1)
