"""`/skill NAME [args]`: start a skill, also one whose name is a command's (D49)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand
from clawft.repl.commands._names import find_skill, offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl
    from clawft.run import TurnRequest

__all__ = ["SKILL"]

_HELP = """\
What follows the name are its arguments; quotes hold words together. `/NAME args` does the same, unless a command has
that name. Several skills can stand at the start of a message: `/a /b do it`. A shadowed skill is started as
SCOPE:NAME."""


async def _run(repl: "Repl", rest: str) -> "TurnRequest | None":
    from clawft.run import TurnRequest

    name, _, arguments = rest.partition(" ")
    if not name:
        repl.screen.print("Usage: /skill <name> [args]. Run /skills to see available skills.")
        return None
    if find_skill(repl, name) is None:
        return None
    return TurnRequest(arguments.strip(), model=repl.model, skill=name)


def _complete(repl: "Repl", partial: str) -> Iterable[str]:
    return offer((one.name for one in repl.app.skills if one.user_may_invoke), partial)


SKILL = SlashCommand("skill", "/skill <name> [args]", "Invoke a skill", _run, _HELP, _complete)
