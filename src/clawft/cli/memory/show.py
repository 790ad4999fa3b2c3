"""`weft memory show [KEY]`: the facts, or one of them."""

import click
import msgspec

from clawft.app import App
from clawft.cli.memory._open import open_here_memory, say_empty
from clawft.cli.options import format_option
from clawft.cli.output import clean, print_json
from clawft.errors import NotFound, find_close
from clawft.memory import MemoryFiles

__all__ = ["command"]

SCHEMA = "clawft.memory.show.v1"


@click.command("show")
@click.argument("key", required=False)
@format_option
def command(key: str | None, output: str) -> None:
    """Show what is remembered: all of MEMORY.md, or the text of one KEY.

    A KEY may also be a place that `search` names, as in HISTORY.md:12.
    """
    with open_here_memory() as (app, memory):
        if key is None:
            _show_all(app, memory, output)
        else:
            _show_one(memory, key, output)


def _show_all(app: App, memory: MemoryFiles, output: str) -> None:
    entries, text = memory.load_entries(), memory.read_memory()
    if output == "json":
        return print_json(SCHEMA, folder=memory.folder, entries=msgspec.to_builtins(entries))
    if not text.strip():
        return say_empty(app, memory)
    return click.echo(clean(text.rstrip()))


def _show_one(memory: MemoryFiles, key: str, output: str) -> None:
    value = memory.retrieve(key)
    if value is None:
        close = find_close(key, memory.list_keys())
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft memory show"
        raise NotFound("memory-not-found", f"Nothing is remembered under '{key}'", hint=hint)
    if output == "json":
        named = [one for one in memory.load_entries() if one.key == key.strip()]
        metadata = named[0].metadata if named else None
        return print_json(SCHEMA, folder=memory.folder, entries=[{"key": key, "value": value, "metadata": metadata}])
    return click.echo(clean(value))
