"""`weft skills search`: which of the skills here, or of those in registries, fit a request."""

from typing import Any

import click

from clawft.cli._complete import complete_registries
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.discovery.ranking import match_context

__all__ = ["command"]

MAX_HITS = 100  # of registries


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many to show.")
@click.option("--hub", is_flag=True, help="Ask the registries instead: what could be installed.")
@click.option("--registry", metavar="NAME", default="", help="Ask this one only.", shell_complete=complete_registries)
@format_option
@dir_option
def command(words: tuple[str, ...], limit: int, output: str, dirs: tuple[str, ...], **given: Any) -> int:
    """Find skills by what they are for, best first: among those here, or with --hub in the registries.

    Every registry of `weft registries list` is asked, side by side; one that does not answer is named.
    """
    app = open_here(dirs)
    query = " ".join(words)
    if given["hub"] or given["registry"]:
        from clawft.cli.skills._hub_search import search_hubs

        return search_hubs(app, query, min(limit, MAX_HITS), given["registry"], output)
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
        print_json("clawft.skills.search.v1", query=query, results=results)
        return 0
    if ranked:
        rows = [(one.skill.name, one.skill.description, states[id(one.skill)], f"{one.score:.1f}") for one in ranked]
        print_table(("NAME", "DESCRIPTION", "STATE", "SCORE"), rows, wide=1)
    else:
        say(f"No skill matches '{query}'")
    return 0
