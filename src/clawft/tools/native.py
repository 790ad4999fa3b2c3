"""Tools of a skill that the plugin does which brings it (`execution: native`): asked for and noted as programs are."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawft.contracts import PluginError
from clawft.errors import ClawftError
from clawft.tools.program import Programs, Start
from clawft.tools.tool import ErrorCode, ToolContext, ToolError, ToolResult

__all__ = ["NativeCall", "run_native"]

_CODES: dict[str, ErrorCode] = {"plugin-timeout": "TIMEOUT", "plugin-changed": "PERMISSION_DENIED"}


class NativeCall(Struct, frozen=True):
    """What is asked of a plugin: a tool as its skill declares it, its arguments, and both as people see them."""

    plugin: str
    skill: str
    name: str
    arguments: Mapping[str, Any]
    shown: str
    given: str

    @property
    def start(self) -> Start:
        """The same as a question and the audit log show it."""
        return Start(self.skill, (f"plugin:{self.plugin}", self.name), tool=self.shown, shown=self.given)


async def run_native(programs: Programs, call: NativeCall, context: ToolContext) -> ToolResult:
    """Ask for it, and have it done. Raises: ToolError, Refused."""
    start, call_plugin = call.start, programs.engines.call_plugin
    assert call_plugin is not None
    try:
        await programs.permit(start, context, f"by the plugin '{call.plugin}'")
        output = await call_plugin(call.plugin, call.skill, call.name, call.arguments)
    except PluginError as error:
        raise ToolError(_CODES.get(error.code, "EXECUTION_ERROR"), str(error), hint=error.hint) from error
    except ClawftError as error:
        if not context.act.is_begun:
            programs.refuse(start, str(error), context)
        raise
    return ToolResult(output.content, "error" if output.is_error else "success")
