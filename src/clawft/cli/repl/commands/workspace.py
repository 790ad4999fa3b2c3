"""`/undo`, `/workspace` and `/memory`: files of this folder, and what agents remember."""

from collections.abc import Iterable, Sequence
from contextlib import closing

from clawft.agent.memory import MemoryFiles, open_memory
from clawft.agent.tools.file_changes import UndoPlan, UndoStep, find_undo
from clawft.agent.tools.file_changes import run_undo as restore_files
from clawft.app.plugin_host import use_memory
from clawft.cli.memory import empty_text, find_backend
from clawft.cli.output import clean, one_line, table_lines
from clawft.cli.repl.command import complete_names, print_diagnostics, print_facts, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.skills.list import count_skills
from clawft.config import read_configs
from clawft.contracts import MemoryResult
from clawft.git import current_branch
from clawft.messages import Message

_FLAGS = ("--yes", "--redo")
_YES = ("y", "yes")


async def run_undo(repl: ReplContext, rest: str) -> None:
    words = rest.split()
    if not set(words) <= set(_FLAGS):
        repl.screen.print("Usage: /undo [--redo] [--yes]")
        return
    redo, keep_dir = "--redo" in words, await _open(repl)
    undo = find_undo(keep_dir, repl.app.workspace.project, redo=redo) if keep_dir else None
    if undo is None:
        repl.screen.print(f"There is nothing to {'redo' if redo else 'undo'}: no edits of this session are left to it")
        return
    repl.screen.print(f"{'Redo' if redo else 'Undo'} the edits of turn {undo.turn}:")
    print_lines(repl, [f"  {_describe(repl, step)}" for step in undo.steps])
    chosen = _untouched(undo) if "--yes" in words else await _ask(repl, undo)
    done = _restore(repl, keep_dir, undo, chosen, back="/undo" if redo else "/undo --redo")
    if done:
        await _tell_model(repl, f"{'made your edits again' if redo else 'took your edits back'}: {', '.join(done)}")


async def _open(repl: ReplContext) -> str:
    """Return the folder of this session's original files once no other process can write to it; '' without a
    session."""
    if not repl.key:
        return ""
    conversation = await repl.talk()
    return conversation.runtime.spill_dir(conversation.session.key)


async def _tell_model(repl: ReplContext, what: str) -> None:
    """It would go on as if its edits were there; now it reads of it with the next message."""
    conversation = await repl.talk()
    session = conversation.session
    text = conversation.runtime.secrets.mask(f"[The person {what}. Read these files again before you rely on them.]")
    session.append(Message("user", text), session.next_turn - 1)


def _describe(repl: ReplContext, step: UndoStep) -> str:
    shown = _show_undo(repl, step)
    if step.problem:
        return f"leave    {shown}: {one_line(step.problem)}"
    what = "restore" if step.saved else "remove "
    return f"{what}  {shown}" + (" (changed since by somebody else)" if step.changed else "")


def _show_undo(repl: ReplContext, step: UndoStep) -> str:
    return one_line(repl.app.workspace.shorten(step.path))


def _untouched(undo: UndoPlan) -> list[str]:
    return [step.path for step in undo.steps if not step.changed and not step.problem]


async def _ask(repl: ReplContext, undo: UndoPlan) -> list[str]:
    """The files that the person wants back: those the agent left so all at once, the others one by one."""
    chosen = _untouched(undo)
    if chosen and not await _agrees(repl, f"{'Go on' if len(chosen) > 1 else 'Do it'}? [y/N] "):
        return []
    for step in undo.steps:
        if step.changed and not step.problem:
            question = f"{_show_undo(repl, step)} was changed since the agent's edit. Undo that too? [y/N] "
            chosen += [step.path] if await _agrees(repl, question) else []
    return chosen


async def _agrees(repl: ReplContext, question: str) -> bool:
    try:
        return (await repl.reader.ask(question)).strip().lower() in _YES
    except (EOFError, KeyboardInterrupt):
        return False


def _restore(repl: ReplContext, keep_dir: str, undo: UndoPlan, chosen: list[str], *, back: str) -> list[str]:
    """Do it, and say what was done; the files that were."""
    results = restore_files(keep_dir, undo, chosen)
    shown = {path: one_line(repl.app.workspace.shorten(path)) for path in results}
    for path, why in results.items():
        if why:
            repl.screen.print(f"{shown[path]} stays as it is: {one_line(why)}")
    done, left = [shown[path] for path, why in results.items() if not why], len(undo.steps) - len(results)
    if done:
        rest = f"; {left} left as {'it is' if left == 1 else 'they are'}" if left else ""
        repl.screen.print(f"Done: {len(done)} file{'s' * (len(done) != 1)}{rest}. {back} takes this back")
    else:
        repl.screen.print("Nothing was changed")
    return done


def complete_undo(_repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names(_FLAGS, partial)


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
