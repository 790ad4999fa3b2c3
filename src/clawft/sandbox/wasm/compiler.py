"""Compiled code, kept on disk: an accelerator only. What is read back is run as it is, so it has to be ours for sure.

A file is the seal of the user and what the engine made. The key is of the bytes that were compiled, the version of the
library and the settings of the engine; the seal is bound to it, so that no file fits in the place of another.
"""

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from clawft.errors import ClawftError
from clawft.files import read_regular, replace_file
from clawft.sandbox.wasm.apart import Kind, compile_apart
from clawft.sandbox.wasm.engine import ENGINE_SETTINGS, shared_engine
from clawft.sandbox.wasm.errors import import_wasmtime, tell_trap
from clawft.trust.seal import Seal

if TYPE_CHECKING:
    from wasmtime.component import Component

__all__ = ["CompiledCache"]

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

        kept = self.find_code(data, "component")
        if kept is not None:
            with suppress(wasmtime.WasmtimeError):  # of another processor, say
                found = Component.deserialize(shared_engine(), kept)
                self.hits += 1
                return found
        self.misses += 1
        code = b"" if _is_small(data) else compile_apart(data, "component", path)
        try:
            made = Component.deserialize(shared_engine(), code) if code else Component(shared_engine(), data)
        except wasmtime.WasmtimeError as error:
            raise tell_trap(error, path=path) from error
        self.keep_code(data, "component", code or bytes(made.serialize()))
        return made

    def find_code(self, data: bytes, kind: Kind) -> bytes | None:
        """What was kept for these bytes, as `keep_code` was given it."""
        return self._load(_key_of(data, kind))

    def keep_code(self, data: bytes, kind: Kind, code: bytes) -> None:
        """Keep what these bytes were compiled to."""
        self._store(_key_of(data, kind), code)

    def _load(self, key: str) -> bytes | None:
        """What is kept under a key, if it is certainly what was put there by this user."""
        try:
            data, status = read_regular(os.path.join(self.folder, key), _MAX_BYTES)
            if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & _EXPOSED:
                return None
            mac, code = data[:_MAC], data[_MAC:]
            held = self._seal.holds(code, _label(key), mac.decode("ascii", "replace"))
        except (OSError, ClawftError):
            return None
        return code if held else None

    def _store(self, key: str, code: bytes) -> None:
        """Keep compiled code; a folder that cannot be written to is left alone."""
        with suppress(OSError, ClawftError):
            for one in (os.path.dirname(self.folder), self.folder):  # a mode counts for the last folder alone
                os.makedirs(one, mode=0o700, exist_ok=True)
            mac = self._seal.sign(code, _label(key))
            replace_file(os.path.join(self.folder, key), mac.encode("ascii") + code)
            self._prune()

    def _prune(self) -> None:
        with os.scandir(self.folder) as entries:
            known = sorted((one.stat(follow_symlinks=False).st_mtime, one.path) for one in entries)
        for _, path in known[:-MAX_FILES]:
            os.unlink(path)


def _is_small(data: bytes) -> bool:
    """Whether little comes of a component. One that has others may have each of them many times, and these others."""
    return len(data) <= _SMALL and _count_nested(data) <= 1


def _count_nested(data: bytes) -> int:
    """How many components are in one, at any depth; of what is damaged, as many as were found."""
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


def _key_of(data: bytes, kind: Kind) -> str:
    named = f"{kind}\0{_library_version()}\0{ENGINE_SETTINGS}\0".encode()
    return hashlib.sha256(named + hashlib.sha256(data).digest()).hexdigest()


@cache
def _library_version() -> str:
    from importlib.metadata import version

    return version("wasmtime")


def _label(key: str) -> str:
    return f"wasm-cache:{key}"
