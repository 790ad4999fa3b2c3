"""WebAssembly: one engine for plugins and skills, with limits that hold. The library is loaded when something runs."""

from clawft.sandbox.wasm.cache import CompiledCache
from clawft.sandbox.wasm.engine import Guard, shared_engine
from clawft.sandbox.wasm.errors import WasmError, import_wasmtime, tell_trap
from clawft.sandbox.wasm.module import check_size, load_wasm

__all__ = [
    "CompiledCache",
    "Guard",
    "WasmError",
    "check_size",
    "import_wasmtime",
    "load_wasm",
    "shared_engine",
    "tell_trap",
]
