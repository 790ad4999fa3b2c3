"""The engine of the process, and a guard on each store: instructions, time and memory are bounded, and a call can be
stopped.

A call is interrupted by the epoch: a thread counts it up while calls are under way, and at each step every call checks
its own clock, and whether it was stopped.
"""

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clawft.sandbox.wasm.module import WasmError, import_wasmtime

if TYPE_CHECKING:
    from wasmtime import Engine, Store


TICK_S = 0.01
_IDLE_TICKS = 20  # so long the thread goes on counting when nothing runs; then it waits
# A key of the cache: what is compiled under other settings does not fit.
ENGINE_SETTINGS = "component-model,fuel,epoch,stack=512k,no-threads"
_STACK_BYTES = 512 << 10  # of a guest; a thread of Python has at least twice that
_MAX_TABLE_ELEMENTS = 1 << 20
_MAX_TABLES = 32
_MAX_INSTANCES = 64  # of core modules in a component
_lock = threading.Lock()
_shared: list["Engine"] = []


def shared_engine() -> "Engine":
    """The one engine of this process. Raises: WasmError `wasm-missing`."""
    with _lock:
        if not _shared:
            wasmtime = import_wasmtime()
            config = wasmtime.Config()
            config.wasm_component_model = True
            config.consume_fuel = True
            config.epoch_interruption = True
            config.max_wasm_stack = _STACK_BYTES
            config.wasm_threads = False
            _shared.append(wasmtime.Engine(config))
        return _shared[0]


class _Ticker:
    """Counts the epoch up while calls are under way. The thread is made once; when nothing runs it waits, unseen."""

    def __init__(self) -> None:
        self._running = 0
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def enter(self) -> None:
        with self._lock:
            self._running += 1
            if self._thread is None or not self._thread.is_alive():  # a forked process has none
                self._thread = threading.Thread(target=self._tick, args=(shared_engine(),), daemon=True)
                self._thread.name = "wasm-epoch"
                self._thread.start()
        if not self._wanted.is_set():
            self._wanted.set()

    def leave(self) -> None:
        with self._lock:
            self._running -= 1

    def _tick(self, engine: "Engine") -> None:
        idle = 0
        while True:
            self._wanted.wait()
            time.sleep(TICK_S)
            engine.increment_epoch()
            idle = 0 if self._running else idle + 1
            if idle >= _IDLE_TICKS:
                idle = 0
                with self._lock:
                    if not self._running:
                        self._wanted.clear()


_ticker = _Ticker()


class StoreGuard:
    """A store that calls run in, one at a time, each within its own limits. `stop` may come from any thread."""

    def __init__(self, memory_bytes: int, memories: int = 1) -> None:
        """`memory_bytes` is for all of its memories together: each may have its part of them."""
        wasmtime = import_wasmtime()
        self.store: Store = wasmtime.Store(shared_engine())
        limit = memory_bytes // memories  # the engine knows a limit for each, and none for the sum
        self.store.set_limits(limit, _MAX_TABLE_ELEMENTS, _MAX_INSTANCES, _MAX_TABLES, memories)
        self._clock = _Clock()
        self._keep = _watch_epoch(self.store, self._clock)

    @property
    def left_s(self) -> float:
        """Return the time left for the call that is under way, in seconds; 0 once it was stopped."""
        return 0.0 if self._clock.stopped else max(0.0, self._clock.deadline - time.monotonic())

    @property
    def why(self) -> WasmError | None:
        """Return the reason why the last call was ended from outside; None if it was not."""
        return self._clock.why

    def stop(self) -> None:
        """End the call that is under way, within a hundredth of a second unless the host works for it just now.

        Nothing runs in this store again, so that it does not matter when this comes.
        """
        self._clock.stopped = True

    @contextmanager
    def running(self, fuel: int, timeout_s: float) -> Iterator[None]:
        """A call, or an instantiation, within these limits."""
        clock = self._clock
        clock.start(timeout_s)
        self.store.set_fuel(fuel)
        self.store.set_epoch_deadline(1)
        _ticker.enter()
        try:
            yield
        finally:
            _ticker.leave()

    def close(self) -> None:
        """Give back the memory. No call may be under way."""
        self.store.close()


class _Clock:
    """The deadline of a call, and the reason if it was stopped."""

    __slots__ = ("deadline", "stopped", "timeout_s", "why")

    def __init__(self) -> None:
        self.deadline = 0.0
        self.timeout_s = 0.0
        self.stopped = False
        self.why: WasmError | None = None

    def start(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.deadline = time.monotonic() + timeout_s
        self.why = None

    def look(self) -> WasmError | None:
        if self.stopped:
            self.why = WasmError("wasm-limit", "WebAssembly was stopped")
        elif time.monotonic() >= self.deadline:
            message = f"WebAssembly was stopped: it took longer than {self.timeout_s:g} seconds"
            self.why = WasmError("wasm-timeout", message, hint="See plugins.wasm.timeout_s")
        return self.why


def _watch_epoch(store: "Store", clock: _Clock) -> Any:
    """Have the clock looked at whenever the epoch goes on. Keep what this returns as long as the store."""
    from wasmtime import WasmtimeError, _ffi

    context, number, kind_of_update = (
        ctypes.POINTER(c_type) for c_type in (_ffi.wasmtime_context_t, ctypes.c_uint64, ctypes.c_uint8)
    )
    declared = ctypes.CFUNCTYPE(ctypes.c_size_t, context, ctypes.c_void_p, number, kind_of_update)

    def look(_context: Any, _data: Any, delta: Any, kind: Any) -> int:
        why = clock.look()
        if why is not None:
            return ctypes.cast(WasmtimeError(str(why))._consume(), ctypes.c_void_p).value or 0
        delta[0] = 1
        kind[0] = 0  # go on
        return 0

    callback = declared(look)
    no_finalizer = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
    _ffi.wasmtime_store_epoch_deadline_callback(store.ptr(), callback, None, no_finalizer)
    return callback
