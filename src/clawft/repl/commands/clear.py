"""`/clear` and `/reset`: a new session; the old one is kept."""

from typing import TYPE_CHECKING, Literal

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["CLEAR", "RESET"]

_HELP = "The next message begins a new session. What was said so far stays on disk, and /resume goes on with it."
_SAME = "The same as /clear, but hooks hear of a reset (command:reset), and not of a new session (command:new)."


async def _clear(repl: "Repl", _rest: str) -> None:
    await _begin_anew(repl, "new")


async def _reset(repl: "Repl", _rest: str) -> None:
    await _begin_anew(repl, "reset")


async def _begin_anew(repl: "Repl", action: Literal["new", "reset"]) -> None:
    from clawft.repl.hooks import tell_command

    key = repl.key
    await repl.leave_conversation()
    repl.screen.clear()
    kept = f" The last one is kept: /resume {one_line(key)}" if key in repl.app.sessions else ""
    repl.screen.print(f"A new session begins with your next message.{kept}")
    await tell_command(repl, action, key)


CLEAR = SlashCommand("clear", "/clear", "Clear session history", _clear, _HELP, aliases=("new",))
RESET = SlashCommand("reset", "/reset", "Clear session history, as a reset", _reset, f"{_HELP}\n\n{_SAME}")
