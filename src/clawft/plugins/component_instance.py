"""An instance of a component: linked to the host's functions, checked against the world clawft-plugin, called through
the engine's C interface. Blocks: call it from a thread."""

import ctypes
from collections.abc import Callable, Iterable, Mapping
from ctypes import byref, string_at
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct
from wasmtime import WasmtimeError, _ffi
from wasmtime.component import (
    U8,
    Bool,
    Component,
    ComponentInstanceType,
    Func,
    FuncType,
    Linker,
    ListType,
    OptionType,
    RecordType,
    ResultType,
    String,
    TupleType,
)

from clawft.sandbox.wasm import StoreGuard, WasmError, explain_trap, shared_engine

Val = _ffi.wasmtime_component_val_t
Entry = _ffi.wasmtime_component_valrecord_entry_t
Callback = Any  # what the engine calls; it has to be kept as long as the engine may
_STRING = _ffi.WASMTIME_COMPONENT_STRING.value
_BOOL = _ffi.WASMTIME_COMPONENT_BOOL.value
_RECORD = _ffi.WASMTIME_COMPONENT_RECORD.value
_OPTION = _ffi.WASMTIME_COMPONENT_OPTION.value
_RESULT = _ffi.WASMTIME_COMPONENT_RESULT.value
_BYTES = ctypes.POINTER(ctypes.c_uint8)
# These take no time, so there is no need to let other threads run meanwhile.
_new_bytes = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)(("wasm_byte_vec_new", _ffi.dll))
_box = ctypes.PYFUNCTYPE(ctypes.POINTER(Val), ctypes.c_void_p)(("wasmtime_component_val_new", _ffi.dll))
_delete = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("wasmtime_component_val_delete", _ffi.dll))


def _text(value: Any) -> str:
    written = value.of.string
    return string_at(written.data, written.size).decode("utf-8", "replace")


def _put_text(value: Any, text: str) -> None:
    data = text.encode("utf-8", "replace")
    value.kind = _STRING
    _new_bytes(byref(value.of.string), len(data), data)


def _boxed(text: str) -> Any:
    value = Val()
    _put_text(value, text)
    return _box(byref(value))


def _put_option(value: Any, text: str | None) -> None:
    value.kind = _OPTION
    value.of.option = None if text is None else _boxed(text)


def _put_result(value: Any, answer: tuple[bool, str | None]) -> None:
    is_ok, text = answer
    value.kind = _RESULT
    value.of.result.is_ok = is_ok
    value.of.result.val = None if text is None else _boxed(text)


def _pairs(value: Any) -> list[tuple[str, str]]:
    entries = value.of.list
    tuples = (entries.data[index].of.tuple.data for index in range(entries.size))
    return [(_text(pair[0]), _text(pair[1])) for pair in tuples]


# How the parameters and the result of each kind of function of the host are taken and given.
_TAKE: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "get-config": (_text,),
    "get-env": (_text,),
    "log": (lambda value: int(value.of.u8), _text),
    "read-file": (_text,),
    "write-file": (_text, _text),
    "http-request": (_text, _text, _pairs, lambda value: _text(value.of.option[0]) if value.of.option else None),
}
_GIVE: dict[str, Callable[[Any, Any], None]] = {
    "get-config": _put_option,
    "get-env": _put_option,
    "log": lambda *_: None,
    "read-file": _put_result,
    "write-file": _put_result,
    "http-request": _put_result,
}


def make_callback(name: str, function: Callable[..., Any], failed: Callable[[BaseException], None]) -> Callback:
    """Wrap a host function for the engine to call. What it raises goes to `failed`, and traps the guest."""
    take, give = _TAKE[name], _GIVE[name]

    def called(_data: Any, _context: Any, _type: Any, args: Any, _count: int, results: Any, _results: int) -> int:
        try:
            give(
                results[0] if _results else None,
                function(*[convert(args[index]) for index, convert in enumerate(take)]),
            )
        except BaseException as error:  # nothing may pass through the frames of the engine
            failed(error)
            return ctypes.cast(WasmtimeError("the host failed")._consume(), ctypes.c_void_p).value or 0
        return 0

    return _ffi.wasmtime_component_func_callback_t(called)


class CallParams:
    """The parameter of `execute-tool`, which is read and not kept: so it stands in memory of Python, made once."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = [name.encode() for name in names]
        self._entries = (Entry * len(names))()
        for entry, name in zip(self._entries, self._names, strict=True):
            entry.name.size, entry.name.data = len(name), ctypes.cast(ctypes.c_char_p(name), _BYTES)
            entry.val.kind = _STRING
        self.values = (Val * 1)()
        self.values[0].kind = _RECORD
        self.values[0].of.record.size = len(names)
        self.values[0].of.record.data = self._entries
        self._arguments: list[bytes] = []

    def fill(self, *texts: str) -> None:
        self._arguments = [text.encode("utf-8", "replace") for text in texts]
        for entry, data in zip(self._entries, self._arguments, strict=True):
            written = entry.val.of.string
            written.size, written.data = len(data), ctypes.cast(ctypes.c_char_p(data), _BYTES)


def call_guest(function: Func, context: Any, params: CallParams | None, read: Callable[[Any], Any] | None) -> Any:
    """Call a function of a guest; what `read` makes of its result. Raises: WasmtimeError."""
    result = Val()
    handle = byref(function._func)
    values, count = (params.values, 1) if params else (None, 0)
    error: Any = _ffi.wasmtime_component_func_call(handle, context, values, count, byref(result), 1 if read else 0)
    if error:
        raise WasmtimeError._from_ptr(error)
    try:
        answer = read(result) if read else None
    finally:
        if read:
            _delete(byref(result))
    error = _ffi.wasmtime_component_func_post_return(handle, context)
    if error:
        raise WasmtimeError._from_ptr(error)
    return answer


def read_record(value: Any) -> tuple[Any, ...]:
    """The fields of a record of texts and truth values, in their order."""
    record = value.of.record
    fields = [record.data[index].val for index in range(record.size)]
    return tuple(bool(field.of.boolean) if field.kind == _BOOL else _text(field) for field in fields)


def read_refusal(value: Any) -> str | None:
    """Return the error of a `result<_, string>`; None if it is ok."""
    result = value.of.result
    return None if result.is_ok else _text(result.val[0])


HOST = "clawft:plugin/host@0.1.0"
PLUGIN = "clawft:plugin/plugin@0.1.0"
_TYPES = "clawft:plugin/types@0.1.0"  # records without code; a component imports it only if it uses them
HOST_FUNCTIONS = {
    "get-config": "func(key: string) -> option<string>",
    "get-env": "func(name: string) -> option<string>",
    "log": "func(level: u8, message: string)",
    "read-file": "func(path: string) -> result<string, string>",
    "write-file": "func(path: string, content: string) -> result<_, string>",
    "http-request": (
        "func(method: string, url: string, headers: list<tuple<string, string>>, body: option<string>)"
        " -> result<string, string>"
    ),
}
_MAX_DEPTH, _MAX_PARTS = 4, 8  # of a type; the world's own are smaller
_PLUGIN_FUNCTIONS = {
    "info": "func() -> record{id: string, name: string, version: string}",
    "init": "func() -> result<_, string>",
    "execute-tool": "func(call: record{name: string, arguments: string}) -> record{content: string, is-error: bool}",
    "shutdown": "func()",
}


def check_world(component: Component, path: str) -> None:
    """Raises: WasmError for a component that wants or brings something else than the world says."""
    engine = shared_engine()
    for name, imported in component.type.imports(engine).items():
        functions = _functions(imported.ty)
        if name not in (HOST, _TYPES) or functions is None:
            hint = "Build it without WASI, for the world clawft-plugin" if name.startswith("wasi:") else ""
            raise _misfit(f"It imports '{name[:100]}', which this host does not have", path, hint)
        _compare(functions, HOST_FUNCTIONS, f"It imports from {HOST}", path)
    exported = component.type.exports(engine).get(PLUGIN)
    functions = _functions(exported.ty) if exported is not None else None
    if functions is None:
        raise _misfit(f"It does not export '{PLUGIN}'", path)
    missing = [name for name in _PLUGIN_FUNCTIONS if name not in functions]
    if missing:
        raise _misfit(f"It does not export the function '{missing[0]}' of {PLUGIN}", path)
    _compare({name: functions[name] for name in _PLUGIN_FUNCTIONS}, _PLUGIN_FUNCTIONS, "It exports", path)


def _compare(functions: Mapping[str, str], known: Mapping[str, str], what: str, path: str) -> None:
    for name, found in functions.items():
        if name not in known:
            raise _misfit(f"{what} the function '{name[:100]}', which is not there", path)
        if found != known[name]:
            raise _misfit(f"{what} the function '{name}' as {found[:200]}; it is {known[name]}", path)


def _functions(item: Any) -> dict[str, str] | None:
    """The functions of an instance with their types; None if it is none."""
    if not isinstance(item, ComponentInstanceType):
        return None
    inner = {name: export.ty for name, export in item.exports(shared_engine()).items()}
    return {name: _show_function(function) for name, function in inner.items() if isinstance(function, FuncType)}


def _show_function(function: FuncType) -> str:
    parameters = _join(f"{name}: {_show(kind)}" for name, kind in function.params)
    return f"func({parameters})" + (f" -> {_show(function.result)}" if function.result is not None else "")


def _show(kind: Any, depth: int = 0) -> str:
    """A type as WIT has it; a record with its fields. Of what is larger than any type of the world, the beginning."""
    if depth > _MAX_DEPTH:
        return "…"
    show = partial(_show, depth=depth + 1)
    if isinstance(kind, OptionType):
        return f"option<{show(kind.payload)}>"
    if isinstance(kind, ResultType):
        return f"result<{show(kind.ok) if kind.ok else '_'}, {show(kind.err) if kind.err else '_'}>"
    if isinstance(kind, ListType):
        return f"list<{show(kind.element)}>"
    if isinstance(kind, TupleType):
        return f"tuple<{_join(map(show, kind.elements))}>"
    if isinstance(kind, RecordType):
        return f"record{{{_join(f'{name}: {show(inner)}' for name, inner in kind.fields)}}}"
    return {String: "string", U8: "u8", Bool: "bool"}.get(type(kind), type(kind).__name__.lower())


def _join(shown: Iterable[str]) -> str:
    parts = list(islice(shown, _MAX_PARTS + 1))
    return ", ".join(parts if len(parts) <= _MAX_PARTS else [*parts[:_MAX_PARTS], "…"])


def _misfit(message: str, path: str, hint: str = "") -> WasmError:
    hint = hint or "It has to fit the world clawft-plugin, see: weft help plugins"
    return WasmError("wasm-runtime", message, path=path, hint=hint)


_MAX_MEMORIES = 4  # what stands in for WASI in a component may have one of its own


class ComponentLimits(Struct, frozen=True):
    """The limits of one call."""

    fuel: int
    memory_bytes: int


class LinkedComponent:
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

    def instantiate(self, limits: ComponentLimits, timeout_s: float) -> "ComponentInstance":
        """A fresh instance. Raises: WasmError."""
        try:
            return self._instantiate(limits, timeout_s)
        except WasmError as error:
            if self._memories > 1 or "memory count too high" not in str(error.__cause__):
                raise
        self._memories = _MAX_MEMORIES  # from now on, too
        return self._instantiate(limits, timeout_s)

    def _instantiate(self, limits: ComponentLimits, timeout_s: float) -> "ComponentInstance":
        guard = StoreGuard(limits.memory_bytes, self._memories)
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
            why = guard.why or explain_trap(error)
            guard.close()
            raise why from error
        return ComponentInstance(self, guard, functions, limits)

    def _fail(self, error: BaseException) -> None:
        self.failure = error


class ComponentInstance:
    """One life of a component. After a trap it is dead (`alive`), and what it knew is lost."""

    def __init__(
        self, linked: LinkedComponent, guard: StoreGuard, functions: Mapping[str, Func], limits: ComponentLimits
    ) -> None:
        self._linked = linked
        self.guard = guard
        self._functions = functions
        self._limits = limits
        self._params = CallParams(("name", "arguments"))
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
        """Execute a tool, and return its content and whether that is an error. Raises: WasmError."""
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
        params: CallParams | None = None,
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
            raise (guard.why or explain_trap(error)) from error


def _define(host: Any, name: str, callback: Any) -> None:
    written = name.encode()
    nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
    arguments = (ctypes.create_string_buffer(written), len(written), callback, None, nothing)
    error: Any = _ffi.wasmtime_component_linker_instance_add_func(host.ptr(), *arguments)
    if error:
        raise WasmtimeError._from_ptr(error)
