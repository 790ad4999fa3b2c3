"""`/exit`, `/quit`."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["EXIT"]


async def _run(repl: "Repl", _rest: str) -> None:
    repl.leaving = True


EXIT = SlashCommand("exit", "/exit", "Leave; the session is kept", _run, aliases=("quit",))
