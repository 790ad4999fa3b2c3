"""`/mode [NAME]`: how much is done unasked."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import table_lines
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl
    from clawft.trust.modes import Mode

__all__ = ["MODE", "current_mode"]

_HELP = """\
`plan` only looks; `ask` asks before everything that acts; `auto-edit` edits files of the project unasked and asks for
the rest; `full` asks nothing but what is grave. What a policy or a rule forbids stays forbidden in each of them.
It holds for this conversation; `agents.defaults.mode` sets the first one."""


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.trust.modes import MODES, get_mode

    if rest:
        repl.switch_mode(get_mode(rest).value)
    mode = current_mode(repl)
    if rest and mode != get_mode(rest):
        repl.screen.print(f"Mode: {mode}, since the agent {repl.agent.name} asks for it")
    elif rest:
        repl.screen.print(f"Mode: {mode} ({MODES[mode]})")
    else:
        rows = [(f"{one} *" if one is mode else one.value, meaning) for one, meaning in MODES.items()]
        print_lines(repl, table_lines(("MODE", "DOES"), rows, wide=1, columns=repl.screen.width))


def current_mode(repl: "Repl") -> "Mode":
    """The mode of the next message."""
    from clawft.trust.modes import agent_mode, default_mode, get_mode

    app = repl.app
    chosen = get_mode(repl.mode) if repl.mode else default_mode(app.config, app.workspace.user_dir)
    return agent_mode(repl.agent, chosen)


def _complete(_repl: "Repl", partial: str) -> Iterable[str]:
    from clawft.trust.modes import Mode

    return offer((one.value for one in Mode), partial)


MODE = SlashCommand("mode", "/mode <name>", "Switch how much is done unasked", _run, _HELP, _complete)
