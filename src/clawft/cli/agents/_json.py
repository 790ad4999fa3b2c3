"""An agent as other programs read it."""

from typing import Any

from clawft.describe.diagnostics import to_json
from clawft.format.model import Agent
from clawft.trust import AgentStanding

__all__ = ["agent_json"]


def agent_json(standing: AgentStanding, in_use: Agent | None) -> dict[str, Any]:
    """One agent; `tools` null means all of them. `in_use` is the one that answers when none is named."""
    found = standing.found
    agent = found.agent or Agent(name=found.name)
    return {
        "name": agent.name,
        "description": agent.description,
        "model": agent.model or None,
        "scope": found.scope,
        "path": found.file or None,
        "state": standing.state,
        "in_use": found.agent is not None and found.agent is in_use,
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
