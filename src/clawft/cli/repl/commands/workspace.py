"""`/workspace` and `/memory`: this folder, and what agents remember."""

from collections.abc import Iterable, Sequence
from contextlib import closing

from clawft.agent.memory import MemoryFiles, open_memory
from clawft.app.plugin_host import use_memory
from clawft.cli.memory import empty_text, find_backend
from clawft.cli.output import clean, one_line, table_lines
from clawft.cli.repl.command import complete_names, print_diagnostics, print_facts, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.skills.list import count_skills
from clawft.config import read_configs
from clawft.contracts import MemoryResult
from clawft.git import current_branch


async def run_workspace(repl: ReplContext, _rest: str) -> None:
    app, at = repl.app, repl.app.workspace
    configs = list(read_configs(at))
    marked = "" if at.marked else " (no .clawft/ folder marks one, so this folder is it)"
    ready = sum(agent.state == "ready" for agent in app.agents)
    facts = [
        ("Project", at.project + marked),
        ("Folder", at.cwd if at.cwd != at.project else ""),
        ("Branch", current_branch(at.project) or ""),
        ("Your folder", at.shorten(at.user_dir)),
        ("Config", ", ".join(map(at.shorten, configs)) or "none"),
        ("Skills", count_skills(app.skills)),
        ("Agents", f"{len(app.agents)} agent{'s' * (len(app.agents) != 1)}: {ready} ready"),
    ]
    print_facts(repl, [(label, one_line(value)) for label, value in facts])


_LIMIT = 10


async def run_memory(repl: ReplContext, rest: str) -> None:
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


async def _run_brought(repl: ReplContext, name: str, query: str) -> None:
    """Run `/memory` on the memory of a plugin."""
    if query:
        _show_memory(repl, query, await use_memory(repl.app, name, lambda memory: memory.search(query, _LIMIT)))
        return
    keys = await use_memory(repl.app, name, lambda memory: memory.list_keys())
    repl.screen.print(f"Keys in the memory '{one_line(name)}':" if keys else f"'{one_line(name)}' is empty.")
    print_lines(repl, [f"  {one_line(key)}" for key in keys])


def _search(repl: ReplContext, memory: MemoryFiles, query: str) -> None:
    results = memory.search(query, _LIMIT)
    print_diagnostics(repl, memory.check_index())
    _show_memory(repl, query, results)


def _show_memory(repl: ReplContext, query: str, results: Sequence[MemoryResult]) -> None:
    rows = [(result.key, result.value, f"{result.score:.2f}") for result in results]
    if rows:
        print_lines(repl, table_lines(("KEY", "TEXT", "SCORE"), rows, wide=1, columns=repl.screen.width))
    else:
        repl.screen.print(f"Nothing in the memory matches '{one_line(query)}'")


def complete_memory(_repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names(("search",), partial)
