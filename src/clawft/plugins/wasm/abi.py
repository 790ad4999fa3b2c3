"""Values between Python and a component, by the C interface of the engine.

The library can convert any value of any type, and asks for the types anew at each call. The world `clawft-plugin` has
six functions one way and four the other, all of texts: these are read and written here directly, which takes a third
of the time, and nothing of it is shared between threads (the library's own conversion keeps state in its modules).
"""

import ctypes
from collections.abc import Callable
from ctypes import byref, string_at
from typing import Any

from wasmtime import WasmtimeError, _ffi
from wasmtime.component import Func

__all__ = ["Callback", "Params", "call_guest", "make_callback", "read_record", "read_refusal"]

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


def _option(value: Any) -> str | None:
    return _text(value.of.option[0]) if value.of.option else None


def _pairs(value: Any) -> list[tuple[str, str]]:
    given = value.of.list
    tuples = (given.data[index].of.tuple.data for index in range(given.size))
    return [(_text(one[0]), _text(one[1])) for one in tuples]


def _number(value: Any) -> int:
    return int(value.of.u8)


# How the parameters and the result of each kind of function of the host are taken and given.
_TAKE: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "get-config": (_text,),
    "get-env": (_text,),
    "log": (_number, _text),
    "read-file": (_text,),
    "write-file": (_text, _text),
    "http-request": (_text, _text, _pairs, _option),
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
    """What the engine calls for a function of the host. What it raises goes to `failed`, and traps the guest."""
    take, give = _TAKE[name], _GIVE[name]

    def called(_data: Any, _context: Any, _type: Any, args: Any, _count: int, results: Any, _results: int) -> int:
        try:
            give(results[0] if _results else None, function(*[one(args[index]) for index, one in enumerate(take)]))
        except BaseException as error:  # nothing may pass through the frames of the engine
            failed(error)
            return ctypes.cast(WasmtimeError("the host failed")._consume(), ctypes.c_void_p).value or 0
        return 0

    return _ffi.wasmtime_component_func_callback_t(called)


class Params:
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
        self._kept: list[bytes] = []

    def fill(self, *texts: str) -> None:
        self._kept = [text.encode("utf-8", "replace") for text in texts]
        for entry, data in zip(self._entries, self._kept, strict=True):
            written = entry.val.of.string
            written.size, written.data = len(data), ctypes.cast(ctypes.c_char_p(data), _BYTES)


def call_guest(function: Func, context: Any, params: Params | None, read: Callable[[Any], Any] | None) -> Any:
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
    return tuple(bool(one.of.boolean) if one.kind == _BOOL else _text(one) for one in fields)


def read_refusal(value: Any) -> str | None:
    """What a `result<_, string>` refuses with; None if it is none."""
    result = value.of.result
    return None if result.is_ok else _text(result.val[0])
