"""`weft agents show NAME`: all there is to know about one agent."""

import click

from clawft.cli._complete import complete_agents
from clawft.cli.agents._json import agent_json
from clawft.cli.agents._plan import AgentPlan, find_agent_in_use, plan_agent
from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, one_line, print_json, show_diagnostic
from clawft.describe.diagnostics import to_json
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
    agent, in_use = standing.found.agent, find_agent_in_use(app)
    plan = plan_agent(app, standing.found, agent) if agent else None
    said = (*(agent.diagnostics if agent else ()), *(plan.diagnostics if plan else ()))
    if output == "json":
        fields = agent_json(standing, in_use) | {"diagnostics": [to_json(one) for one in said]}
        return print_json("clawft.agents.show.v1", **fields, plan=_plan_json(plan))
    where = app.workspace.shorten(standing.found.file)
    for label, value in (
        *_lines(standing, where),
        *_plan_lines(plan, agent.tools if agent else None, used=agent is in_use),
    ):
        click.echo(f"{label}: {one_line(value)}")
    if agent and agent.system_prompt:
        click.echo(f"\n{clean(agent.system_prompt)}")
    for diagnostic in (*standing.reasons, *said):
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


def _plan_lines(plan: AgentPlan | None, asked: tuple[str, ...] | None, *, used: bool) -> list[tuple[str, str]]:
    """What would become of it here; the tools where they are not just what it asks for."""
    if plan is None:
        return []
    lines = [
        ("In Use", "yes" if used else ""),
        ("Answered By", plan.model if plan.answers else f"nobody: {plan.model} cannot be used"),
        ("Gets Tools", "" if plan.tools == asked else ", ".join(plan.tools) or "none"),
        ("Loads Skills", ", ".join(plan.skills)),
        ("Missing Skills", ", ".join(plan.missing)),
    ]
    return [(label, value) for label, value in lines if value]


def _plan_json(plan: AgentPlan | None) -> dict[str, object] | None:
    if plan is None:
        return None
    names = ("model", "answers", "tools", "skills", "missing")
    return {name: getattr(plan, name) for name in names}
