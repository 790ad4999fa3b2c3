"""A component at work: linked to what the host does for it, in a store of its own. It waits: call it from a thread."""

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from wasmtime import WasmtimeError, _ffi
from wasmtime.component import Func, Linker

from clawft.plugins.wasm.abi import Params, call_guest, make_callback, read_record, read_refusal
from clawft.plugins.wasm.world import HOST, HOST_FUNCTIONS, PLUGIN
from clawft.sandbox.wasm import Guard, WasmError, shared_engine, tell_trap

if TYPE_CHECKING:
    from wasmtime.component import Component

__all__ = ["Instance", "Limits", "Linked"]


_MAX_MEMORIES = 4  # what stands in for WASI in a component may have one of its own


class Limits(Struct, frozen=True):
    """What one call may take."""

    fuel: int
    memory_bytes: int


class Linked:
    """A component with the functions of the host. Many instances may come of it, one after the other."""

    def __init__(self, component: "Component", functions: Mapping[str, Callable[..., Any]]) -> None:
        self._component = component
        self._linker = Linker(shared_engine())
        self.failure: BaseException | None = None
        self._memories = 1  # most have one, and may use all that there is for it
        self._callbacks = [make_callback(name, functions[name], self._fail) for name in HOST_FUNCTIONS]
        with self._linker.root() as root, root.add_instance(HOST) as host:
            for name, callback in zip(HOST_FUNCTIONS, self._callbacks, strict=True):
                _define(host, name, callback)

    def instantiate(self, limits: Limits, timeout_s: float) -> "Instance":
        """A fresh instance. Raises: WasmError."""
        try:
            return self._instantiate(limits, timeout_s)
        except WasmError as error:
            if self._memories > 1 or not _has_several_memories(error):
                raise
        self._memories = _MAX_MEMORIES  # from now on, too
        return self._instantiate(limits, timeout_s)

    def _instantiate(self, limits: Limits, timeout_s: float) -> "Instance":
        guard = Guard(limits.memory_bytes, self._memories)
        try:
            with guard.running(limits.fuel, timeout_s):
                made = self._linker.instantiate(guard.store, self._component)
            inside = made.get_export_index(guard.store, PLUGIN)
            functions = {}
            for name in ("info", "init", "execute-tool", "shutdown"):
                index = made.get_export_index(guard.store, name, inside)
                function = made.get_func(guard.store, index) if index is not None else None
                if function is None:  # the world was checked
                    raise WasmError("wasm-runtime", f"It does not export '{name}'")
                functions[name] = function
        except WasmtimeError as error:
            why = guard.why or tell_trap(error)
            guard.close()
            raise why from error
        return Instance(self, guard, functions, limits)

    def _fail(self, error: BaseException) -> None:
        self.failure = error


class Instance:
    """One life of a component. After a trap it is dead (`alive`), and what it knew is lost."""

    def __init__(self, linked: Linked, guard: Guard, functions: Mapping[str, Func], limits: Limits) -> None:
        self._linked = linked
        self.guard = guard
        self._functions = functions
        self._limits = limits
        self._params = Params(("name", "arguments"))
        self.alive = True

    def info(self, timeout_s: float) -> tuple[str, str, str]:
        """Its id, name and version. Raises: WasmError."""
        id, name, version = self._call("info", timeout_s, read=read_record)
        return id, name, version

    def init(self, timeout_s: float) -> str | None:
        """Have it get ready; what it refuses with, if it does. Raises: WasmError."""
        refusal: str | None = self._call("init", timeout_s, read=read_refusal)
        return refusal

    def execute_tool(self, name: str, arguments: str, timeout_s: float) -> tuple[str, bool]:
        """What came of a tool, and whether it is an error. Raises: WasmError."""
        self._params.fill(name, arguments)
        content, is_error = self._call("execute-tool", timeout_s, self._params, read_record)
        return content, is_error

    def shutdown(self, timeout_s: float) -> None:
        """Raises: WasmError."""
        self._call("shutdown", timeout_s)

    def close(self) -> None:
        """Give back its memory. No call may be under way."""
        self.alive = False
        self.guard.close()

    def _call(
        self,
        name: str,
        timeout_s: float,
        params: Params | None = None,
        read: Callable[[Any], Any] | None = None,
    ) -> Any:
        guard = self.guard
        try:
            with guard.running(self._limits.fuel, timeout_s):
                return call_guest(self._functions[name], guard.store._context(), params, read)
        except WasmtimeError as error:
            self.alive = False
            failure, self._linked.failure = self._linked.failure, None
            if failure is not None:
                raise failure from error
            raise (guard.why or tell_trap(error)) from error


def _has_several_memories(error: WasmError) -> bool:
    return "memory count too high" in str(error.__cause__)


def _define(host: Any, name: str, callback: Any) -> None:
    written = name.encode()
    nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
    given = (ctypes.create_string_buffer(written), len(written), callback, None, nothing)
    error: Any = _ffi.wasmtime_component_linker_instance_add_func(host.ptr(), *given)
    if error:
        raise WasmtimeError._from_ptr(error)
