"""`weft skills stats`: which skills were offered and loaded, and which never were."""

import click
import msgspec

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table

__all__ = ["command"]


@click.command("stats")
@click.option("--unused", is_flag=True, help="Only skills that were never loaded.")
@format_option
def command(unused: bool, output: str) -> None:
    """Show how often each skill was offered to a model and loaded, and how the turns went."""
    from clawft.run.stats import SkillUse, load_uses  # `weft skills --help` needs none of what turns need

    app = open_here()
    here = {one.name for one in app.skills if one.usable}
    uses = {name: SkillUse(name) for name in here} | load_uses(app.user_file("usage.sqlite"))
    shown = sorted(uses.values(), key=lambda one: (-one.loaded, one.name))
    if unused:
        shown = [one for one in shown if not one.loaded]
    if output == "json":
        skills = [{**msgspec.to_builtins(one), "here": one.name in here} for one in shown]
        return print_json("clawft.skills.stats.v1", skills=skills)
    rows = [
        (
            one.name,
            str(one.offered),
            str(one.loaded),
            f"{one.score:.2f}" if one.loaded else "-",
            one.last_loaded[:10] or ("never" if one.name in here else "never (gone)"),
        )
        for one in shown
    ]
    print_table(("NAME", "OFFERED", "LOADED", "SCORE", "LAST LOADED"), rows, wide=0)
    return None
