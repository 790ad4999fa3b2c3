"""`/skill NAME [args]`: start a skill, also one whose name is a command's (D49)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand

if TYPE_CHECKING:
    from clawft.repl.repl import Repl
    from clawft.run import TurnRequest

__all__ = ["SKILL"]


async def _run(repl: "Repl", rest: str) -> "TurnRequest | None":
    from clawft.run import TurnRequest

    name, _, arguments = rest.partition(" ")
    if not name:
        repl.screen.print("Usage: /skill NAME [args]")
        return None
    if not any(one.name == name.rpartition(":")[2] for one in repl.app.skills):
        repl.screen.print(f"Skill '{name}' not found. Run /skills to see available skills.")  # R94
        return None
    return TurnRequest(arguments.strip(), model=repl.model, skill=name)


def _complete(repl: "Repl", partial: str) -> Iterable[str]:
    names = sorted(one.name for one in repl.app.skills if one.user_may_invoke)
    return [name for name in names if name.startswith(partial)] if " " not in partial else ()


SKILL = SlashCommand("skill", "/skill NAME [args]", "Start a skill", _run, complete=_complete)
