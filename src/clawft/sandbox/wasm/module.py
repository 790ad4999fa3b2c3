"""Read a module or component from disk, and hold it to its size (R140)."""

import gzip
import os

from clawft.config.plugins import WasmSettings
from clawft.errors import Unreadable
from clawft.files import read_regular
from clawft.sandbox.wasm.errors import WasmError, import_wasmtime

__all__ = ["check_size", "load_wasm"]

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
