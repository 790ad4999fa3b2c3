"""What does tools of skills that are no programs of this machine: WebAssembly, and the plugins that bring skills."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawft.config.plugins import WasmSettings
from clawft.contracts import ToolOutput
from clawft.discovery.locations import Location
from clawft.tools.provided import Means

if TYPE_CHECKING:
    from clawft.sandbox.wasi import Wasi

__all__ = ["CallPlugin", "Engines", "find_means"]

# The plugin, the skill, the tool and its arguments. Raises: PluginError.
CallPlugin = Callable[[str, str, str, Mapping[str, Any]], Awaitable[ToolOutput]]


class Engines(Struct, frozen=True):
    """`plugins` are those that can be called."""

    wasm: WasmSettings
    open_wasi: Callable[[], "Wasi"]
    plugins: Collection[str] = ()
    call_plugin: CallPlugin | None = None


def find_means(location: Location | None, wasm: WasmSettings, plugins: Collection[str]) -> Means:
    """What there is for a skill of a place. Only the plugin that brings a skill does its tools."""
    if location is None or location.scope != "plugin":
        return Means(wasm)
    if location.layer in plugins:
        return Means(wasm, location.layer)
    return Means(wasm, no_plugin=f"the plugin '{location.layer}' does not run, or has no code")
