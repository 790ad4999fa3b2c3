"""Text to Skill or Agent, for every dialect. Pure: no disk, no environment.

The values are imported at once; the parsers, and YAML with them, when they are first used: a warm cache needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clawft.skills.parse.model import (
    Agent,
    Skill,
    SkillContext,
    SkillFormat,
    SkillInstaller,
    SkillInterface,
    SkillRequirements,
    ToolDefinition,
)

if TYPE_CHECKING:
    from clawft.skills.parse.agent import parse_agent
    from clawft.skills.parse.dialects import parse_command, parse_legacy
    from clawft.skills.parse.sidecar import apply_sidecar
    from clawft.skills.parse.skill import parse_skill_md
    from clawft.skills.parse.text import decode_text, encode_text
    from clawft.skills.parse.validation import check_spec, fix_skill_md

__all__ = [
    "Agent",
    "Skill",
    "SkillContext",
    "SkillFormat",
    "SkillInstaller",
    "SkillInterface",
    "SkillRequirements",
    "ToolDefinition",
    "apply_sidecar",
    "check_spec",
    "decode_text",
    "encode_text",
    "fix_skill_md",
    "parse_agent",
    "parse_command",
    "parse_legacy",
    "parse_skill_md",
]

_LAZY = {
    "apply_sidecar": "sidecar",
    "check_spec": "validation",
    "decode_text": "text",
    "encode_text": "text",
    "fix_skill_md": "validation",
    "parse_agent": "agent",
    "parse_command": "dialects",
    "parse_legacy": "dialects",
    "parse_skill_md": "skill",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(name)
    value = globals()[name] = getattr(import_module(f"clawft.skills.parse.{_LAZY[name]}"), name)
    return value
