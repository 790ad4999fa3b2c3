"""`weft memory search QUERY…`: facts, notes and history that fit."""

import click
import msgspec

from clawft.cli.memory._open import find_backend, open_here_memory, say_empty, use_brought, warn_of_damage
from clawft.cli.options import format_option
from clawft.cli.output import print_json, print_table, say

__all__ = ["command"]


@click.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many to show.")
@format_option
def command(words: tuple[str, ...], limit: int, output: str) -> None:
    """Find what is remembered, best first: facts, your own notes, and what happened."""
    query = " ".join(words)
    with open_here_memory() as (app, memory):
        if name := find_backend(app):
            results = use_brought(app, name, lambda brought: brought.search(query, limit))
        else:
            results = memory.search(query, limit)
            warn_of_damage(app, memory)
        if output == "json":
            return print_json("clawft.memory.search.v1", query=query, results=msgspec.to_builtins(results))
        if results:
            rows = [(one.key, one.value, f"{one.score:.2f}") for one in results]
            print_table(("KEY", "TEXT", "SCORE"), rows, wide=1)
        elif not name and memory.is_empty:
            say_empty(app, memory)
        else:
            say(f"Nothing in the memory matches '{query}'")
    return None
