"""Codex's `agents/openai.yaml` beside a SKILL.md: how the skill is presented, and whether a model may start it."""

from typing import Any

import msgspec

from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.model import Skill, SkillInterface, SkillRequirements
from clawft.skills.parse.yaml import load_yaml

_INTERFACE = ("short_description", "icon_small", "icon_large", "brand_color", "default_prompt")


def apply_sidecar(skill: Skill, text: str, path: str) -> Skill:
    """The skill with what the sidecar adds; SKILL.md wins where both speak. A bad sidecar is said, not fatal."""
    notes = DiagnosticCollector(path, text)
    raw, complaint = load_yaml(text, notes)
    if complaint or not isinstance(raw, dict):
        notes.found.clear()
        notes.add("sidecar-invalid", "warning", f"The sidecar is not usable: {complaint or 'not a mapping'}", line=1)
        return msgspec.structs.replace(skill, diagnostics=skill.diagnostics + tuple(notes.found))
    interface, policy = _mapping(raw, "interface", notes), _mapping(raw, "policy", notes)
    presented = {name: interface[name] for name in _INTERFACE if isinstance(interface.get(name), str)}
    if skill.interface.short_description:
        presented["short_description"] = skill.interface.short_description
    requires = _with_tools(skill.requires, _mapping(raw, "dependencies", notes))
    hidden = policy.get("allow_implicit_invocation") is False
    return msgspec.structs.replace(
        skill,
        display_name=skill.display_name or str(interface.get("display_name") or ""),
        interface=SkillInterface(**presented),
        requires=requires,
        disable_model_invocation=skill.disable_model_invocation or hidden,
        diagnostics=skill.diagnostics + tuple(notes.found),
    )


def _mapping(raw: dict[Any, Any], key: str, notes: DiagnosticCollector) -> dict[str, Any]:
    value = raw.get(key)
    if value is not None and not isinstance(value, dict):
        notes.add("wrong-type", "warning", f"'{key}' should be a mapping; it was left out", key=key)
    return value if isinstance(value, dict) else {}


def _with_tools(requires: SkillRequirements, dependencies: dict[str, Any]) -> SkillRequirements:
    """Tools the sidecar depends on; an MCP server `x` is required as the tools `x__*`."""
    tools = dependencies.get("tools")
    needed = (
        [item for item in tools if isinstance(item, dict) and isinstance(item.get("value"), str)]
        if isinstance(tools, list)
        else []
    )
    names = [f"{item['value']}__*" if item.get("type") == "mcp" else item["value"] for item in needed]
    return msgspec.structs.replace(requires, tools=tuple(dict.fromkeys((*requires.tools, *names))))
