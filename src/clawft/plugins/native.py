"""The tools of skills with `execution: native`: done by the plugin that brings the skill, by its SkillProvider."""

from collections.abc import Collection, Mapping
from typing import Any

from clawft.contracts import ToolOutput
from clawft.plugins.host import Plugins

__all__ = ["call_native", "native_plugins"]


def native_plugins(plugins: Plugins) -> Collection[str]:
    """The plugins that can be asked for such tools: those that are ready and have code."""
    return frozenset(one.id for one in plugins.ready if one.found.manifest and one.found.manifest.has_code)


async def call_native(plugins: Plugins, plugin: str, skill: str, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
    """Have a plugin do a tool of one of its skills. A component knows its tools by their names alone.

    Raises: PluginError.
    """
    manifest = next((one.found.manifest for one in plugins.ready if one.id == plugin), None)
    of_skill = {} if manifest and manifest.wasm_module else {"skill": skill}
    output: ToolOutput = await plugins.call(plugin, "execute_tool", name=name, arguments=dict(arguments), **of_skill)
    return output
