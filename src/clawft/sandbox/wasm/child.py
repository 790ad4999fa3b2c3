"""A process of its own for WebAssembly: it compiles something, or runs one WASI module.

Nothing is there but the standard library and wasmtime. The first word is the job as JSON, the others are the module's.
Variables of the module come with a prefix, so that none of them means anything to this process. It ends with the
module's exit code, or with one of its own if that trapped, or cannot be compiled.
"""

import importlib.util
import json
import os
import resource
import sys
import tempfile
import zlib
from types import ModuleType
from typing import Any

PREFIX = "WASI_"
FAILED = 125  # no module may end with more than that
MAX_FILES = 256  # open at once
_PREVIEW_1 = "wasi_snapshot_preview1"
_MAX_NAMED = 3
_MAX_TEXT = 300
_MAX_TABLE_ELEMENTS = 1 << 20
_LIMITS = {
    "all fuel consumed": "it took more instructions than plugins.wasm.fuel allows",
    "call stack exhausted": "it calls itself too deeply",
    "memory minimum size": "it needs more memory than plugins.wasm.memory_mb allows",
}


def main() -> int:
    """Do the job; the exit code."""
    job = json.loads(sys.argv[1])
    wasmtime = _load_library(job["library"])
    try:
        return _compile(wasmtime, job) if "compile" in job else _run(wasmtime, job)
    except wasmtime.ExitTrap as ended:
        return int(ended.code)
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        return _fail(f"WebAssembly {'failed' if 'compile' in job else 'was stopped'}: {_tell(str(error))}")
    except (OSError, ValueError, MemoryError) as error:  # no room, or a name that has no letters
        return _fail(f"WebAssembly failed: {str(error)[:_MAX_TEXT] or type(error).__name__}")


def _compile(wasmtime: ModuleType, job: dict[str, Any]) -> int:
    """Compile standard input, and write the code to standard output. Raises: WasmtimeError."""
    _limit({resource.RLIMIT_DATA: job["memory_bytes"], resource.RLIMIT_CPU: job["cpu_s"], resource.RLIMIT_CORE: 0})
    data = sys.stdin.buffer.read()
    if job["compile"] == "component":
        made = importlib.import_module("wasmtime.component").Component(_make_engine(wasmtime), data)
    else:
        made = wasmtime.Module(_make_engine(wasmtime), data)
        problem = _find_problem(made) if job["program"] else ""
        if problem:
            return _fail(problem)
    sys.stdout.buffer.write(zlib.compress(made.serialize(), 1))
    sys.stdout.buffer.flush()
    return 0


def _find_problem(module: Any) -> str:
    """Return why a module is no program of WASI preview 1; '' if it is one."""
    foreign = [f"{imported.module}.{imported.name}" for imported in module.imports if imported.module != _PREVIEW_1]
    if foreign:
        return f"It cannot be run: it needs {', '.join(foreign[:_MAX_NAMED])}, which is not of WASI preview 1"
    missing = {"_start", "memory"} - {export.name for export in module.exports}
    return f"It cannot be run: it has no {' and no '.join(sorted(missing))}" if missing else ""


def _run(wasmtime: ModuleType, job: dict[str, Any]) -> int:
    """Run a module that was compiled. Raises: ExitTrap, Trap, WasmtimeError."""
    _limit({resource.RLIMIT_NOFILE: MAX_FILES, resource.RLIMIT_FSIZE: job["file_bytes"], resource.RLIMIT_CORE: 0})
    engine = _make_engine(wasmtime)
    try:
        module = wasmtime.Module.deserialize_file(engine, job["module"])
    except wasmtime.WasmtimeError:  # it was compiled for another processor
        module = wasmtime.Module.from_file(engine, job["source"])
    with tempfile.TemporaryDirectory() as private:
        store = wasmtime.Store(engine)
        store.set_limits(job["memory_bytes"], _MAX_TABLE_ELEMENTS, 1, 32, 1)
        store.set_fuel(job["fuel"])
        store.set_epoch_deadline(1)  # never reached: who started this process ends it
        store.set_wasi(_make_wasi(wasmtime, job["folders"], private))
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        try:
            linker.instantiate(store, module).exports(store)["_start"](store)
        finally:
            store.close()  # with every file that it left open
    return 0


def _make_wasi(wasmtime: ModuleType, folders: list[tuple[str, str]], private: str) -> Any:
    """Return the WASI config with what the module may use of this process."""
    wasi = wasmtime.WasiConfig()
    wasi.argv = sys.argv[2:]
    wasi.env = [(name[len(PREFIX) :], value) for name, value in os.environ.items() if name.startswith(PREFIX)]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    for source, seen in folders:
        wasi.preopen_dir(source, seen, False)
    wasi.preopen_dir(private, "/tmp", True)
    return wasi


def _make_engine(wasmtime: ModuleType) -> Any:
    """One like that of `engine`: another would refuse what this one compiles."""
    config = wasmtime.Config()
    config.wasm_component_model = True
    config.consume_fuel = True
    config.epoch_interruption = True
    config.max_wasm_stack = 512 << 10
    config.wasm_threads = False
    return wasmtime.Engine(config)


def _load_library(folder: str) -> ModuleType:
    """The library alone, wherever it is installed: what else lies there cannot be imported."""
    path = os.path.join(folder, "__init__.py")
    found = importlib.util.spec_from_file_location("wasmtime", path, submodule_search_locations=[folder])
    assert found is not None
    assert found.loader is not None
    library = sys.modules["wasmtime"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(library)
    return library


def _limit(wanted: dict[int, int]) -> None:
    for what, value in wanted.items():
        _, hard = resource.getrlimit(what)
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (lower, lower))


def _fail(message: str) -> int:
    os.write(2, f"{message}\n".encode("utf-8", "replace"))
    return FAILED


def _tell(text: str) -> str:
    """Return the engine's error in words for the user: the reason comes last."""
    meant = next((meaning for mark, meaning in _LIMITS.items() if mark in text), "")
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["unknown"]
    return meant or lines[-1].rpartition("wasm trap: ")[2][:_MAX_TEXT]


if __name__ == "__main__":
    code = main()
    os._exit(code & 0xFF or bool(code))  # no thread of the engine is waited for
