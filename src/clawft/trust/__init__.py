"""Decide what may run: states, approvals, permissions, the audit log, signatures."""

from clawft.trust.skill_status import STATES, AgentStatus, SkillStatus, State, judge_agents, judge_skills
from clawft.trust.tools import CANONICAL_TOOLS, TOOL_ALIASES, check_tools, known_tool_names

__all__ = [
    "CANONICAL_TOOLS",
    "STATES",
    "TOOL_ALIASES",
    "AgentStatus",
    "SkillStatus",
    "State",
    "check_tools",
    "judge_agents",
    "judge_skills",
    "known_tool_names",
]
