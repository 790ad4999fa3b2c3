"""Encodings undone, and constants put together from their pieces."""

import re
from typing import Any

from clawft.scanner.facts import Kind
from clawft.scanner.languages.code.commands import guess_language
from clawft.scanner.languages.code.constants import _pack, _unpack, characters, decode, fold_method, formatted, joined
from clawft.scanner.languages.code.machine import Machine
from clawft.scanner.languages.code.values import Effect, ProgramCall, ProgramValue, make_list, merge_marks, text_of


def _decode(machine: Machine, call: ProgramCall, encoding: str) -> ProgramValue:
    value = call.first()
    if encoding == "named":
        name = call.second("encoding")
        encoding = {"rot13": "rot13", "rot_13": "rot13", "hex": "hex", "base64": "base64", "zlib": "compressed"}.get(
            text_of(name.const or "").lower().replace("-", "_").replace("_codec", ""), ""
        )
        if not encoding:
            return ProgramValue(
                tuple(fold_method("decode", const, [name.const or "utf-8"]) for const in value.consts), value.marks
            )
    return decode_value(machine, call, encoding, value)


def decode_value(machine: Machine, call: ProgramCall, encoding: str, value: ProgramValue) -> ProgramValue:
    """The value decoded, with the mark of it; text that comes out is a document of its own."""
    results = [result for result in (decode(encoding, const) for const in value.consts) if result is not None]
    if encoding == "percent":
        return ProgramValue(tuple(results), value.marks)
    mark = machine.note(call, Kind.DECODE, encoding, value.marks)
    for result in results:
        text = text_of(result)
        if (len(text) >= 12 and text.isprintable()) or (
            "\n" in text and text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable()
        ):
            machine.child(text, guess_language(text, machine.module.language), encoding, call.offset)
    return ProgramValue(tuple(results), (mark,))


def _buffer(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value, encoding = call.first(), call.second().const
    if encoding in ("base64", "base64url", "hex"):
        return decode_value(machine, call, "hex" if encoding == "hex" else "base64", value)
    spelled = characters([value]) if value.items else ()
    return ProgramValue(spelled or value.consts, value.marks, "", value.items if not spelled else None)


def _bytes(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value = call.first()
    codes = [element.const for _, element in value.items] if value.items else []
    if codes and all(isinstance(code, int) and 0 <= code < 256 for code in codes):
        return ProgramValue((bytes(codes),), value.marks)
    return ProgramValue(
        tuple(const for const in value.consts if not isinstance(const, int)), value.marks, "", value.items
    )


def _ord(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue(
        tuple(ord(const) for const in call.first().consts if isinstance(const, str | bytes) and len(const) == 1),
        call.marks(),
    )


def _int(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value, base = call.first(), call.second().const
    try:
        return ProgramValue(
            tuple(
                int(const, base if isinstance(base, int) else 10) if isinstance(const, str) else int(const)
                for const in value.consts
            ),
            value.marks,
        )
    except (ValueError, TypeError):
        return ProgramValue((), value.marks)


def _range(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    bounds = [argument.const for argument in call.arguments]
    if not bounds or not all(isinstance(bound, int) for bound in bounds):
        return ProgramValue()
    try:
        numbers = range(*bounds)
    except (ValueError, TypeError):
        return ProgramValue()
    return make_list([ProgramValue((number,)) for number in numbers[:5000]])


def _reversed(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value = call.first()
    if value.items is not None:
        return ProgramValue((), value.marks, "", value.items[::-1])
    return ProgramValue(tuple(const[::-1] for const in value.consts if isinstance(const, str | bytes)), value.marks)


def _map(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    function, value = call.first(), call.second()
    parts = machine.each(value)
    if parts is None:
        result = machine.apply(function, ProgramCall(call.offset, function.ref, [machine.element(value)], {}))
        return make_list([result], merge_marks(result.marks, value.marks))
    items: list[tuple[Any, ProgramValue]] = [
        (None, machine.apply(function, ProgramCall(call.offset, function.ref, [part], {}))) for part in parts[:2000]
    ]
    return ProgramValue((), merge_marks(value.marks, [mark for _, value in items for mark in value.marks]), "", items)


def _zip(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    if call.ref.endswith("cycle"):
        return call.first()
    columns = [machine.each(argument) for argument in call.arguments]
    if not columns or any(column is None for column in columns):
        return make_list([make_list([machine.element(argument) for argument in call.arguments])], call.marks())
    longest = min(max(len(column or []) for column in columns), 20_000)
    rows = [
        (None, make_list([column[index % len(column)] for column in columns if column])) for index in range(longest)
    ]
    return ProgramValue((), call.marks(), "", rows)


def _enumerate(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    parts = machine.each(call.first())
    if parts is None:
        return make_list([make_list([ProgramValue(), machine.element(call.first())])], call.marks())
    return make_list([make_list([ProgramValue((index,)), part]) for index, part in enumerate(parts)], call.marks())


def _fold(_machine: Machine, call: ProgramCall, method: str) -> ProgramValue:
    """A function that does what elsewhere is a method."""
    value, rest = call.first(), [argument.const for argument in call.arguments[1:]]
    if method == "reverse" and (value.items is not None or len(call.arguments) > 1):
        items = value.items if value.items is not None else [(None, argument) for argument in call.arguments]
        return ProgramValue((), call.marks(), "", items[::-1])
    if method == "lua-sub":
        method, rest = (
            "substring",
            [
                argument - 1 if index == 0 and isinstance(argument, int) and argument > 0 else argument
                for index, argument in enumerate(rest)
            ],
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
    return ProgramValue(tuple(const for const in found if const is not None), call.marks())


def _fold_last(_machine: Machine, call: ProgramCall, method: str) -> ProgramValue:
    if len(call.arguments) < 3:
        return ProgramValue((), call.marks())
    rest = [argument.const for argument in call.arguments[:2]]
    found = [fold_method(method, const, rest) for const in call.arguments[2].consts]
    return ProgramValue(tuple(const for const in found if const is not None), call.marks())


def _pack_call(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    form = text_of(call.first().const or "")
    parts = [argument.const for argument in call.arguments[1:]]
    if form.lower().startswith("h"):
        return decode_value(machine, call, "hex", call.second())
    try:
        result = _pack(form, *parts)
    except (ValueError, TypeError):
        result = None
    return ProgramValue((result,) if result is not None else (), call.marks())


def _pack_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    owner = call.receiver
    form = call.first()
    values = [value for _, value in owner.items] if owner.items else []
    return _pack_call(machine, ProgramCall(call.offset, call.ref, [form, *values], {}), "")


def _unpack_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    found = _unpacked(machine, call, call.receiver, call.first())
    return found if call.ref.endswith("1") else make_list([found], found.marks)


def _unpacked(machine: Machine, call: ProgramCall, value: ProgramValue, form: ProgramValue) -> ProgramValue:
    template = text_of(form.const or "")
    if template.startswith("m"):
        return decode_value(machine, call, "base64", value)
    if template.startswith("u"):
        machine.note(call, Kind.DECODE, "uuencode", value.marks)
    try:
        found = [_unpack(const, template) for const in value.consts]
    except ValueError:
        found = []
    return ProgramValue(tuple(const for const in found if const is not None), value.marks)


def _as_list(pieces: list[ProgramValue]) -> ProgramValue:
    """Several values as one list, or the only one if it is a list."""
    if len(pieces) == 1 and pieces[0].items is not None:
        return pieces[0]
    return make_list(pieces)


def _implode(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Pieces joined by a separator that comes first."""
    separator, pieces = call.first(), call.arguments[1:]
    if call.ref.endswith(("concat", "strings.Join")):
        separator, pieces = call.second(), call.arguments[:1]
    if separator.items is not None and not pieces:
        separator, pieces = ProgramValue(("",)), [separator]
    return ProgramValue(joined(text_of(separator.const or ""), _as_list(pieces)), call.marks())


def _implode_all(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    separator = call.named.get("sep") or call.named.get("collapse") or ProgramValue((" ",))
    return ProgramValue(joined(text_of(separator.const or ""), _as_list(call.arguments)), call.marks())


def _concat(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue(joined("", _as_list(call.arguments)), call.marks())


def _format(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    template = call.first()
    if not template.texts():
        return ProgramValue((), call.marks())
    names = dict(call.named)
    marks = call.marks()
    for name in re.findall(r"\{([A-Za-z_]\w*)", template.texts()[0])[:20]:
        found = machine.scope.find(name)
        if found is not None and name not in names:
            names[name] = found
            marks = merge_marks(marks, found.marks)
    return ProgramValue(formatted(template.texts()[0], call.arguments[1:], names), marks)


def _map_block(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue((), call.marks(), "", [(None, argument) for argument in call.arguments[1:]] or None)


ENCODING_EFFECTS: dict[str, Effect] = {
    "decode": _decode, "buffer": _buffer, "bytes": _bytes, "ord": _ord,
    "int": _int, "range": _range, "reversed": _reversed, "map": _map, "zip": _zip, "enumerate": _enumerate,
    "fold": _fold, "fold-last": _fold_last, "pack": _pack_call,
    "pack-own": _pack_own, "unpack-own": _unpack_own, "implode": _implode,
    "implode-first": _implode, "implode-all": _implode_all, "concat": _concat, "format": _format,
    "map-block": _map_block,
    "chars": lambda _machine, call, _: ProgramValue(characters(call.arguments), call.marks()),
    "maketrans": lambda _machine, call, _: ProgramValue(ref="translation", items=make_list(call.arguments).items),
    "decode-own": lambda machine, call, encoding: decode_value(machine, call, encoding, call.receiver),
    "translate": lambda machine, call, _: _fold(machine, call, "tr"),
    "unpack": lambda machine, call, _: _unpacked(machine, call, call.second(), call.first()),
}  # fmt: skip
