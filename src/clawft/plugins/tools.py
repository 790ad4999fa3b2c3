"""Tools of plugins as tools of ours: as the manifest declares them, and asked about unless they only look."""

import json
from collections.abc import Mapping
from typing import Any

from clawft.contracts import PluginError, ToolOutput
from clawft.format.plugin import ToolSpec
from clawft.format.schema import check_arguments
from clawft.mcp.plain import clean_text
from clawft.plugins.host import Plugins
from clawft.plugins.running import PluginFailed
from clawft.tools.tool import ErrorCode, Tool, ToolContext, ToolError, ToolResult
from clawft.trust.plugins import PluginStanding, entry_of_plugin

__all__ = ["plugin_tools"]

_MAX_ASKED = 500  # characters of arguments that a question shows
_MARGIN_S = 5.0  # the host itself ends what takes too long, and says more of it
_CODES: dict[str, ErrorCode] = {"plugin-timeout": "TIMEOUT", "plugin-changed": "PERMISSION_DENIED"}
_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


def plugin_tools(plugins: Plugins, standing: PluginStanding) -> tuple[Tool, ...]:
    """One tool of ours for each that a plugin declares."""
    manifest = standing.found.manifest
    return tuple(_make_tool(plugins, standing, spec) for spec in manifest.tools) if manifest else ()


def _make_tool(plugins: Plugins, standing: PluginStanding, spec: ToolSpec) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        given = dict(arguments)
        if problem := check_arguments(given, parameters):
            raise ToolError("INVALID_PARAM", problem)
        if not spec.read_only or context.must_ask:
            await _ask(standing.id, spec, given, context)
        context.act.begin()
        return await _call(plugins, standing.id, spec, given)

    parameters = {"type": "object", **spec.parameters} if spec.parameters else _NO_ARGUMENTS
    settings = plugins.settings
    call_s = entry_of_plugin(standing.found, settings).call_timeout_s or settings.call_timeout_s
    if standing.found.manifest is not None and standing.found.manifest.wasm_module:
        call_s = max(call_s, settings.wasm.timeout_s or 0)
    return Tool(
        spec.name,
        clean_text(spec.description),
        run,
        parameters,
        read_only=spec.read_only,
        timeout_s=call_s + settings.init_timeout_s + _MARGIN_S,
        asks=True,
        repeatable=lambda _: spec.read_only or spec.repeatable,
        plugin=standing.id,
    )


async def _ask(plugin_id: str, spec: ToolSpec, arguments: Mapping[str, Any], context: ToolContext) -> None:
    shown = json.dumps(arguments, ensure_ascii=False, default=repr)
    cut = shown if len(shown) <= _MAX_ASKED else f"{shown[:_MAX_ASKED]}… ({len(shown)} characters)"
    why = f"Asked by {context.must_ask}" if context.must_ask else "It may change something"
    name = context.tool or spec.name  # where that is another's, it goes by a longer one
    if not await context.ask(f"Let the plugin '{plugin_id}' run {name}?", f"{why}. Arguments: {cut}"):
        hint = f"To run it without being asked: weft permissions allow {name}"
        raise ToolError("PERMISSION_DENIED", f"{name} was not allowed to run", hint=hint)


async def _call(plugins: Plugins, plugin_id: str, spec: ToolSpec, arguments: dict[str, Any]) -> ToolResult:
    try:
        output: ToolOutput = await plugins.call(plugin_id, "execute_tool", name=spec.name, arguments=arguments)
    except PluginFailed as error:
        raise ToolError(_CODES.get(error.code, "EXECUTION_ERROR"), str(error), hint=error.hint) from error
    except PluginError as error:
        raise ToolError("EXECUTION_ERROR", str(error), hint=error.hint) from error
    return ToolResult(clean_text(output.content), "error" if output.is_error else "success")
