"""Runs one WASI module in a process of its own. Nothing is there but the standard library and wasmtime.

The first word is the job as JSON, the others are the module's. Variables of the module come with a prefix, so that none
of them means anything to this process. It ends with the module's exit code, or with one of its own if that trapped.
"""

import importlib.util
import json
import os
import resource
import sys
import tempfile
from types import ModuleType
from typing import Any

PREFIX = "WASI_"
TRAPPED = 125  # no module may end with more than that
MAX_FILES = 256  # open at once
_MAX_TEXT = 300
_MAX_TABLE_ELEMENTS = 1 << 20
_LIMITS = {
    "all fuel consumed": "it took more instructions than plugins.wasm.fuel allows",
    "call stack exhausted": "it calls itself too deeply",
    "memory minimum size": "it needs more memory than plugins.wasm.memory_mb allows",
}


def main() -> int:
    """Run the module; its exit code."""
    job = json.loads(sys.argv[1])
    wasmtime = _load_library(job["library"])
    wanted = {resource.RLIMIT_NOFILE: MAX_FILES, resource.RLIMIT_FSIZE: job["file_bytes"], resource.RLIMIT_CORE: 0}
    for what, value in wanted.items():
        _, hard = resource.getrlimit(what)
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (lower, lower))
    with tempfile.TemporaryDirectory() as private:
        try:
            _run(wasmtime, job, private)
        except wasmtime.ExitTrap as ended:
            return int(ended.code)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            os.write(2, f"WebAssembly was stopped: {_tell(str(error))}\n".encode("utf-8", "replace"))
            return TRAPPED
    return 0


def _run(wasmtime: ModuleType, job: dict[str, Any], private: str) -> None:
    """Call `_start`. Raises: ExitTrap, Trap, WasmtimeError."""
    engine = _make_engine(wasmtime)
    module = wasmtime.Module.deserialize_file(engine, job["module"])
    wasi = wasmtime.WasiConfig()
    wasi.argv = sys.argv[2:]
    wasi.env = [(name[len(PREFIX) :], value) for name, value in os.environ.items() if name.startswith(PREFIX)]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    for source, seen in job["folders"]:
        wasi.preopen_dir(source, seen, False)
    wasi.preopen_dir(private, "/tmp", True)
    store = wasmtime.Store(engine)
    store.set_limits(job["memory_bytes"], _MAX_TABLE_ELEMENTS, 1, 32, 1)
    store.set_fuel(job["fuel"])
    store.set_epoch_deadline(1)  # never reached: who started this process ends it
    store.set_wasi(wasi)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    linker.instantiate(store, module).exports(store)["_start"](store)


def _make_engine(wasmtime: ModuleType) -> Any:
    """One like that which compiled the module (`wasm.engine`); any other would refuse it."""
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


def _tell(text: str) -> str:
    """What the engine says, in words for a person: the reason comes last."""
    meant = next((meaning for mark, meaning in _LIMITS.items() if mark in text), "")
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["unknown"]
    return meant or lines[-1].rpartition("wasm trap: ")[2][:_MAX_TEXT]


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code & 0xFF or bool(code))  # no thread of the engine is waited for
