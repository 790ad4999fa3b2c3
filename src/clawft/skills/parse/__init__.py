"""Text to Skill or Agent, for every dialect. Pure: no disk, no environment.

The values are imported at once; the parsers, and YAML with them, when they are first used: a warm cache needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clawft.format.model import Agent, Install, Interface, Requires, Skill, SkillContext, SkillFormat, ToolDefinition

if TYPE_CHECKING:
    from clawft.format.agent import parse_agent
    from clawft.format.command import parse_command
    from clawft.format.fix import fix_skill_md
    from clawft.format.legacy import parse_legacy
    from clawft.format.sidecar import apply_sidecar
    from clawft.format.skill import parse_skill_md
    from clawft.format.spec import check_spec
    from clawft.format.text import decode_text, encode_text

__all__ = [
    "Agent",
    "Install",
    "Interface",
    "Requires",
    "Skill",
    "SkillContext",
    "SkillFormat",
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
    "check_spec": "spec",
    "decode_text": "text",
    "encode_text": "text",
    "fix_skill_md": "fix",
    "parse_agent": "agent",
    "parse_command": "command",
    "parse_legacy": "legacy",
    "parse_skill_md": "skill",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(name)
    value = globals()[name] = getattr(import_module(f"clawft.format.{_LAZY[name]}"), name)
    return value
