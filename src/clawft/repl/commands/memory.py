"""`/memory`, `/memory search QUERY`: what agents remember between sessions."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from clawft.cli.output import clean, one_line, table_lines
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.contracts import MemoryResult
    from clawft.memory import MemoryFiles
    from clawft.repl.repl import Repl

__all__ = ["MEMORY"]

_HELP = "`/memory search QUERY` finds facts, your own notes, and what happened, best first."
_LIMIT = 10


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.memory._open import empty_text, find_backend
    from clawft.memory import open_memory

    word, _, query = rest.partition(" ")
    if rest and (word != "search" or not query.strip()):
        repl.screen.print("Usage: /memory, or /memory search <query>")
        return
    if name := find_backend(repl.app):
        await _run_brought(repl, name, query.strip())
        return
    with closing(open_memory(repl.app.workspace, repl.app.config.memory)) as memory:
        if memory.is_empty:
            repl.screen.print(empty_text(repl.app, memory))
        elif query:
            _search(repl, memory, query.strip())
        else:
            repl.screen.print(clean(memory.read_memory().rstrip()) or empty_text(repl.app, memory))


async def _run_brought(repl: "Repl", name: str, query: str) -> None:
    """The same for the memory of a plugin."""
    from clawft.plugging import use_memory

    if query:
        _show(repl, query, await use_memory(repl.app, name, lambda memory: memory.search(query, _LIMIT)))
        return
    keys = await use_memory(repl.app, name, lambda memory: memory.list_keys())
    repl.screen.print(f"Keys in the memory '{one_line(name)}':" if keys else f"'{one_line(name)}' is empty.")
    print_lines(repl, [f"  {one_line(key)}" for key in keys])


def _search(repl: "Repl", memory: "MemoryFiles", query: str) -> None:
    results = memory.search(query, _LIMIT)
    print_diagnostics(repl, memory.check_index())
    _show(repl, query, results)


def _show(repl: "Repl", query: str, results: "Sequence[MemoryResult]") -> None:
    rows = [(one.key, one.value, f"{one.score:.2f}") for one in results]
    if rows:
        print_lines(repl, table_lines(("KEY", "TEXT", "SCORE"), rows, wide=1, columns=repl.screen.width))
    else:
        repl.screen.print(f"Nothing in the memory matches '{one_line(query)}'")


def _complete(_repl: "Repl", partial: str) -> Iterable[str]:
    return offer(("search",), partial)


MEMORY = SlashCommand("memory", "/memory", "Show memory summary", _run, _HELP, _complete)
