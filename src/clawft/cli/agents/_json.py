"""An agent as other programs read it."""

from typing import Any

from clawft.cli.output import to_json
from clawft.format.model import Agent
from clawft.trust import AgentStanding

__all__ = ["agent_json"]


def agent_json(standing: AgentStanding) -> dict[str, Any]:
    """One agent; `tools` null means all of them."""
    found = standing.found
    agent = found.agent or Agent(name=found.name)
    return {
        "name": agent.name,
        "description": agent.description,
        "model": agent.model or None,
        "scope": found.scope,
        "path": found.file or None,
        "state": standing.state,
        "reasons": [to_json(one) for one in standing.reasons],
        "tools": agent.tools,
        "disallowed_tools": agent.disallowed_tools,
        "skills": agent.skills,
        "temperature": agent.temperature,
        "max_tool_iterations": agent.max_tool_iterations,
        "context_window": agent.context_window,
        "system_prompt": agent.system_prompt or None,
        "diagnostics": [to_json(one) for one in agent.diagnostics],
    }
