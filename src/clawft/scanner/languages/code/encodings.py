"""Encodings undone, and constants put together from their pieces."""

import re
from typing import TYPE_CHECKING, Any

from clawft.scan.facts import Kind
from clawft.scan.languages.code import commands
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.folding import (
    _pack,
    _unpack,
    characters,
    decode,
    fold_method,
    formatted,
    joined,
)
from clawft.scan.languages.code.values import Value, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS", "decoded"]


def _decode(machine: "Machine", call: Call, encoding: str) -> Value:
    value = call.first()
    if encoding == "named":
        name = call.second("encoding")
        encoding = {"rot13": "rot13", "rot_13": "rot13", "hex": "hex", "base64": "base64", "zlib": "compressed"}.get(
            text_of(name.const or "").lower().replace("-", "_").replace("_codec", ""), ""
        )
        if not encoding:
            return Value(
                tuple(fold_method("decode", one, [name.const or "utf-8"]) for one in value.consts), value.marks
            )
    return decoded(machine, call, encoding, value)


def decoded(machine: "Machine", call: Call, encoding: str, value: Value) -> Value:
    """The value decoded, with the mark of it; text that comes out is a document of its own."""
    results = [one for one in (decode(encoding, const) for const in value.consts) if one is not None]
    if encoding == "percent":
        return Value(tuple(results), value.marks)
    mark = machine.mark(Kind.DECODE, encoding, call.offset, call.ref, value.marks)
    for one in results:
        text = text_of(one)
        if (len(text) >= 12 and text.isprintable()) or (
            "\n" in text and text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable()
        ):
            machine.child(text, commands.guess_language(text, machine.module.language), encoding, call.offset)
    return Value(tuple(results), (mark,))


def _buffer(machine: "Machine", call: Call, _: str) -> Value:
    value, encoding = call.first(), call.second().const
    if encoding in ("base64", "base64url", "hex"):
        return decoded(machine, call, "hex" if encoding == "hex" else "base64", value)
    spelled = characters([value]) if value.items else ()
    return Value(spelled or value.consts, value.marks, "", value.items if not spelled else None)


def _chars(_machine: "Machine", call: Call, _: str) -> Value:
    return Value(characters(call.arguments), call.marks())


def _bytes(_machine: "Machine", call: Call, _: str) -> Value:
    value = call.first()
    codes = [one.const for _, one in value.items] if value.items else []
    if codes and all(isinstance(one, int) and 0 <= one < 256 for one in codes):
        return Value((bytes(codes),), value.marks)
    return Value(tuple(one for one in value.consts if not isinstance(one, int)), value.marks, "", value.items)


def _ord(_machine: "Machine", call: Call, _: str) -> Value:
    return Value(
        tuple(ord(one) for one in call.first().consts if isinstance(one, str | bytes) and len(one) == 1), call.marks()
    )


def _int(_machine: "Machine", call: Call, _: str) -> Value:
    value, base = call.first(), call.second().const
    try:
        return Value(
            tuple(
                int(one, base if isinstance(base, int) else 10) if isinstance(one, str) else int(one)
                for one in value.consts
            ),
            value.marks,
        )
    except (ValueError, TypeError):
        return Value((), value.marks)


def _range(_machine: "Machine", call: Call, _: str) -> Value:
    bounds = [one.const for one in call.arguments]
    if not bounds or not all(isinstance(one, int) for one in bounds):
        return Value()
    try:
        numbers = range(*bounds)
    except (ValueError, TypeError):
        return Value()
    return Value((), (), "", [(None, Value((one,))) for one in numbers[:5000]])


def _reversed(_machine: "Machine", call: Call, _: str) -> Value:
    value = call.first()
    if value.items is not None:
        return Value((), value.marks, "", value.items[::-1])
    return Value(tuple(one[::-1] for one in value.consts if isinstance(one, str | bytes)), value.marks)


def _map(machine: "Machine", call: Call, _: str) -> Value:
    function, value = call.first(), call.second()
    parts = machine.each(value)
    if parts is None:
        result = machine.apply(function, Call(call.offset, function.ref, [machine.element(value)], {}))
        return Value((), merge(result.marks, value.marks), "", [(None, result)])
    items: list[tuple[Any, Value]] = [
        (None, machine.apply(function, Call(call.offset, function.ref, [one], {}))) for one in parts[:2000]
    ]
    return Value((), merge(value.marks, [mark for _, one in items for mark in one.marks]), "", items)


def _zip(machine: "Machine", call: Call, _: str) -> Value:
    if call.ref.endswith("cycle"):
        return call.first()
    columns = [machine.each(one) for one in call.arguments]
    if not columns or any(one is None for one in columns):
        return Value(
            (), call.marks(), "", [(None, Value((), (), "", [(None, machine.element(one)) for one in call.arguments]))]
        )
    longest = min(max(len(one or []) for one in columns), 20_000)
    rows = [
        (None, Value((), (), "", [(None, column[index % len(column)]) for column in columns if column]))
        for index in range(longest)
    ]
    return Value((), call.marks(), "", rows)


def _enumerate(machine: "Machine", call: Call, _: str) -> Value:
    parts = machine.each(call.first())
    if parts is None:
        return Value(
            (), call.marks(), "", [(None, Value((), (), "", [(None, Value()), (None, machine.element(call.first()))]))]
        )
    return Value(
        (),
        call.marks(),
        "",
        [(None, Value((), (), "", [(None, Value((index,))), (None, one)])) for index, one in enumerate(parts)],
    )


def _maketrans(_machine: "Machine", call: Call, _: str) -> Value:
    return Value((), (), "translation", [(None, one) for one in call.arguments])


def _decode_own(machine: "Machine", call: Call, encoding: str) -> Value:
    return decoded(machine, call, encoding, call.owner or Value())


def _fold(_machine: "Machine", call: Call, method: str) -> Value:
    """A function that does what elsewhere is a method."""
    value, rest = call.first(), [one.const for one in call.arguments[1:]]
    if method == "reverse" and (value.items is not None or len(call.arguments) > 1):
        items = value.items if value.items is not None else [(None, one) for one in call.arguments]
        return Value((), call.marks(), "", items[::-1])
    if method == "lua-sub":
        method, rest = (
            "substring",
            [one - 1 if index == 0 and isinstance(one, int) and one > 0 else one for index, one in enumerate(rest)],
        )
    if (
        method == "substr"
        and len(rest) > 1
        and isinstance(rest[0], int)
        and isinstance(rest[1], int)
        and rest[0] >= 0 <= rest[1]
    ):
        rest = [rest[0], rest[0] + rest[1]]
    found = [fold_method(method, const, rest) for const in value.consts]
    return Value(tuple(one for one in found if one is not None), call.marks())


def _fold_last(_machine: "Machine", call: Call, method: str) -> Value:
    if len(call.arguments) < 3:
        return Value((), call.marks())
    rest = [one.const for one in call.arguments[:2]]
    found = [fold_method(method, const, rest) for const in call.arguments[2].consts]
    return Value(tuple(one for one in found if one is not None), call.marks())


def _translate(machine: "Machine", call: Call, _: str) -> Value:
    return _fold(machine, call, "tr")


def _pack_call(machine: "Machine", call: Call, _: str) -> Value:
    form = text_of(call.first().const or "")
    parts = [one.const for one in call.arguments[1:]]
    if form.lower().startswith("h"):
        return decoded(machine, call, "hex", call.second())
    try:
        result = _pack(form, *parts)
    except (ValueError, TypeError):
        result = None
    return Value((result,) if result is not None else (), call.marks())


def _pack_own(machine: "Machine", call: Call, _: str) -> Value:
    owner = call.owner or Value()
    form = call.first()
    values = [one for _, one in owner.items] if owner.items else []
    return _pack_call(machine, Call(call.offset, call.ref, [form, *values], {}), "")


def _unpack_call(machine: "Machine", call: Call, _: str) -> Value:
    return _unpacked(machine, call, call.second(), call.first())


def _unpack_own(machine: "Machine", call: Call, _: str) -> Value:
    found = _unpacked(machine, call, call.owner or Value(), call.first())
    return found if call.ref.endswith("1") else Value((), found.marks, "", [(None, found)])


def _unpacked(machine: "Machine", call: Call, value: Value, form: Value) -> Value:
    template = text_of(form.const or "")
    if template.startswith("m"):
        return decoded(machine, call, "base64", value)
    if template.startswith("u"):
        machine.mark(Kind.DECODE, "uuencode", call.offset, call.ref, value.marks)
    try:
        found = [_unpack(one, template) for one in value.consts]
    except ValueError:
        found = []
    return Value(tuple(one for one in found if one is not None), value.marks)


def _as_list(pieces: list[Value]) -> Value:
    """Several values as one list, or the only one if it is a list."""
    if len(pieces) == 1 and pieces[0].items is not None:
        return pieces[0]
    return Value((), (), "", [(None, one) for one in pieces])


def _implode(_machine: "Machine", call: Call, _: str) -> Value:
    """Pieces joined by a separator that comes first."""
    separator, pieces = call.first(), call.arguments[1:]
    if call.ref.endswith("concat") or call.ref.endswith("strings.Join"):
        separator, pieces = call.second(), call.arguments[:1]
    if separator.items is not None and not pieces:
        separator, pieces = Value(("",)), [separator]
    whole = (
        pieces[0]
        if len(pieces) == 1 and pieces[0].items is not None
        else Value((), (), "", [(None, one) for one in pieces])
    )
    return Value(joined(text_of(separator.const or ""), whole), call.marks())


def _implode_all(_machine: "Machine", call: Call, _: str) -> Value:
    separator = call.named.get("sep") or call.named.get("collapse") or Value((" ",))
    pieces = (
        call.arguments[0]
        if len(call.arguments) == 1 and call.arguments[0].items is not None
        else Value((), (), "", [(None, one) for one in call.arguments])
    )
    return Value(joined(text_of(separator.const or ""), pieces), call.marks())


def _concat(_machine: "Machine", call: Call, _: str) -> Value:
    pieces = (
        call.arguments[0]
        if len(call.arguments) == 1 and call.arguments[0].items is not None
        else Value((), (), "", [(None, one) for one in call.arguments])
    )
    return Value(joined("", pieces), call.marks())


def _format(machine: "Machine", call: Call, _: str) -> Value:
    template = call.first()
    if not template.texts():
        return Value((), call.marks())
    names = dict(call.named)
    marks = call.marks()
    for name in re.findall(r"\{([A-Za-z_]\w*)", template.texts()[0])[:20]:
        found = machine.scope.find(name)
        if found is not None and name not in names:
            names[name] = found
            marks = merge(marks, found.marks)
    return Value(formatted(template.texts()[0], call.arguments[1:], names), marks)


def _map_block(_machine: "Machine", call: Call, _: str) -> Value:
    return Value((), call.marks(), "", [(None, one) for one in call.arguments[1:]] or None)


EFFECTS: dict[str, Effect] = {
    "decode": _decode,
    "decode-own": _decode_own,
    "buffer": _buffer,
    "chars": _chars,
    "bytes": _bytes,
    "ord": _ord,
    "int": _int,
    "range": _range,
    "reversed": _reversed,
    "map": _map,
    "zip": _zip,
    "enumerate": _enumerate,
    "maketrans": _maketrans,
    "fold": _fold,
    "fold-last": _fold_last,
    "translate": _translate,
    "pack": _pack_call,
    "pack-own": _pack_own,
    "unpack": _unpack_call,
    "unpack-own": _unpack_own,
    "implode": _implode,
    "implode-first": _implode,
    "implode-all": _implode_all,
    "concat": _concat,
    "format": _format,
    "map-block": _map_block,
}
