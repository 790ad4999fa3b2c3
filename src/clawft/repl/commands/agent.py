"""`/agent NAME`: another agent answers from the next message on."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics
from clawft.repl.commands._names import complete_agents, find_agent
from clawft.repl.commands.model import check_usable, current_model, own_model

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["AGENT"]

_HELP = """\
The conversation goes on; the agent's prompt, model, tools and skills count from the next message on. `/agent default`
brings all of them back. A model that you chose with /model or --model stays; `/model default` gives it up."""


async def _run(repl: "Repl", rest: str) -> None:
    if not rest:
        repl.screen.print(f"Agent: {one_line(repl.agent.name)} ({current_model(repl)})")
        return
    if find_agent(repl, rest) is None:
        return
    agent = repl.app.choose_agent(rest)
    own = own_model(repl, agent)
    if own:
        check_usable(repl, own)
    repl.switch_agent(agent)
    repl.screen.print(f"Switched to agent: {one_line(agent.name)} ({current_model(repl)})")
    if repl.model and own and own != repl.model:
        repl.screen.print(f"  note: its own model is {one_line(own)}; /model default uses that")
    print_diagnostics(repl, (*repl.app.check_agent(rest), *agent.diagnostics))


AGENT = SlashCommand("agent", "/agent <name>", "Switch to a named agent", _run, _HELP, complete_agents)
