"""WebAssembly: one engine for plugins and skills, with limits that hold. The library is loaded when something runs."""

from clawft.sandbox.wasm.compiler import CompiledCache
from clawft.sandbox.wasm.engine import StoreGuard, shared_engine
from clawft.sandbox.wasm.module import WasmError, check_size, explain_trap, import_wasmtime, load_wasm

__all__ = [
    "CompiledCache",
    "StoreGuard",
    "WasmError",
    "check_size",
    "explain_trap",
    "import_wasmtime",
    "load_wasm",
    "shared_engine",
]
