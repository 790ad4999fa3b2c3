"""WASI preview 1 modules as programs: checked and compiled here, run in a process of their own.

A module sees a folder, to be read, and a `/tmp` of its own; no other file, no host, no variable but its own.
WebAssembly enforces that. The process around it is there for what the engine does not bound: a call that sleeps for
ever, files that are never closed, a full disk. It runs in the sandbox, where there is one.
"""

import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from anyio import CancelScope, to_thread
from msgspec import structs

from clawft.config.extensions import PluginsSettings
from clawft.sandbox.confinement import Confinement, ResourceLimits
from clawft.sandbox.process import FLOOD_BYTES, Runnable, Streams
from clawft.sandbox.sandbox import Sandbox
from clawft.sandbox.wasm import CompiledCache, WasmError, load_wasm
from clawft.sandbox.wasm.compiler import (
    CHILD,
    MEMORY_BYTES,
    compile_words,
    find_library,
    get_compile_timeout_s,
    python_words,
    read_code,
    too_long,
)
from clawft.trust.records import KEY_NAME, Seal

PLACE = "/skill"  # where a module sees the folder that it belongs to; `.` is the same
_PREFIX = "WASI_"  # as the child takes it off
_MB = 1024 * 1024


class Wasi:
    """Makes programs of modules, to be run in a sandbox, within the user's limits. What was compiled is kept."""

    def __init__(self, settings: PluginsSettings, sandbox: Sandbox) -> None:
        self.settings = settings
        self._sandbox = sandbox
        self._user_dir = sandbox.workspace.user_dir
        self._cache = CompiledCache(self._user_dir, Seal(os.path.join(self._user_dir, KEY_NAME)))

    @asynccontextmanager
    async def open(
        self, file: str, words: Sequence[str], env: Mapping[str, str], mount: tuple[str, str]
    ) -> AsyncIterator[Runnable]:
        """A module with its own words, of which the first is its name, and variables.

        `mount` is the folder that it is a file of, and where the process finds that. Raises: ClawftError; OSError.
        """
        library, limits = find_library(), self._sandbox.limits
        compiled = await self._compile(os.path.join(mount[0], file))
        below = os.path.join(self._user_dir, "cache", "programs")
        os.makedirs(below, mode=0o700, exist_ok=True)
        private = tempfile.TemporaryDirectory(prefix="wasi-", dir=below)
        try:
            module_path = os.path.join(private.name, "module")
            await to_thread.run_sync(_write, module_path, compiled)
            job = {
                "library": library,
                "module": module_path,
                "source": os.path.join(mount[1], file),
                "folders": [(mount[1], PLACE), (mount[1], ".")],
                "memory_bytes": self.settings.wasm.memory_mb * _MB,
                "file_bytes": limits.file_bytes,
                "fuel": self.settings.wasm.fuel,
            }
            confinement = _confine(
                library, self._limit(self.settings.wasm.memory_mb * _MB), module_path, mounts=(mount,)
            )
            own = {f"{_PREFIX}{name}": value for name, value in env.items()}
            # The sandbox has a folder for temporary files of its own; without one this is it.
            yield Runnable(
                (*python_words(job), *words), {"TMPDIR": private.name, **own}, confinement, self._timeout_s, _go_on
            )
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(private.cleanup)

    @property
    def _timeout_s(self) -> float:
        return self.settings.wasm.timeout_s or self.settings.call_timeout_s

    def _limit(self, memory_bytes: int) -> ResourceLimits:
        """The engine holds the module to its memory; beside that the process needs some room."""
        room = memory_bytes + 256 * _MB
        return structs.replace(self._sandbox.limits, memory_bytes=room, data_bytes=2 * room, processes=64)

    async def _compile(self, path: str) -> bytes:
        """Raises: WasmError for what is no module, none of WASI preview 1, or too large; Refused without a sandbox."""
        data = await to_thread.run_sync(load_wasm, path, self.settings.wasm)
        cached = await to_thread.run_sync(self._cache.find_code, data, "module")
        if cached is not None:
            return cached
        limit = get_compile_timeout_s(data, self.settings.init_timeout_s)
        finished = await self._sandbox.run(
            compile_words("module", limit, program=True),
            cwd="/",
            env={},
            timeout_s=limit,
            max_bytes=FLOOD_BYTES,
            streams=Streams(stdin=data, merged=False),
            confinement=_confine(find_library(), self._limit(MEMORY_BYTES)),
            ask=_go_on,
        )
        if finished.timed_out:
            raise too_long(limit, path)
        if finished.flooded:
            raise WasmError("wasm-too-large", f"What it compiles to is larger than {FLOOD_BYTES} bytes", path=path)
        code = read_code(finished.code, finished.output, finished.errors, path)
        await to_thread.run_sync(self._cache.keep_code, data, "module", code)
        return code


async def _go_on(_reason: str) -> bool:
    """The answer where there is no sandbox: WebAssembly holds a module all the same."""
    return True


def _confine(
    library: str, limits: ResourceLimits, *modules: str, mounts: tuple[tuple[str, str], ...] = ()
) -> Confinement:
    """Return the confinement of the process, which needs Python and the library."""
    needed = (sys.base_prefix, library, CHILD)
    hidden = ("/etc/passwd", "/etc/group")
    return Confinement(whole={"program": (*needed, *modules)}, hidden=hidden, mounts=mounts, limits=limits, least=True)


def _write(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
