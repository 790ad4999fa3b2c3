"""`weft skills stats`: which skills were offered and loaded, and which never were."""

import click
import msgspec

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table
from clawft.describe.usage import describe_uses

__all__ = ["command"]


@click.command("stats")
@click.option("--unused", is_flag=True, help="Only skills that were never loaded.")
@format_option
def command(unused: bool, output: str) -> None:
    """Show how often each skill was offered to a model and loaded, and how the turns went."""
    app = open_here()
    shown = describe_uses(app)
    if unused:
        shown = [one for one in shown if not one.loaded]
    if output == "json":
        return print_json("clawft.skills.stats.v1", skills=msgspec.to_builtins(shown))
    rows = [
        (
            one.name,
            str(one.offered),
            str(one.loaded),
            f"{one.score:.2f}" if one.loaded else "-",
            one.last_loaded[:10] or ("never" if one.here else "never (gone)"),
        )
        for one in shown
    ]
    print_table(("NAME", "OFFERED", "LOADED", "SCORE", "LAST LOADED"), rows, wide=0)
    return None
