"""`weft memory`: show, search and reindex long-term memory."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TypeVar

import anyio
import click
import msgspec

from clawft.agent.memory import MemoryBackend, MemoryFiles, open_memory
from clawft.app.app import App
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, print_table, say, show_diagnostics
from clawft.config.agents import FILES
from clawft.errors import ClawftError, NotFound, find_close

T = TypeVar("T")


@contextmanager
def open_here_memory() -> Iterator[tuple[App, MemoryFiles]]:
    """The app and its memory, closed afterwards. Raises: ClawftError."""
    app = open_here()
    with closing(open_memory(app.workspace, app.config.memory)) as memory:
        yield app, memory


def find_backend(app: App) -> str:
    """The name of the memory that a plugin brings, if the user chose one; '' for the files."""
    name = app.own_config.memory.backend
    return "" if name == FILES else name


def run_with_plugin_memory(app: App, name: str, work: Callable[[MemoryBackend], T]) -> T:
    """Do something with the memory of a plugin. Raises: ClawftError."""
    from clawft.app.plugin_host import use_memory  # few have one

    return anyio.run(use_memory, app, name, work)


def check_files(app: App) -> None:
    """Raises: ClawftError where the memory is not in files, so that nothing is done to the wrong one."""
    if name := find_backend(app):
        message = f"The memory is '{name}', which a plugin brings; this works on the files of the built-in one"
        raise ClawftError("memory-not-files", message, hint="See memory.backend: weft config get memory.backend")


def empty_text(app: App, memory: MemoryFiles) -> str:
    where = one_line(app.workspace.shorten(memory.folder))
    what = "Nothing is" if memory.is_empty else "No facts are"
    text = f"{what} remembered yet. Agents keep facts with memory_write; you may write {where}/MEMORY.md yourself."
    return text if memory.is_empty else f"{text} What happened is found by: weft memory search"


def warn_of_damage(app: App, memory: MemoryFiles) -> None:
    show_diagnostics((*memory.check_files(), *memory.check_index()), app.workspace.shorten)


SCHEMA = "clawft.memory.show.v1"


@click.command("show")
@click.argument("key", required=False)
@format_option
def show_command(key: str | None) -> CommandResult:
    """Show what is remembered: all of MEMORY.md, or the text of one KEY.

    A KEY may also be a place that `search` names, as in HISTORY.md:12.
    """
    with open_here_memory() as (app, memory):
        if name := find_backend(app):
            return _show_brought(app, name, key)
        return _show_all(app, memory) if key is None else _show_one(memory, key)


def _show_all(app: App, memory: MemoryFiles) -> CommandResult:
    entries, text = memory.load_entries(), memory.read_memory()
    warn_of_damage(app, memory)
    empty = "" if text.strip() else empty_text(app, memory)
    document = {"folder": memory.folder, "entries": msgspec.to_builtins(entries)}
    return CommandResult(SCHEMA, document, partial(say, empty) if empty else clean(text.rstrip()))


def _show_brought(app: App, name: str, key: str | None) -> CommandResult:
    """Show the memory of a plugin, which has keys and their texts and nothing else."""

    def load(memory: MemoryBackend) -> list[tuple[str, str]]:
        if key is not None:
            return [(key.strip(), _get(memory, key))]
        return [(key, memory.retrieve(key) or "") for key in memory.list_keys()]

    entries = run_with_plugin_memory(app, name, load)
    plain = [{"key": entry_key, "value": value, "metadata": None} for entry_key, value in entries]

    def show() -> None:
        if key is not None:
            return click.echo(clean(entries[0][1]))
        if not entries:
            return say(f"Nothing is remembered yet in the memory '{one_line(name)}'.")
        return click.echo(clean("\n\n".join(f"## {entry_key}\n\n{value.strip()}" for entry_key, value in entries)))

    return CommandResult(SCHEMA, {"folder": "", "backend": name, "entries": plain}, show)


def _get(memory: MemoryBackend, key: str) -> str:
    """Raises: NotFound."""
    value = memory.retrieve(key)
    if value is None:
        close = find_close(key, memory.list_keys())
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft memory show"
        raise NotFound("memory-not-found", f"Nothing is remembered under '{key}'", hint=hint)
    return value


def _show_one(memory: MemoryFiles, key: str) -> CommandResult:
    value = _get(memory, key)
    named = [entry for entry in memory.load_entries() if entry.key == key.strip()]
    metadata = named[0].metadata if named else None
    return CommandResult(
        SCHEMA, {"folder": memory.folder, "entries": [{"key": key, "value": value, "metadata": metadata}]}, clean(value)
    )


@click.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many to show.")
@format_option
def search_command(words: tuple[str, ...], limit: int) -> CommandResult:
    """Find what is remembered, best first: facts, your own notes, and what happened."""
    query = " ".join(words)
    with open_here_memory() as (app, memory):
        if name := find_backend(app):
            results = run_with_plugin_memory(app, name, lambda brought: brought.search(query, limit))
        else:
            results = memory.search(query, limit)
            warn_of_damage(app, memory)
        empty = empty_text(app, memory) if not name and memory.is_empty else f"Nothing in the memory matches '{query}'"

    def show() -> None:
        if not results:
            return say(empty)
        rows = [(result.key, result.value, f"{result.score:.2f}") for result in results]
        return print_table(("KEY", "TEXT", "SCORE"), rows, wide=1)

    return CommandResult("clawft.memory.search.v1", {"query": query, "results": msgspec.to_builtins(results)}, show)


@click.command("reindex")
@format_option
def reindex_command() -> CommandResult:
    """Make the index anew, with the embedding that is configured. What is remembered stays as it is."""
    start = time.perf_counter()
    with open_here_memory() as (app, memory):
        check_files(app)
        done = memory.reindex()
    elapsed_ms = round((time.perf_counter() - start) * 1000)
    values = {"entries": done.entries, "embedding": done.embedding, "elapsed_ms": elapsed_ms}

    def show() -> None:
        noun = "entry" if done.entries == 1 else "entries"
        return click.echo(f"Indexed {done.entries} {noun} with embedding version {done.embedding} in {elapsed_ms} ms")

    return CommandResult("clawft.memory.reindex.v1", values, show)
