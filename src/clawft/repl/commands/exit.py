"""`/exit`, `/quit`."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["EXIT"]

_HELP = "The session is kept: /resume, or `weft agent --continue`, goes on with it. Ctrl-D leaves too."


async def _run(repl: "Repl", _rest: str) -> None:
    repl.leaving = True


EXIT = SlashCommand("exit", "/exit", "Exit the session", _run, _HELP, aliases=("quit",))
