"""The line of plugins in WebAssembly: a tool of a component that asks the host once, against the library alone."""

import statistics
import time
from pathlib import Path

import anyio

from clawft.plugins.host import Plugins
from report import Line
from wasm_guests import GET_CONFIG, make_guest
from wasm_yard import GUEST, WasmYard

LIMIT = 2.0
LIMIT_MS = 0.3
SETTINGS = {"type": "object", "properties": {"unit": {"type": "string", "default": "metric"}}}
ARGUMENTS = {"s": "unit"}
ANSWER = ("metric", False)
WARM_UP = 50
PAUSE_S = 0.001  # before each: a call is written down behind it, which is not to disturb what comes next


def measure_wasm(folder: Path, calls: int) -> list[Line]:
    """A call of a granted plugin, from `Plugins.call` to its output, and a bare call of the same component with the
    library's own conversions, in turn; the medians. None without the library."""
    try:
        import wasmtime  # noqa: F401
    except ImportError:
        return []
    yard = WasmYard(folder)
    yard.add_code(GET_CONFIG, config_schema=SETTINGS)
    ours, bare = anyio.run(_measure, yard.open(), calls)
    called = f"a tool of a component that asks the host once, from the call to its output; the median of {calls}"
    return [
        Line("wasm", called, "the same component by wasmtime-py alone, without a thread", ours, bare, "ms", LIMIT),
        Line("wasm-call", called, f"the limit, {LIMIT_MS:g} ms", ours, LIMIT_MS, "ms", 1),
    ]


async def _measure(plugins: Plugins, calls: int) -> tuple[float, float]:
    ours, alone = [], []
    bare = Bare()
    async with plugins:
        for number in range(calls + WARM_UP):
            await anyio.sleep(PAUSE_S)
            start = time.perf_counter()
            output = await plugins.call(GUEST, "execute_tool", name="try_it", arguments=ARGUMENTS)
            taken = time.perf_counter() - start
            await anyio.sleep(PAUSE_S)
            start = time.perf_counter()
            answer = bare.call()
            other = time.perf_counter() - start
            if (output.content, output.is_error) != ANSWER or answer != ANSWER:
                raise SystemExit(f"error: the component answered {output} and {answer}")
            if number >= WARM_UP:
                ours.append(taken * 1000)
                alone.append(other * 1000)
    return statistics.median(ours), statistics.median(alone)


class Bare:
    """The component as the library's documentation has it: with fuel and epochs, without any bound on one call."""

    def __init__(self) -> None:
        from wasmtime import Config, Engine, Store
        from wasmtime.component import Component, Linker, Record

        config = Config()
        config.wasm_component_model = True
        config.consume_fuel = True
        config.epoch_interruption = True
        engine = Engine(config)
        linker = Linker(engine)
        with linker.root() as root, root.add_instance("clawft:plugin/host@0.1.0") as host:
            host.add_func("get-config", lambda _, key: "metric" if key == "unit" else None)
            for name in ("get-env", "log", "read-file", "write-file", "http-request"):
                host.add_func(name, lambda *_: None)
        self._store = Store(engine)
        self._store.set_fuel(10**15)
        self._store.set_epoch_deadline(10**9)
        made = linker.instantiate(self._store, Component(engine, make_guest(GET_CONFIG)))
        plugin = made.get_export_index(self._store, "clawft:plugin/plugin@0.1.0")
        index = made.get_export_index(self._store, "execute-tool", plugin)
        function = made.get_func(self._store, index) if index else None
        assert function is not None
        self._function = function
        self._record = Record()
        vars(self._record).update(name="try_it", arguments='{"s":"unit"}')

    def call(self) -> tuple[str, bool]:
        answer = self._function(self._store, self._record)
        self._function.post_return(self._store)
        return answer.content, getattr(answer, "is-error")
