"""Functions that slash commands share: printing, looking names up, and completing them."""

from collections.abc import Iterable

import click

from clawft.cli.output import diagnostic_lines, one_line
from clawft.cli.repl.context import ReplContext
from clawft.errors import Diagnostic, NotFound, find_close
from clawft.trust.modes import Mode, agent_mode, default_mode, get_mode
from clawft.trust.status import AgentStatus, SkillStatus


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


def current_mode(repl: ReplContext) -> Mode:
    """Return the mode of the next message."""
    app = repl.app
    chosen = get_mode(repl.mode) if repl.mode else default_mode(app.config, app.workspace.user_dir)
    return agent_mode(repl.agent, chosen)
