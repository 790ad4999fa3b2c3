"""`/undo` and `/redo`: take back the last turn with what it changed in the project, and bring it back."""

from collections.abc import Iterable
from functools import partial

from anyio import to_thread

from clawft.agent.checkpoints.session import apply_rewind, find_rewind
from clawft.agent.sessions import Session
from clawft.cli.repl.command import complete_names, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.rewind import doubt_question, preview_lines, result_lines
from clawft.errors import NotFound

_FLAGS = ("--redo", "--yes")


async def run_undo(repl: ReplContext, rest: str) -> None:
    words = rest.split()
    if not set(words) <= set(_FLAGS):
        repl.screen.print("Usage: /undo [--redo] [--yes]")
        return
    redo, at = "--redo" in words, repl.app.workspace
    session = (await repl.talk()).session if repl.key else None  # nobody else goes on with it meanwhile
    if not isinstance(session, Session):
        repl.screen.print(
            f"There is nothing to {'redo' if redo else 'undo'}: the session begins with your first message"
        )
        return
    transcript = repl.app.sessions.read(repl.key)
    try:
        rewind = await to_thread.run_sync(partial(find_rewind, at, transcript, redo=redo))
    except NotFound as error:
        repl.screen.print(str(error))
        return
    print_lines(repl, preview_lines(at, rewind))
    chosen = [step.path for step in rewind.plan.clean]
    if "--yes" not in words and not await _agrees(repl, "Go on? [y/N] "):
        print_lines(repl, result_lines(rewind, None))
        return
    for step in () if "--yes" in words else rewind.plan.doubtful:
        chosen += [step.path] if await _agrees(repl, f"{doubt_question(at, step)} [y/N] ") else []
    with repl.app.watch_turn():  # what comes back is not the person's own edit
        results = await to_thread.run_sync(apply_rewind, at, session, rewind, chosen)
    await repl.leave_conversation(repl.key)  # the next message opens it as it is now
    *lines, done = result_lines(rewind, results)
    print_lines(repl, [*lines, f"{done}. {'/undo' if redo else '/redo'} takes this back"])


async def run_redo(repl: ReplContext, rest: str) -> None:
    await run_undo(repl, f"--redo {rest}")


async def _agrees(repl: ReplContext, question: str) -> bool:
    try:
        return (await repl.reader.ask(question)).strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False


def complete_undo(_repl: ReplContext, typed: str) -> Iterable[str]:
    return complete_names(_FLAGS, typed)
