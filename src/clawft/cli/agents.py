"""`weft agents`: list and show agents, and choose the one that answers by default."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from clawft.agent.providers.selection import check_model, is_claude_alias, read_model
from clawft.app.app import App
from clawft.cli.completion import complete_agents
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import CommandResult, clean, one_line, say, show_diagnostics, table_lines, terminal_width
from clawft.config.changes import ConfigScope, SettingChange
from clawft.errors import ClawftError, Diagnostic
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.parse.model import Agent
from clawft.trust.patterns import denies_whole_tool, names_tool
from clawft.trust.status import STATES, AgentStatus
from clawft.trust.tools import CANONICAL_TOOLS, STARTED_BY, check_agent_tools, matches_any_tool, tool_matches


def agent_json(status: AgentStatus, in_use: Agent | None) -> dict[str, Any]:
    """One agent; `tools` null means all of them. `in_use` is the one that answers when none is named."""
    found = status.found
    agent = found.agent or Agent(name=found.name)
    return {
        "name": agent.name,
        "description": agent.description,
        "model": agent.model or None,
        "scope": found.scope,
        "path": found.file or None,
        "state": status.state,
        "in_use": found.agent is not None and found.agent is in_use,
        "reasons": [diagnostic_json(reason) for reason in status.reasons],
        "tools": agent.tools,
        "disallowed_tools": agent.disallowed_tools,
        "skills": agent.skills,
        "temperature": agent.temperature,
        "max_tool_iterations": agent.max_tool_iterations,
        "context_window": agent.context_window,
        "system_prompt": agent.system_prompt or None,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in agent.diagnostics],
    }


class AgentPlan(Struct, frozen=True):
    """The model, tools and skills that an agent would get if it ran now.

    `answers` is True if the model can be used; `missing` are skills that the agent names and that do not exist.
    """

    model: str
    answers: bool
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    missing: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def plan_agent(app: App, found: DiscoveredAgent, agent: Agent) -> AgentPlan:
    """All of it, from the config and the skills as they are now. Nothing is opened. Raises: ClawftError."""
    config, path = app.config, found.file
    model, diagnostics = _choose_model(app, agent, path)
    problem = _check_model(app, model, path)
    known = {skill.name: skill for skill in reversed(app.skills)}  # the first of a name comes first
    usable = {skill.name for skill in app.skills if skill.usable}
    missing = tuple(name for name in agent.skills if name not in usable)
    for name in missing:
        why = f"is {known[name].state}: {STATES[known[name].state]}" if name in known else "is not here"
        diagnostics.append(Diagnostic("agent-skill-missing", "warning", f"The skill '{name}' {why}", path))
    return AgentPlan(
        model,
        problem is None,
        _tools_of(app, agent),
        tuple(name for name in agent.skills if name in usable),
        missing,
        (*((problem,) if problem else ()), *diagnostics, *check_agent_tools(agent, path, config.mcp.servers)),
    )


def find_agent_in_use(app: App) -> Agent | None:
    """The agent that answers when none is named; None where the one that is set cannot."""
    try:
        return app.choose_agent()
    except ClawftError:
        return None


def _choose_model(app: App, agent: Agent, path: str) -> tuple[str, list[Diagnostic]]:
    """The model as a turn would choose it; tiers for simple requests are left aside."""
    config = app.config
    asked = read_model(agent.model, config.providers)
    default = config.agents.defaults.model
    if not is_claude_alias(asked, config.providers):
        return asked or default, []
    message = f"Claude's '{asked}' is no model here; '{default}' answers"
    hint = "Name a model as provider/model in the agent's file"
    return default, [Diagnostic("agent-model", "warning", message, path, 0, hint)]


def _check_model(app: App, model: str, path: str) -> Diagnostic | None:
    try:
        check_model(model, app.config.providers, app.environ)
    except ClawftError as error:
        message = f"The model '{model}' cannot be used: {error}"
        return Diagnostic(error.code, "error", message, path, 0, error.hint)
    return None


def _tools_of(app: App, agent: Agent) -> tuple[str, ...]:
    """The agent's tools among those there are; those of MCP servers, told only when they run, as `server__*`."""
    config = app.config
    off = [] if config.memory.enabled else ["memory_*"]
    search = config.tools.web.search
    if search.engine is None or (search.engine == "searxng" and not search.base_url):
        off.append("web_search")
    # What comes with another tool is not listed by itself.
    there = [name for name in CANONICAL_TOOLS if name not in STARTED_BY and not tool_matches(name, off)]
    servers = [f"{name}__*" for name in config.mcp.servers]
    if agent.tools is None:
        chosen = [*there, *servers]
    else:
        patterns = [tool for tool in agent.tools if "__" in tool and matches_any_tool(tool, config.mcp.servers)]
        chosen = [*(name for name in there if names_tool(agent.tools, name)), *patterns]
    return tuple(name for name in chosen if not denies_whole_tool(agent.disallowed_tools, name))


@click.command("list")
@format_option
def list_command() -> CommandResult:
    """List every agent, with broken and shadowed ones."""
    app = open_here()
    agents, in_use = sorted(app.agents, key=lambda one: one.found.name), find_agent_in_use(app)

    def show() -> None:
        for line in agent_lines(agents, terminal_width(), in_use):
            click.echo(line)
        say("* answers when no other is named" if in_use else "No agent answers: the one that is set cannot be used")

    return CommandResult("clawft.agents.list.v1", {"agents": [agent_json(agent, in_use) for agent in agents]}, show)


def agent_lines(agents: Sequence[AgentStatus], columns: int | None, in_use: Agent | None = None) -> list[str]:
    """A table of agents, with what is to be said of each, for so many columns; a `*` marks the one in use."""
    heads, after = ("NAME", "DESCRIPTION", "MODEL", "SCOPE"), [_reason(agent) for agent in agents]
    return table_lines(heads, [_row(agent, in_use) for agent in agents], wide=1, after=after, columns=columns)


def _row(status: AgentStatus, in_use: Agent | None) -> tuple[str, ...]:
    agent = status.found.agent
    model = (agent.model or "(config default)") if agent else ""
    mark = " *" if agent and agent is in_use else ""
    return (status.found.name + mark, agent.description if agent else "", model, status.found.scope)


def _reason(status: AgentStatus) -> str:
    if not status.reasons:
        return ""
    first = status.reasons[0]
    if status.state == "ready":
        return first.message if first.severity == "warning" else ""
    hint = f". {first.hint}" if status.state == "untrusted" and first.hint else ""
    return f"{status.state}: {first.message}" + (f" (line {first.line})" if first.line else "") + hint


@click.command("show")
@click.argument("name", shell_complete=complete_agents)
@format_option
def show_command(name: str) -> CommandResult:
    """Show one agent."""
    app = open_here()
    status = app.get_agent(name)
    agent, in_use = status.found.agent, find_agent_in_use(app)
    plan = plan_agent(app, status.found, agent) if agent else None
    diagnostics = (*(agent.diagnostics if agent else ()), *(plan.diagnostics if plan else ()))
    fields = agent_json(status, in_use) | {"diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics]}

    def show() -> None:
        where = app.workspace.shorten(status.found.file)
        for label, value in (
            *_lines(status, where),
            *_plan_lines(plan, agent.tools if agent else None, used=agent is in_use),
        ):
            click.echo(f"{label}: {one_line(value)}")
        if agent and agent.system_prompt:
            click.echo(f"\n{clean(agent.system_prompt)}")
        show_diagnostics((*status.reasons, *diagnostics), app.workspace.shorten)

    return CommandResult("clawft.agents.show.v1", {**fields, "plan": _plan_json(plan)}, show)


def _lines(status: AgentStatus, where: str) -> list[tuple[str, str]]:
    found = status.found
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
        ("State", status.state if status.state != "ready" else ""),
        ("Tools", "all" if agent.tools is None else ", ".join(agent.tools) or "none"),
        ("Disallowed Tools", ", ".join(agent.disallowed_tools)),
        ("Skills", ", ".join(agent.skills)),
    ]
    return [(label, value) for label, value in lines if value]


def _plan_lines(plan: AgentPlan | None, asked: tuple[str, ...] | None, *, used: bool) -> list[tuple[str, str]]:
    """Return the rows about what the agent would get here; its tools only if they differ from what it asks for."""
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


_SETTING = ("agents", "defaults", "agent")


@click.command("use")
@click.argument("name", shell_complete=complete_agents)
@target_option
@format_option
def use_command(name: str, scope: ConfigScope) -> CommandResult:
    """Let the agent NAME answer when none is named; `default` goes back to the usual one."""
    app = open_here()
    status = app.get_agent(name)
    _check(status, scope)
    edited = app.edit_config(scope, [SettingChange(_SETTING, name)])
    now = open_here()
    diagnostics = _check_now(now, name)

    def show() -> None:
        held = any(diagnostic.severity == "error" or diagnostic.code == "agent-elsewhere" for diagnostic in diagnostics)
        click.echo(one_line(f"{name} is set, but does not answer yet" if held else f"{name} answers from now on"))
        show_diagnostics(diagnostics, now.workspace.shorten)
        say(one_line(f"{'Written to' if edited.changed else 'So it was in'} {now.workspace.shorten(edited.file)}"))

    return CommandResult(
        "clawft.agents.use.v1",
        {
            "name": name,
            "path": edited.file,
            "changed": edited.changed,
            "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics],
        },
        show,
    )


def _check(status: AgentStatus, scope: ConfigScope) -> None:
    """Raises: ClawftError for an agent that could not answer, or not wherever the config counts."""
    found = status.found
    if found.agent is None:
        why = f": {found.problem.message}" if found.problem else ""
        raise ClawftError("agent-broken", f"The agent '{found.name}' cannot be read{why}", path=found.file)
    if found.scope == "project" and scope == "user":
        message = f"The agent '{found.name}' belongs to this project; in any other it would not be found"
        raise ClawftError("agent-scope", message, path=found.file, hint="Pass --scope project")


def _check_now(app: App, name: str) -> list[Diagnostic]:
    """Check what keeps the agent from being used with the current config."""
    wanted = app.config.agents.defaults.agent
    diagnostics: list[Diagnostic] = []
    if wanted != name:
        hint = "Run: weft config show agents.defaults.agent"
        diagnostics.append(
            Diagnostic("agent-elsewhere", "warning", f"Another config sets '{wanted}' and wins", hint=hint)
        )
    try:
        chosen = app.choose_agent(name)
    except ClawftError as error:
        return [*diagnostics, error.diagnostic]
    status = next(agent for agent in app.agents if agent.found.agent is chosen)
    return [*diagnostics, *app.check_agent(chosen, name), *plan_agent(app, status.found, chosen).diagnostics]
