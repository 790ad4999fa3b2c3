"""`/tools`: what the agent can do now, MCP servers included."""

import re
from typing import TYPE_CHECKING

from clawft.cli.output import one_line, table_lines
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands.mode import current_mode

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["TOOLS"]

_HELP = "The agent's `tools` narrow the list, and a loaded skill's `allowed-tools` narrow it until your next message."
_SENTENCE = re.compile(r".+?\.(?=\s|$)")


async def _run(repl: "Repl", _rest: str) -> None:
    from clawft.run.preview import list_tools

    tools = await list_tools(await repl.talk(), repl.view.take)
    rows = [(tool.name, _first_sentence(tool.description)) for tool in tools]
    print_lines(repl, table_lines(("TOOL", "DOES"), rows, wide=1, columns=repl.screen.width) if rows else ())
    count = f"{len(rows)} tool{'s' * (len(rows) != 1)} of the agent {one_line(repl.agent.name)}"
    repl.screen.print(f"{count}, in mode {current_mode(repl)} (/mode, /permissions)")


def _first_sentence(text: str) -> str:
    line = one_line(text)
    match = _SENTENCE.match(line)
    return (match[0] if match else line).rstrip(".")


TOOLS = SlashCommand("tools", "/tools", "List available tools", _run, _HELP)
