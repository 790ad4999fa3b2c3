"""`weft memory show [KEY]`: the facts, or one of them."""

import click
import msgspec

from clawft.app import App
from clawft.cli.memory._open import find_backend, open_here_memory, say_empty, use_brought, warn_of_damage
from clawft.cli.options import format_option
from clawft.cli.output import clean, one_line, print_json, say
from clawft.errors import NotFound, find_close
from clawft.memory import MemoryBackend, MemoryFiles

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
        if name := find_backend(app):
            _show_brought(app, name, key, output)
        elif key is None:
            _show_all(app, memory, output)
        else:
            _show_one(memory, key, output)


def _show_all(app: App, memory: MemoryFiles, output: str) -> None:
    entries, text = memory.load_entries(), memory.read_memory()
    warn_of_damage(app, memory)
    if output == "json":
        return print_json(SCHEMA, folder=memory.folder, entries=msgspec.to_builtins(entries))
    if not text.strip():
        return say_empty(app, memory)
    return click.echo(clean(text.rstrip()))


def _show_brought(app: App, name: str, key: str | None, output: str) -> None:
    """The same for the memory of a plugin, which has keys and their texts and nothing else."""

    def load(memory: MemoryBackend) -> list[tuple[str, str]]:
        if key is not None:
            return [(key.strip(), _get(memory, key))]
        return [(one, memory.retrieve(one) or "") for one in memory.list_keys()]

    entries = use_brought(app, name, load)
    if output == "json":
        plain = [{"key": one, "value": value, "metadata": None} for one, value in entries]
        return print_json(SCHEMA, folder="", backend=name, entries=plain)
    if key is not None:
        return click.echo(clean(entries[0][1]))
    if not entries:
        return say(f"Nothing is remembered yet in the memory '{one_line(name)}'.")
    return click.echo(clean("\n\n".join(f"## {one}\n\n{value.strip()}" for one, value in entries)))


def _get(memory: MemoryBackend, key: str) -> str:
    """Raises: NotFound."""
    value = memory.retrieve(key)
    if value is None:
        close = find_close(key, memory.list_keys())
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft memory show"
        raise NotFound("memory-not-found", f"Nothing is remembered under '{key}'", hint=hint)
    return value


def _show_one(memory: MemoryFiles, key: str, output: str) -> None:
    value = _get(memory, key)
    if output == "json":
        named = [one for one in memory.load_entries() if one.key == key.strip()]
        metadata = named[0].metadata if named else None
        return print_json(SCHEMA, folder=memory.folder, entries=[{"key": key, "value": value, "metadata": metadata}])
    return click.echo(clean(value))
