"""`/undo`: files go back to what they held before the agent's last edits."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl
    from clawft.tools.undo import Step, Undo

__all__ = ["UNDO"]

_HELP = """\
Each /undo takes back one more turn's edits; `/undo --redo` brings the last ones back. It shows what it would do and
asks; `--yes` does not ask, and leaves alone what you changed since. What commands did to files is not undone."""
_FLAGS = ("--yes", "--redo")
_YES = ("y", "yes")


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.tools.undo import find_undo

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


async def _open(repl: "Repl") -> str:
    """Where this session's originals are, once nobody else can write to it; '' before there is a session."""
    if not repl.key:
        return ""
    conversation = await repl.talk()
    return conversation.runtime.spill_dir(conversation.session.key)


async def _tell_model(repl: "Repl", what: str) -> None:
    """It would go on as if its edits were there; now it reads of it with the next message."""
    from clawft.messages import Message

    conversation = await repl.talk()
    session = conversation.session
    text = conversation.runtime.secrets.mask(f"[The person {what}. Read these files again before you rely on them.]")
    session.append(Message("user", text), session.next_turn - 1)


def _describe(repl: "Repl", step: "Step") -> str:
    shown = _show(repl, step)
    if step.problem:
        return f"leave    {shown}: {one_line(step.problem)}"
    what = "restore" if step.saved else "remove "
    return f"{what}  {shown}" + (" (changed since by somebody else)" if step.changed else "")


def _show(repl: "Repl", step: "Step") -> str:
    return one_line(repl.app.workspace.shorten(step.path))


def _untouched(undo: "Undo") -> list[str]:
    return [step.path for step in undo.steps if not step.changed and not step.problem]


async def _ask(repl: "Repl", undo: "Undo") -> list[str]:
    """The files that the person wants back: those the agent left so all at once, the others one by one."""
    chosen = _untouched(undo)
    if chosen and not await _agrees(repl, f"{'Go on' if len(chosen) > 1 else 'Do it'}? [y/N] "):
        return []
    for step in undo.steps:
        if step.changed and not step.problem:
            question = f"{_show(repl, step)} was changed since the agent's edit. Undo that too? [y/N] "
            chosen += [step.path] if await _agrees(repl, question) else []
    return chosen


async def _agrees(repl: "Repl", question: str) -> bool:
    try:
        return (await repl.reader.ask(question)).strip().lower() in _YES
    except (EOFError, KeyboardInterrupt):
        return False


def _restore(repl: "Repl", keep_dir: str, undo: "Undo", chosen: list[str], *, back: str) -> list[str]:
    """Do it, and say what was done; the files that were."""
    from clawft.tools.undo import run_undo

    told = run_undo(keep_dir, undo, chosen)
    shown = {path: one_line(repl.app.workspace.shorten(path)) for path in told}
    for path, why in told.items():
        if why:
            repl.screen.print(f"{shown[path]} stays as it is: {one_line(why)}")
    done, left = [shown[path] for path, why in told.items() if not why], len(undo.steps) - len(told)
    if done:
        rest = f"; {left} left as {'it is' if left == 1 else 'they are'}" if left else ""
        repl.screen.print(f"Done: {len(done)} file{'s' * (len(done) != 1)}{rest}. {back} takes this back")
    else:
        repl.screen.print("Nothing was changed")
    return done


def _complete(_repl: "Repl", partial: str) -> Iterable[str]:
    return offer(_FLAGS, partial)


UNDO = SlashCommand("undo", "/undo", "Take back the agent's last file edits", _run, _HELP, _complete)
