"""`weft agents list`: every agent, from files and built in."""

import click

from clawft.cli.agents._json import agent_json
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table
from clawft.trust import AgentStanding

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List every agent, with broken and shadowed ones."""
    agents = sorted(open_here().agents, key=lambda one: one.found.name)
    if output == "json":
        return print_json("clawft.agents.list.v1", agents=[agent_json(one) for one in agents])
    print_table(
        ("NAME", "DESCRIPTION", "MODEL", "SCOPE"),
        [_row(one) for one in agents],
        wide=1,
        after=[_reason(one) for one in agents],
    )
    return None


def _row(standing: AgentStanding) -> tuple[str, ...]:
    agent = standing.found.agent
    model = (agent.model or "(config default)") if agent else ""
    return (standing.found.name, agent.description if agent else "", model, standing.found.scope)


def _reason(standing: AgentStanding) -> str:
    if not standing.reasons:
        return ""
    first = standing.reasons[0]
    if standing.state == "ready":
        return first.message if first.severity == "warning" else ""
    return f"{standing.state}: {first.message}" + (f" (line {first.line})" if first.line else "")
