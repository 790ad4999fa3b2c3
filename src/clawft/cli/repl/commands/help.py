"""`/help`: topics and commands."""

from collections.abc import Iterable

from clawft.cli.help import render_help, topic_text
from clawft.cli.help_topics import list_topics
from clawft.cli.output import one_line
from clawft.cli.repl.command import complete_names, print_lines
from clawft.cli.repl.commands import COMMANDS, SlashCommand, find_command
from clawft.cli.repl.context import ReplContext
from clawft.errors import find_close

_FIRST = ("skills", "agents", "commands", "config")
_MORE = """
A skill that you may start is a command too: /<skill-name> [args]; /skills lists them.
@path adds a file. \\ at the end of a line, or Alt-Enter, begins another one. Tab completes.
Ctrl-C stops a turn, Ctrl-O shows what tools did, Ctrl-D exits."""


async def run_help(repl: ReplContext, rest: str) -> None:
    if rest:
        _explain(repl, rest)
    else:
        print_lines(repl, [*_list(), *_more()])


def _list() -> list[str]:
    width = max(len(command.usage) for command in COMMANDS)
    return ["Commands:", *(f"  {command.usage:{width}} {command.description}" for command in COMMANDS)]


def _more() -> list[str]:
    others = ", ".join(name for name in list_topics() if name not in _FIRST)
    return [f"More topics: {others}", *_MORE.split("\n")]


def _explain(repl: ReplContext, asked: str) -> None:
    command = find_command(asked.removeprefix("/"))
    text = topic_text(asked) if asked in list_topics() else _describe(command) if command else ""
    screen = repl.screen
    if text:
        screen.print(render_help(text, screen.width, colour=screen.colour, plain=screen.plain))
        return
    close = find_close(asked.removeprefix("/"), (*list_topics(), *(command.name for command in COMMANDS)))
    hint = f" Did you mean /help {close}?" if close else ""
    screen.print(f"No topic or command '{one_line(asked)}'. Type /help for available commands.{hint}")


def _describe(command: SlashCommand) -> str:
    also = "".join(f", /{name}" for name in command.aliases)
    return f"    {command.usage}{also}\n\n{command.description}.\n\n{command.help}"


def complete_help(_repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names((*list_topics(), *(command.name for command in COMMANDS)), partial)
