"""`/memory`, `/memory search QUERY`: what agents remember between sessions."""

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from clawft.cli.output import clean, one_line, table_lines
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.memory import MemoryFiles
    from clawft.repl.repl import Repl

__all__ = ["MEMORY"]

_HELP = "`/memory search QUERY` finds facts, your own notes, and what happened, best first."
_LIMIT = 10


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.memory._open import empty_text
    from clawft.memory import open_memory

    word, _, query = rest.partition(" ")
    if rest and (word != "search" or not query.strip()):
        repl.screen.print("Usage: /memory, or /memory search <query>")
        return
    with closing(open_memory(repl.app.workspace, repl.app.config.memory)) as memory:
        if memory.is_empty:
            repl.screen.print(empty_text(repl.app, memory))
        elif query:
            _search(repl, memory, query.strip())
        else:
            repl.screen.print(clean(memory.read_memory().rstrip()) or empty_text(repl.app, memory))


def _search(repl: "Repl", memory: "MemoryFiles", query: str) -> None:
    results = memory.search(query, _LIMIT)
    print_diagnostics(repl, memory.check_index())
    rows = [(one.key, one.value, f"{one.score:.2f}") for one in results]
    if rows:
        print_lines(repl, table_lines(("KEY", "TEXT", "SCORE"), rows, wide=1, columns=repl.screen.width))
    else:
        repl.screen.print(f"Nothing in the memory matches '{one_line(query)}'")


def _complete(_repl: "Repl", partial: str) -> Iterable[str]:
    return offer(("search",), partial)


MEMORY = SlashCommand("memory", "/memory", "Show memory summary", _run, _HELP, _complete)
