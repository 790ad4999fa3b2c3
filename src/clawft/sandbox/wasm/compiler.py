"""Compile WebAssembly in a process of its own, and cache the compiled code on disk."""

import hashlib
import importlib.util
import json
import os
import stat
import subprocess
import sys
import zlib
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from clawft.errors import ClawftError
from clawft.files import read_regular, replace_file
from clawft.sandbox.wasm.engine import ENGINE_SETTINGS, shared_engine
from clawft.sandbox.wasm.module import WasmError, explain_trap, import_wasmtime
from clawft.trust.records import Seal

if TYPE_CHECKING:
    from wasmtime.component import Component


WasmKind = Literal["component", "module"]
CHILD = os.path.join(os.path.dirname(__file__), "child.py")
LIMIT_S = 10.0
_S_PER_MB = 5.0
MEMORY_BYTES = 2 << 30
_MAX_CODE = 256 << 20
_MAX_TEXT = 400


def find_library() -> str:
    """The folder of wasmtime, which is not loaded. Raises: WasmError `wasm-missing`."""
    found = importlib.util.find_spec("wasmtime")
    if found is None or not found.submodule_search_locations:
        message = "WebAssembly needs a part that is not installed"
        raise WasmError("wasm-missing", message, hint="Install clawft[wasm]")
    return found.submodule_search_locations[0]


def python_words(job: dict[str, Any]) -> tuple[str, ...]:
    """The words that start a process for a job."""
    return (os.path.realpath(sys.executable), "-I", "-S", "-B", CHILD, json.dumps(job))


def compile_apart(data: bytes, kind: WasmKind, path: str) -> bytes:
    """Compile something, and wait for it. Raises: WasmError."""
    limit_s = get_compile_timeout_s(data, LIMIT_S)
    words = compile_words(kind, limit_s)
    try:
        done = subprocess.run(words, input=data, capture_output=True, cwd="/", env={}, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise too_long(limit_s, path) from error
    return read_code(done.returncode, done.stdout, done.stderr, path)


def compile_words(kind: WasmKind, timeout_s: float, *, program: bool = False) -> tuple[str, ...]:
    """The words of a process that compiles what it reads; a program is a module of WASI preview 1, and nothing else.

    Raises: WasmError.
    """
    job = {"memory_bytes": MEMORY_BYTES, "cpu_s": int(2 * timeout_s) + 1, "library": find_library()}
    return python_words({**job, "compile": kind, "program": program})


def get_compile_timeout_s(data: bytes, least_s: float) -> float:
    """Return the time limit for compiling, in seconds; a large module, such as a whole interpreter, gets longer."""
    return least_s + _S_PER_MB * (len(data) >> 20)


def too_long(limit_s: float, path: str) -> WasmError:
    """Return the error for a module that takes too long to compile."""
    message = f"WebAssembly was stopped: it takes more than {limit_s:g} s to compile"
    return WasmError("wasm-limit", message, path=path, hint="Make it smaller, or its functions simpler")


def read_code(code: int, output: bytes, errors: bytes, path: str) -> bytes:
    """The compiled code, from how that process ended. Raises: WasmError."""
    if code:
        detail = errors.decode("utf-8", "replace").strip()[-_MAX_TEXT:] if code > 0 else ""
        message = detail or "WebAssembly failed: it takes too much to compile it"
        raise WasmError("wasm-runtime", message, path=path)
    opened = zlib.decompressobj()
    try:
        made = opened.decompress(output, _MAX_CODE)
    except zlib.error as error:
        raise WasmError("wasm-runtime", "WebAssembly failed: the compiler gave no code", path=path) from error
    if not opened.eof:
        raise WasmError("wasm-too-large", "The compiled module is too large", path=path)
    return made


MAX_FILES = 64
_SMALL = 4096  # bytes of code, with which no compiler is busy for more than a second or two
_HEAD, _NESTED = 8, 4  # the bytes before the sections of a component, and the section that is another component
_MAX_BYTES = 256 << 20
_MAC = 64  # characters
_EXPOSED = 0o022  # others may write


class CompiledCache:
    """`~/.clawft/cache/wasm/`. `hits` and `misses` are counted."""

    def __init__(self, user_dir: str, seal: Seal) -> None:
        self.folder = os.path.join(user_dir, "cache", "wasm")
        self._seal = seal
        self.hits = 0
        self.misses = 0

    def compile_component(self, data: bytes, path: str = "") -> "Component":
        """Raises: WasmError if it is no component that can be compiled."""
        wasmtime = import_wasmtime()
        from wasmtime.component import Component

        cached = self.find_code(data, "component")
        if cached is not None:
            with suppress(wasmtime.WasmtimeError):  # of another processor, say
                found = Component.deserialize(shared_engine(), cached)
                self.hits += 1
                return found
        self.misses += 1
        # Little comes of a small one; one with others in it may have each of them many times, and these others.
        is_small = len(data) <= _SMALL and _count_nested(data) <= 1
        code = b"" if is_small else compile_apart(data, "component", path)
        try:
            made = Component.deserialize(shared_engine(), code) if code else Component(shared_engine(), data)
        except wasmtime.WasmtimeError as error:
            raise explain_trap(error, path=path) from error
        self.keep_code(data, "component", code or bytes(made.serialize()))
        return made

    def find_code(self, data: bytes, kind: WasmKind) -> bytes | None:
        """Find the code that `keep_code` stored for these bytes, if it is certainly what this user stored there."""
        key = _key_of(data, kind)
        try:
            stored, status = read_regular(os.path.join(self.folder, key), _MAX_BYTES)
            if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & _EXPOSED:
                return None
            mac, code = stored[:_MAC], stored[_MAC:]
            held = self._seal.holds(code, f"wasm-cache:{key}", mac.decode("ascii", "replace"))
        except (OSError, ClawftError):
            return None
        return code if held else None

    def keep_code(self, data: bytes, kind: WasmKind, code: bytes) -> None:
        """Keep what these bytes were compiled to; a folder that cannot be written to is left alone."""
        key = _key_of(data, kind)
        with suppress(OSError, ClawftError):
            for directory in (os.path.dirname(self.folder), self.folder):  # a mode counts for the last folder alone
                os.makedirs(directory, mode=0o700, exist_ok=True)
            mac = self._seal.sign(code, f"wasm-cache:{key}")
            replace_file(os.path.join(self.folder, key), mac.encode("ascii") + code)
            self._prune()

    def _prune(self) -> None:
        with os.scandir(self.folder) as entries:
            known = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in entries)
        for _, path in known[:-MAX_FILES]:
            os.unlink(path)


def _count_nested(data: bytes) -> int:
    """Count the components nested in one, at any depth; in damaged data, as many as were found."""
    count, at = 0, _HEAD
    while at < len(data):
        kind, at, size, shift = data[at], at + 1, 0, 0
        while at < len(data):  # a number of seven bits a byte
            byte, at = data[at], at + 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if kind == _NESTED:
            count += 1 + _count_nested(data[at : at + size])
        at += size
    return count


def _key_of(data: bytes, kind: WasmKind) -> str:
    named = f"{kind}\0{_library_version()}\0{ENGINE_SETTINGS}\0".encode()
    return hashlib.sha256(named + hashlib.sha256(data).digest()).hexdigest()


@cache
def _library_version() -> str:
    from importlib.metadata import version

    return version("wasmtime")
