"""`weft agents list`: every agent, from files and built in."""

from collections.abc import Sequence

import click

from clawft.cli.agents._json import agent_json
from clawft.cli.agents._plan import find_agent_in_use
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say, table_lines, terminal_width
from clawft.format.model import Agent
from clawft.trust import AgentStanding

__all__ = ["agent_lines", "command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List every agent, with broken and shadowed ones."""
    app = open_here()
    agents, in_use = sorted(app.agents, key=lambda one: one.found.name), find_agent_in_use(app)
    if output == "json":
        return print_json("clawft.agents.list.v1", agents=[agent_json(one, in_use) for one in agents])
    for line in agent_lines(agents, terminal_width(), in_use):
        click.echo(line)
    say("* answers when no other is named" if in_use else "No agent answers: the one that is set cannot be used")
    return None


def agent_lines(agents: Sequence[AgentStanding], columns: int | None, in_use: Agent | None = None) -> list[str]:
    """A table of agents, with what is to be said of each, for so many columns; a `*` marks the one in use."""
    heads, after = ("NAME", "DESCRIPTION", "MODEL", "SCOPE"), [_reason(one) for one in agents]
    return table_lines(heads, [_row(one, in_use) for one in agents], wide=1, after=after, columns=columns)


def _row(standing: AgentStanding, in_use: Agent | None) -> tuple[str, ...]:
    agent = standing.found.agent
    model = (agent.model or "(config default)") if agent else ""
    mark = " *" if agent and agent is in_use else ""
    return (standing.found.name + mark, agent.description if agent else "", model, standing.found.scope)


def _reason(standing: AgentStanding) -> str:
    if not standing.reasons:
        return ""
    first = standing.reasons[0]
    if standing.state == "ready":
        return first.message if first.severity == "warning" else ""
    hint = f". {first.hint}" if standing.state == "untrusted" and first.hint else ""
    return f"{standing.state}: {first.message}" + (f" (line {first.line})" if first.line else "") + hint
