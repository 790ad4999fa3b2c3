"""What can be wrong with WebAssembly, as codes: of the file, of the library, of what ran (R140)."""

from types import ModuleType

from clawft.errors import ClawftError

__all__ = ["WasmError", "import_wasmtime", "tell_trap"]

_MAX_TEXT = 300
_LIMITS = {  # what the engine says, and what it means
    "all fuel consumed": "it took more instructions than plugins.wasm.fuel allows",
    "call stack exhausted": "it calls itself too deeply",
    "memory minimum size": "it needs more memory than plugins.wasm.memory_mb allows",
    "fuel allocated for hostcalls": "it hands over more at once than can be taken",
    "resource limit exceeded": "it needs more memories, tables or instances than one may have",
}


class WasmError(ClawftError):
    """Codes: `wasm-missing` (the library), `wasm-no-module`, `wasm-io`, `wasm-too-large` (the file), `wasm-runtime`
    (it cannot be compiled or linked, or it trapped), `wasm-limit` (it ran into one of its limits), `wasm-timeout`."""


def import_wasmtime() -> ModuleType:
    """The library, loaded now. Raises: WasmError `wasm-missing`."""
    try:
        import wasmtime
    except ImportError as error:
        message = "WebAssembly needs a part that is not installed"
        raise WasmError("wasm-missing", message, hint="Install clawft[wasm]") from error
    return wasmtime


def tell_trap(error: Exception, *, path: str = "") -> WasmError:
    """What an error of the engine says, in words for a person: it puts the reason last, after the way it took."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    for mark, meaning in _LIMITS.items():
        if any(mark in line for line in lines):
            return WasmError("wasm-limit", f"WebAssembly was stopped: {meaning}", path=path)
    reason = lines[-1].partition(": ")[2] if lines[-1][:1].isdigit() else lines[-1]
    return WasmError("wasm-runtime", f"WebAssembly failed: {reason[:_MAX_TEXT]}", path=path)
