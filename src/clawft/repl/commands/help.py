"""`/help [topic]`: the commands, or a word on one of them or on a topic."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.errors import find_close
from clawft.repl.command import SlashCommand, find_command
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["HELP"]

_HELP = "Without a topic it lists the commands. `/help /NAME` explains the command, where a topic has the same name."
_FIRST = ("skills", "agents", "commands", "config")
_MORE = """
A skill that you may start is a command too: /<skill-name> [args]; /skills lists them.
@path adds a file. \\ at the end of a line, or Alt-Enter, begins another one. Tab completes.
Ctrl-C stops a turn, Ctrl-O shows what tools did, Ctrl-D exits."""


async def _run(repl: "Repl", rest: str) -> None:
    if rest:
        _explain(repl, rest)
    else:
        print_lines(repl, [*_list(), *_more()])


def _list() -> list[str]:
    from clawft.repl.commands import COMMANDS  # which this command is in

    width = max(len(one.usage) for one in COMMANDS)
    return ["Commands:", *(f"  {one.usage:{width}} {one.description}" for one in COMMANDS)]


def _more() -> list[str]:
    from clawft.topics import list_topics

    others = ", ".join(name for name in list_topics() if name not in _FIRST)
    return [f"More topics: {others}", *_MORE.split("\n")]


def _explain(repl: "Repl", asked: str) -> None:
    from clawft.cli.help import render_help, topic_text
    from clawft.repl.commands import COMMANDS
    from clawft.topics import list_topics

    command = find_command(asked.removeprefix("/"), COMMANDS)
    text = topic_text(asked) if asked in list_topics() else _describe(command) if command else ""
    screen = repl.screen
    if text:
        screen.print(render_help(text, screen.width, colour=screen.colour, plain=screen.plain))
        return
    close = find_close(asked.removeprefix("/"), (*list_topics(), *(one.name for one in COMMANDS)))
    hint = f" Did you mean /help {close}?" if close else ""
    screen.print(f"No topic or command '{one_line(asked)}'. Type /help for available commands.{hint}")


def _describe(command: SlashCommand) -> str:
    also = "".join(f", /{name}" for name in command.aliases)
    return f"    {command.usage}{also}\n\n{command.description}.\n\n{command.help}"


def _complete(_repl: "Repl", partial: str) -> Iterable[str]:
    from clawft.repl.commands import COMMANDS
    from clawft.topics import list_topics

    return offer((*list_topics(), *(one.name for one in COMMANDS)), partial)


_TOPICS = ", ".join(_FIRST)
HELP = SlashCommand("help", "/help [topic]", f"Show help (topics: {_TOPICS})", _run, _HELP, _complete)
