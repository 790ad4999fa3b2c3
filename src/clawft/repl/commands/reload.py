"""`/reload`: config, skills and agents as they are on disk now."""

from typing import TYPE_CHECKING

from clawft.app import App
from clawft.errors import ClawftError
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["RELOAD"]

_HELP = "The conversation goes on. Where the config cannot be read, all stays as it was."


async def _run(repl: "Repl", _rest: str) -> None:
    from clawft.cli.skills.list import count_states

    old = repl.app
    config = App(old.workspace, old.environ, old.dirs).config  # read before what works is given up
    await repl.reload()
    try:
        repl.switch_agent(repl.app.choose_agent(repl.agent.name))
    except ClawftError as error:
        repl.show_error(error)
        repl.screen.print("The agent stays as it was")
    print_diagnostics(repl, config.diagnostics)
    agents = len(repl.app.agents)
    print_lines(repl, [f"Reloaded. {count_states(repl.app.skills)}; {agents} agent{'s' * (agents != 1)}"])


RELOAD = SlashCommand("reload", "/reload", "Read config, skills and agents again", _run, _HELP)
