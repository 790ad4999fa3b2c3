"""`/reload`: config, skills and agents as they are on disk now."""

from typing import TYPE_CHECKING

from clawft.app import App
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["RELOAD"]

_HELP = "The conversation goes on. Where the config or the agent cannot be read, all stays as it was."


async def _run(repl: "Repl", _rest: str) -> None:
    from clawft.cli.skills.list import count_skills

    old = repl.app
    config = App(old.workspace, old.environ, old.dirs).config  # read before what works is given up
    await repl.reload()
    print_diagnostics(repl, config.diagnostics)
    agents = len(repl.app.agents)
    print_lines(repl, [f"Reloaded. {count_skills(repl.app.skills)}; {agents} agent{'s' * (agents != 1)}"])


RELOAD = SlashCommand("reload", "/reload", "Read config, skills and agents again", _run, _HELP)
