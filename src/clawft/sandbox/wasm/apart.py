"""Compiling in a process of its own, which can be ended: 300 KB of WebAssembly can keep a compiler busy for minutes.

What the process gives back is taken as what the compiler makes here, and no more trusted than that.
"""

import json
import os
import subprocess
import sys
import zlib
from importlib.util import find_spec
from typing import Any, Literal

from clawft.sandbox.wasm.errors import WasmError

__all__ = [
    "CHILD",
    "MEMORY_BYTES",
    "Kind",
    "compile_apart",
    "compile_words",
    "find_library",
    "python_words",
    "read_code",
    "time_for",
    "too_long",
]

Kind = Literal["component", "module"]
CHILD = os.path.join(os.path.dirname(__file__), "child.py")
LIMIT_S = 10.0
_S_PER_MB = 5.0
MEMORY_BYTES = 2 << 30
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


def compile_apart(data: bytes, kind: Kind, path: str) -> bytes:
    """Compile something, and wait for it. Raises: WasmError."""
    limit_s = time_for(data, LIMIT_S)
    words = compile_words(kind, limit_s)
    try:
        done = subprocess.run(words, input=data, capture_output=True, cwd="/", env={}, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise too_long(limit_s, path) from error
    return read_code(done.returncode, done.stdout, done.stderr, path)


def compile_words(kind: Kind, timeout_s: float, *, program: bool = False) -> tuple[str, ...]:
    """The words of a process that compiles what it reads; a program is a module of WASI preview 1, and nothing else.

    Raises: WasmError.
    """
    job = {"memory_bytes": MEMORY_BYTES, "cpu_s": int(2 * timeout_s) + 1, "library": find_library()}
    return python_words({**job, "compile": kind, "program": program})


def time_for(data: bytes, least_s: float) -> float:
    """How long compiling may take; what is large, as a whole interpreter is, takes longer."""
    return least_s + _S_PER_MB * (len(data) >> 20)


def too_long(limit_s: float, path: str) -> WasmError:
    """What is said of something that the compiler did not get done with."""
    message = f"WebAssembly was stopped: it takes more than {limit_s:g} s to compile"
    return WasmError("wasm-limit", message, path=path, hint="Make it smaller, or its functions simpler")


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
