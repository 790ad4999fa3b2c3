"""What would become of an agent here: the model that answers, the tools it gets, the skills that are loaded."""

from msgspec import Struct

from clawft.app import App
from clawft.discovery.agents import FoundAgent
from clawft.errors import ClawftError, Diagnostic
from clawft.format.model import Agent
from clawft.providers.select import check_model, is_claude_alias, read_model
from clawft.trust import CANONICAL_TOOLS, STATES
from clawft.trust.patterns import names_tool, takes_tool
from clawft.trust.tools import check_agent_tools, means_any_tool, tool_matches

__all__ = ["AgentPlan", "find_agent_in_use", "plan_agent"]


class AgentPlan(Struct, frozen=True):
    """`answers` tells whether the model could be used; `missing` are skills that the agent names in vain."""

    model: str
    answers: bool
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    missing: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def plan_agent(app: App, found: FoundAgent, agent: Agent) -> AgentPlan:
    """All of it, from the config and the skills as they are now. Nothing is opened. Raises: ClawftError."""
    config, path = app.config, found.file
    model, said = _choose_model(app, agent, path)
    problem = _check_model(app, model, path)
    known = {one.name: one for one in reversed(app.skills)}  # the first of a name comes first
    usable = {one.name for one in app.skills if one.usable}
    missing = tuple(name for name in agent.skills if name not in usable)
    for name in missing:
        why = f"is {known[name].state}: {STATES[known[name].state]}" if name in known else "is not here"
        said.append(Diagnostic("agent-skill-missing", "warning", f"The skill '{name}' {why}", path))
    return AgentPlan(
        model,
        problem is None,
        _tools_of(app, agent),
        tuple(name for name in agent.skills if name in usable),
        missing,
        (*((problem,) if problem else ()), *said, *check_agent_tools(agent, path, config.mcp.servers)),
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
    there = [name for name in CANONICAL_TOOLS if not tool_matches(name, off)]
    servers = [f"{name}__*" for name in config.mcp.servers]
    if agent.tools is None:
        chosen = [*there, *servers]
    else:
        patterns = [one for one in agent.tools if "__" in one and means_any_tool(one, config.mcp.servers)]
        chosen = [*(name for name in there if names_tool(agent.tools, name)), *patterns]
    return tuple(name for name in chosen if not takes_tool(agent.disallowed_tools, name))
