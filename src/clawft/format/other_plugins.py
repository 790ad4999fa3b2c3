"""Plugins of other clients as ours: Agent Plugins 1.0 (`plugin.json`) and Claude Code's (INTEROP 3.10)."""

import msgspec

from clawft.contracts import Capability
from clawft.errors import ClawftError
from clawft.format.plugin import PluginManifest

__all__ = ["parse_agent_plugin", "parse_claude_plugin"]


def parse_agent_plugin(data: bytes, file: str, folder: str) -> PluginManifest:
    """A `plugin.json` of Agent Plugins 1.0. Raises: ClawftError."""
    return _parse(data, file, folder)


def parse_claude_plugin(data: bytes, file: str, folder: str) -> PluginManifest:
    """Claude Code's `.claude-plugin/plugin.json`. Raises: ClawftError."""
    return _parse(data, file, folder)


def _parse(data: bytes, file: str, _folder: str) -> PluginManifest:
    try:
        raw = msgspec.json.decode(data, type=dict[str, object])
        name = str(raw["name"])
    except (msgspec.DecodeError, KeyError) as error:
        raise ClawftError("plugin-manifest", f"The manifest cannot be read: {error}", path=file) from error
    return PluginManifest(id=name, name=name, capabilities=(Capability.SKILL,), skill_dirs=("skills",))
