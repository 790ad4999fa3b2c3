"""`weft skills search`: which of the skills here fit a request."""

import click

from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.discovery.ranking import match_context

__all__ = ["command"]


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many to show.")
@format_option
@dir_option
def command(words: tuple[str, ...], limit: int, output: str, dirs: tuple[str, ...]) -> None:
    """Find skills by what they are for, best first."""
    app = open_here(dirs)
    query = " ".join(words)
    states = {id(one.found.skill): one.state for one in app.skills if one.state != "shadowed"}
    skills = [one.found.skill for one in app.skills if one.found.skill and one.state != "shadowed"]
    ranked = match_context(query, skills, limit)
    if output == "json":
        results = [
            {
                "name": one.skill.name,
                "score": one.score,
                "description": one.skill.description,
                "state": states[id(one.skill)],
            }
            for one in ranked
        ]
        return print_json("clawft.skills.search.v1", query=query, results=results)
    if ranked:
        rows = [(one.skill.name, one.skill.description, states[id(one.skill)], f"{one.score:.1f}") for one in ranked]
        print_table(("NAME", "DESCRIPTION", "STATE", "SCORE"), rows, wide=1)
    else:
        say(f"No skill matches '{query}'")
    return None
