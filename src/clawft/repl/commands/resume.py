"""`/resume [KEY]`: go on with another session."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line, table_lines
from clawft.errors import ClawftError
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl
    from clawft.sessions import SessionStore, SessionSummary

__all__ = ["RESUME"]

_HELP = """\
Without a key it lists the newest sessions of this project. The start of a key is enough where only one session begins
so. `weft sessions list` has all of them."""
_LISTED = 10


async def _run(repl: "Repl", rest: str) -> None:
    store = repl.app.sessions
    if not rest:
        _list(repl, store)
        return
    key = _resolve(store, rest)
    if key == repl.key:
        repl.screen.print(f"This is session {one_line(key)}")
        return
    await _switch(repl, key)
    kept = store.get(key)
    turns = f"{kept.turns} turn{'s' * (kept.turns != 1)}"
    repl.screen.print(f"Resumed {one_line(key)} ({turns}): {one_line(kept.title)}")
    if kept.cwd and kept.cwd not in (repl.app.workspace.cwd, repl.app.workspace.project):
        repl.screen.print(f"  note: it was begun in {one_line(repl.app.workspace.shorten(kept.cwd))}")


async def _switch(repl: "Repl", key: str) -> None:
    """Open the other session now: where it cannot be, as while another process writes it, this one stays."""
    before = repl.key
    await repl.leave_conversation(key)
    try:
        await repl.talk()
    except ClawftError:
        await repl.leave_conversation(before)
        raise


def _list(repl: "Repl", store: "SessionStore") -> None:
    from clawft.cli.sessions.list import HEADS, session_row

    sessions = _of_project(repl, store)
    rows = [session_row(one) for one in sessions]
    print_lines(repl, table_lines(HEADS, rows, wide=1, columns=repl.screen.width) if rows else ())
    print_diagnostics(repl, store.diagnostics)
    repl.screen.print("Go on with one: /resume <key>" if rows else "There is no session of this project yet")


def _of_project(repl: "Repl", store: "SessionStore") -> "list[SessionSummary]":
    places = (repl.app.workspace.cwd, repl.app.workspace.project)
    return [one for one in store.list() if one.cwd in places][:_LISTED]


def _resolve(store: "SessionStore", text: str) -> str:
    """The session that is meant; one of a fork only if its key says so. Raises: NotFound."""
    from clawft.sessions import is_fork_key

    known = store.keys()
    own = [key for key in known if key.startswith(text) and not is_fork_key(key)]
    return own[0] if len(own) == 1 else store.resolve(text)


def _complete(repl: "Repl", partial: str) -> Iterable[str]:
    from clawft.sessions import is_fork_key

    known = repl.app.sessions.keys()
    return offer((key for key in known if not is_fork_key(key)), partial)[::-1]


RESUME = SlashCommand("resume", "/resume [key]", "Go on with another session", _run, _HELP, _complete)
