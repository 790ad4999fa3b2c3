"""`weft registries list`: which registries are asked, and how. Nothing is sent to any."""

import click
import msgspec

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.describe.registries import describe_registries

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List the registries that are asked, the default one first. Nothing is sent to them.

    A name without a registry before it, as in `weft skills install NAME`, means the default one.
    """
    app = open_here()
    listed = describe_registries(app)
    if output == "json":
        return print_json("clawft.registries.list.v1", registries=msgspec.to_builtins(listed))
    if not listed:
        return say("No registry is in use. To add one: weft registries add NAME URL")
    rows = [(one.name, one.url, one.kind, one.token or "", "yes" if one.default else "") for one in listed]
    return print_table(("NAME", "ADDRESS", "KIND", "TOKEN", "DEFAULT"), rows, wide=1)
