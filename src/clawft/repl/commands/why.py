"""`/why NAME`: the state of a skill, and the reasons for it."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import complete_skills, find_skill

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["WHY"]

_HELP = "All skills of the name are told, also those that another one hides; `SCOPE:NAME` is one of them."


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.skills.why import why_lines

    if not rest:
        repl.screen.print("Usage: /why <name>. Run /skills to see available skills.")
        return
    chosen = find_skill(repl, rest)
    if chosen is not None:
        same = [chosen] if ":" in rest else [one for one in repl.app.skills if one.name == chosen.name]
        print_lines(repl, [line for one in same for line in why_lines(one, repl.app)])


WHY = SlashCommand("why", "/why <name>", "Tell why a skill is offered or not", _run, _HELP, complete_skills)
