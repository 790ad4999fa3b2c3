"""Read a WebAssembly module or component from disk, check its size, and name what can be wrong with it."""

import gzip
import os
from types import ModuleType

from clawft.config.extensions import WasmSettings
from clawft.errors import ClawftError, Unreadable
from clawft.files import read_regular

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


def explain_trap(error: Exception, *, path: str = "") -> WasmError:
    """Explain an error of the engine in words for the user: the engine puts the reason last, after the call stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    for mark, meaning in _LIMITS.items():
        if any(mark in line for line in lines):
            return WasmError("wasm-limit", f"WebAssembly was stopped: {meaning}", path=path)
    reason = lines[-1].partition(": ")[2] if lines[-1][:1].isdigit() else lines[-1]
    return WasmError("wasm-runtime", f"WebAssembly failed: {reason[:_MAX_TEXT]}", path=path)


_TEXT_FACTOR = 16  # a text is about ten times as long as what it is assembled to
_GZIP_SLACK = 1024  # what gzip may add to what it cannot compress
_MAGIC = b"\0asm"


def load_wasm(path: str, settings: WasmSettings, shown: str = "") -> bytes:
    """The bytes of a module or component; one that is a text (`.wat`) is assembled, and counts as what comes of it.
    `shown` is the path to speak of, where this is that of a copy.

    Raises: WasmError.
    """
    is_text, shown = path.endswith(".wat"), shown or path
    limit = settings.max_bytes * (_TEXT_FACTOR if is_text else 1)
    try:
        data, _ = read_regular(path, limit)
    except FileNotFoundError as error:
        name = os.path.basename(path)
        raise WasmError("wasm-no-module", f"There is no '{name}' to run", path=shown) from error
    except Unreadable as error:
        if error.code == "file-too-large":
            size = os.path.getsize(path)
            raise _too_large(f"{size} bytes{' as text' if is_text else ''}", f"{limit}", "max_bytes", shown) from error
        raise WasmError("wasm-io", f"The module cannot be read: {error}", path=shown, hint=error.hint) from error
    except OSError as error:
        raise WasmError("wasm-io", f"The module cannot be read: {error.strerror}", path=shown) from error
    data = _assemble(data, shown) if is_text else data
    if not data.startswith(_MAGIC):
        raise WasmError("wasm-runtime", "This is no WebAssembly", path=shown, hint="Name a .wasm or .wat file")
    check_size(data, settings, shown)
    return data


def check_size(data: bytes, settings: WasmSettings, path: str = "") -> None:
    """Raises: WasmError `wasm-too-large` for what is larger than the settings allow, as it is or compressed."""
    if len(data) > settings.max_bytes:
        raise _too_large(f"{len(data)} bytes", f"{settings.max_bytes}", "max_bytes", path)
    if len(data) + _GZIP_SLACK > settings.max_gzip_bytes:
        size = len(gzip.compress(data, 9, mtime=0))
        if size > settings.max_gzip_bytes:
            raise _too_large(f"{size} bytes compressed", f"{settings.max_gzip_bytes}", "max_gzip_bytes", path)


def _too_large(size: str, limit: str, setting: str, path: str) -> WasmError:
    hint = f"Make it smaller, or raise plugins.wasm.{setting}"
    return WasmError("wasm-too-large", f"The module has {size}; {limit} is the limit", path=path, hint=hint)


def _assemble(text: bytes, path: str) -> bytes:
    wasmtime = import_wasmtime()
    try:
        return bytes(wasmtime.wat2wasm(text))
    except wasmtime.WasmtimeError as error:
        first = str(error).partition("\n")[0][:200]
        raise WasmError("wasm-runtime", f"The text cannot be assembled: {first}", path=path) from error
