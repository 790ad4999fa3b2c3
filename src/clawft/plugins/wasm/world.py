"""The world `clawft-plugin`, as in `plugins/wit/clawft-plugin.wit` (R139): does a component fit into it?

The engine takes whatever types a component names for what it imports; so they are looked at here, before anything of
it runs.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from wasmtime.component import (
    U8,
    Bool,
    Component,
    ComponentInstanceType,
    FuncType,
    ListType,
    OptionType,
    RecordType,
    ResultType,
    String,
    TupleType,
)

from clawft.sandbox.wasm import WasmError, shared_engine

__all__ = ["HOST", "HOST_FUNCTIONS", "PLUGIN", "check_world"]

HOST = "clawft:plugin/host@0.1.0"
PLUGIN = "clawft:plugin/plugin@0.1.0"
_TYPES = "clawft:plugin/types@0.1.0"  # records without code; whoever uses them imports it
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
    inner = {name: one.ty for name, one in item.exports(shared_engine()).items()}
    return {name: _show_function(one) for name, one in inner.items() if isinstance(one, FuncType)}


def _show_function(function: FuncType) -> str:
    given = _join(f"{name}: {_show(kind)}" for name, kind in function.params)
    return f"func({given})" + (f" -> {_show(function.result)}" if function.result is not None else "")


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
