"""`/agents`: every agent, from files and built in."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["AGENTS"]

_HELP = "Those that cannot be read, or that another one hides, are listed too, with the reason."


async def _run(repl: "Repl", _rest: str) -> None:
    from clawft.cli.agents.list import agent_lines

    agents = sorted(repl.app.agents, key=lambda one: one.found.name)
    print_lines(repl, [*agent_lines(agents, repl.screen.width), f"Now: {one_line(repl.agent.name)}"])


AGENTS = SlashCommand("agents", "/agents", "List available agents", _run, _HELP)
