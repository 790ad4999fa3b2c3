"""`/clear`: a new session; the old one is kept."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["CLEAR"]

_HELP = "The next message begins a new session. What was said so far stays on disk, and /resume goes on with it."


async def _run(repl: "Repl", _rest: str) -> None:
    key = repl.key
    await repl.leave_conversation()
    repl.screen.clear()
    kept = f" The last one is kept: /resume {one_line(key)}" if key in repl.app.sessions else ""
    repl.screen.print(f"A new session begins with your next message.{kept}")


CLEAR = SlashCommand("clear", "/clear", "Clear session history", _run, _HELP)
