"""`weft skills search`: which of the skills here, or of those in registries, fit a request."""

import click

from clawft.cli.completion import complete_registries
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import CommandResult, print_table, say
from clawft.skills.discovery.ranking import match_context

MAX_HITS = 100  # of registries


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many to show.")
@click.option("--hub", is_flag=True, help="Ask the registries instead: what could be installed.")
@click.option("--registry", metavar="NAME", default="", help="Ask this one only.", shell_complete=complete_registries)
@format_option
@dir_option
def command(words: tuple[str, ...], limit: int, hub: bool, registry: str, dirs: tuple[str, ...]) -> CommandResult:
    """Find skills by what they are for, best first: among those here, or with --hub in the registries.

    Every registry of `weft registries list` is asked, side by side; one that does not answer is named.
    """
    app = open_here(dirs)
    query = " ".join(words)
    if hub or registry:
        from clawft.cli.skills.registry import search_all_registries  # what is here needs no network

        return search_all_registries(app, query, min(limit, MAX_HITS), registry)
    states = {id(skill.found.skill): skill.state for skill in app.skills if skill.state != "shadowed"}
    skills = [skill.found.skill for skill in app.skills if skill.found.skill and skill.state != "shadowed"]
    ranked = match_context(query, skills, limit)
    results = [
        {
            "name": found.skill.name,
            "score": found.score,
            "description": found.skill.description,
            "state": states[id(found.skill)],
        }
        for found in ranked
    ]

    def show() -> None:
        if not ranked:
            return say(f"No skill matches '{query}'")
        rows = [
            (found.skill.name, found.skill.description, states[id(found.skill)], f"{found.score:.1f}")
            for found in ranked
        ]
        return print_table(("NAME", "DESCRIPTION", "STATE", "SCORE"), rows, wide=1)

    return CommandResult("clawft.skills.search.v1", {"query": query, "results": results}, show)
