"""`weft memory reindex`: make the index of the memory anew (R101)."""

import time

import click

from clawft.cli.memory._open import check_files, open_here_memory
from clawft.cli.options import format_option
from clawft.cli.output import print_json

__all__ = ["command"]


@click.command("reindex")
@format_option
def command(output: str) -> None:
    """Make the index anew, with the embedding that is configured. What is remembered stays as it is."""
    start = time.perf_counter()
    with open_here_memory() as (app, memory):
        check_files(app)
        done = memory.reindex()
    elapsed_ms = round((time.perf_counter() - start) * 1000)
    if output == "json":
        values = {"entries": done.entries, "embedding": done.embedding, "elapsed_ms": elapsed_ms}
        return print_json("clawft.memory.reindex.v1", **values)
    noun = "entry" if done.entries == 1 else "entries"
    return click.echo(f"Indexed {done.entries} {noun} with embedding version {done.embedding} in {elapsed_ms} ms")
