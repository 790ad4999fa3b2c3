"""`weft agents show NAME`: all there is to know about one agent."""

import click

from clawft.cli._complete import complete_agents
from clawft.cli.agents._json import agent_json
from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, one_line, print_json, show_diagnostic
from clawft.format.model import Agent
from clawft.trust import AgentStanding

__all__ = ["command"]


@click.command("show")
@click.argument("name", shell_complete=complete_agents)
@format_option
def command(name: str, output: str) -> None:
    """Show one agent."""
    app = open_here()
    standing = app.get_agent(name)
    if output == "json":
        return print_json("clawft.agents.show.v1", **agent_json(standing))
    where = app.workspace.shorten(standing.found.file)
    for label, value in _lines(standing, where):
        click.echo(f"{label}: {one_line(value)}")
    agent = standing.found.agent
    if agent and agent.system_prompt:
        click.echo(f"\n{clean(agent.system_prompt)}")
    for diagnostic in (*standing.reasons, *(agent.diagnostics if agent else ())):
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
    return None


def _lines(standing: AgentStanding, where: str) -> list[tuple[str, str]]:
    found = standing.found
    agent = found.agent or Agent(name=found.name)
    scope = f"{found.scope} ({where})" if where else found.scope
    if found.agent is None:
        return [("Agent", agent.name), ("State", "broken"), ("Scope", scope)]
    lines = [
        ("Agent", agent.name),
        ("Description", agent.description),
        ("Model", agent.model or "(config default)"),
        ("Temperature", "" if agent.temperature is None else f"{agent.temperature:g}"),
        ("Max Tool Iterations", str(agent.max_tool_iterations or "")),
        ("Context Window", str(agent.context_window or "")),
        ("Scope", scope),
        ("State", standing.state if standing.state != "ready" else ""),
        ("Tools", "all" if agent.tools is None else ", ".join(agent.tools) or "none"),
        ("Disallowed Tools", ", ".join(agent.disallowed_tools)),
        ("Skills", ", ".join(agent.skills)),
    ]
    return [(label, value) for label, value in lines if value]
