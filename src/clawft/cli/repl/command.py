"""A slash command, and what all of them share: printing, looking names up, and completing them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from clawft.cli.output import diagnostic_lines, one_line
from clawft.cli.repl.context import ReplContext
from clawft.errors import Diagnostic, NotFound, find_close
from clawft.trust.status import AgentStatus, SkillStatus

if TYPE_CHECKING:
    from clawft.agent.run_request import TurnRequest


Run = Callable[[ReplContext, str], Awaitable["TurnRequest | None"]]
Complete = Callable[[ReplContext, str], Iterable[str]]


def _nothing(_repl: ReplContext, _partial: str) -> Iterable[str]:
    return ()


class SlashCommand(Struct, frozen=True):
    """One command. `run` gets what follows its name; what it returns, if anything, is run as a turn."""

    name: str
    usage: str
    description: str
    run: Run
    help: str = ""
    complete: Complete = _nothing  # the words that may follow, for what is typed after the name
    aliases: tuple[str, ...] = ()


def split_command(line: str) -> tuple[str, str] | None:
    """The name and the rest of a line that begins with `/`; None for any other, and for a path such as `/etc/hosts`."""
    if not line.startswith("/") or line.startswith("//"):
        return None
    name, _, rest = line[1:].partition(" ") if " " in line else (line[1:], "", "")
    return None if "/" in name else (name.strip(), rest.strip())


def find_command(name: str, commands: Sequence[SlashCommand]) -> SlashCommand | None:
    return next((command for command in commands if name == command.name or name in command.aliases), None)


def print_lines(repl: ReplContext, lines: Iterable[str]) -> None:
    """Lines that may hold colours of ours, and nothing else that a terminal acts on."""
    text = "\n".join(lines)
    if text:
        repl.screen.print(text if repl.screen.colour else click.unstyle(text))


def print_diagnostics(repl: ReplContext, diagnostics: Iterable[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        print_lines(repl, diagnostic_lines(diagnostic, where=repl.app.workspace.shorten(diagnostic.where)))


def print_facts(repl: ReplContext, facts: Iterable[tuple[str, str]]) -> None:
    """`Label: value` lines, without those that have no value."""
    shown = [(label, value) for label, value in facts if value]
    width = max((len(label) for label, _ in shown), default=0) + 2
    print_lines(repl, [f"{label + ':':{width}}{value}" for label, value in shown])


def find_skill(repl: ReplContext, name: str) -> SkillStatus | None:
    """Find a skill by its name or by `scope:name`; if there is none, print an error and return None."""
    try:
        return repl.app.get_skill(name)
    except NotFound:
        _say_missing(repl, "skill", name, (skill.name for skill in repl.app.skills))
        return None


def find_agent(repl: ReplContext, name: str) -> AgentStatus | None:
    """Find an agent by its name; if there is none, print an error and return None."""
    try:
        return repl.app.get_agent(name)
    except NotFound:
        _say_missing(repl, "agent", name, (agent.found.name for agent in repl.app.agents))
        return None


def _say_missing(repl: ReplContext, kind: str, name: str, known: Iterable[str]) -> None:
    repl.screen.print(f"{kind.capitalize()} '{one_line(name)}' not found. Run /{kind}s to see available {kind}s.")
    close = find_close(name.rpartition(":")[2], known)
    if close:
        repl.screen.print(f"  hint: did you mean '{one_line(close)}'?")


def complete_names(names: Iterable[str], partial: str) -> list[str]:
    """The names that begin so, each once and in order; none once the first word is over."""
    return sorted({name for name in names if name.startswith(partial)}) if " " not in partial else []


def complete_skills(repl: ReplContext, partial: str) -> list[str]:
    """Every skill, usable or not."""
    return complete_names((skill.name for skill in repl.app.skills), partial)


def complete_agents(repl: ReplContext, partial: str) -> list[str]:
    return complete_names((agent.found.name for agent in repl.app.agents), partial)
