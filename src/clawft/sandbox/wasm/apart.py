"""Compiling in a process of its own, which can be ended: 300 KB of WebAssembly can keep a compiler busy for minutes.

What the process gives back is taken as what the compiler makes here, and no more trusted than that.
"""

import json
import os
import sys
import zlib
from importlib.util import find_spec
from typing import Any

from clawft.sandbox.wasm.errors import WasmError

__all__ = ["CHILD", "compile_words", "find_library", "python_words", "read_code"]

CHILD = os.path.join(os.path.dirname(__file__), "child.py")
_MEMORY_BYTES = 2 << 30
_MAX_CODE = 256 << 20
_MAX_TEXT = 400


def find_library() -> str:
    """The folder of wasmtime, which is not loaded. Raises: WasmError `wasm-missing`."""
    found = find_spec("wasmtime")
    if found is None or not found.submodule_search_locations:
        message = "WebAssembly needs a part that is not installed"
        raise WasmError("wasm-missing", message, hint="Install clawft[wasm]")
    return found.submodule_search_locations[0]


def python_words(job: dict[str, Any]) -> tuple[str, ...]:
    """The words that start a process for a job."""
    return (os.path.realpath(sys.executable), "-I", "-S", "-B", CHILD, json.dumps(job))


def compile_words(timeout_s: float) -> tuple[str, ...]:
    """The words of a process that compiles a program: a module of WASI preview 1. Raises: WasmError."""
    job = {"memory_bytes": _MEMORY_BYTES, "cpu_s": int(2 * timeout_s) + 1, "library": find_library()}
    return python_words({**job, "compile": "module", "program": True})


def read_code(code: int, output: bytes, errors: bytes, path: str) -> bytes:
    """The compiled code, from how that process ended. Raises: WasmError."""
    if code:
        said = errors.decode("utf-8", "replace").strip()[-_MAX_TEXT:] if code > 0 else ""
        message = said or "WebAssembly failed: it takes too much to compile it"
        raise WasmError("wasm-runtime", message, path=path)
    opened = zlib.decompressobj()
    try:
        made = opened.decompress(output, _MAX_CODE)
    except zlib.error as error:
        raise WasmError("wasm-runtime", "WebAssembly failed: the compiler gave no code", path=path) from error
    if not opened.eof:
        raise WasmError("wasm-too-large", "The compiled module is too large", path=path)
    return made
