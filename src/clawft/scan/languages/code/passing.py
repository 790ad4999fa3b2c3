"""Values that pass through a call in another form, or through one that nobody knows."""

from typing import TYPE_CHECKING, Any

from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.folding import concat, fold_method, joined
from clawft.scan.languages.code.values import Mark, Value, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS", "unknown"]


def _wrap(machine: "Machine", call: Call, _: str) -> Value:
    """A value in another form: what went in is still in it."""
    first = machine.whole(call.first("url", "obj", "string", "fileURLWithPath", "withJSONObject", "text"), call.offset)
    rest = [machine.whole(one, call.offset) for one in (*call.arguments[1:], *call.named.values())]
    value = Value(
        first.consts, merge(first.marks, [mark for one in rest for mark in one.marks]), f"{call.ref}()", first.items
    )
    if call.named or len(call.arguments) > 1:
        extra = list(call.named.items()) + [
            ("data", one) for one in call.arguments[1:2] if call.ref.endswith("Request")
        ]
        value.items = [*(first.items or []), *extra]
    if call.ref.endswith("Path") and len(call.arguments) > 1:
        return _path(machine, call, "")
    return value


def _path(_machine: "Machine", call: Call, _: str) -> Value:
    result: Value | None = None
    for one in call.arguments:
        if one.items and not one.consts:
            one = Value(joined("/", one), one.marks)
        if result is None:
            result = one
        elif any(isinstance(const, str) and const.startswith(("/", "~")) for const in one.consts):
            result = Value(one.consts, merge(result.marks, one.marks))
        else:
            result = Value(concat(Value(concat(result, Value(("/",)))), one), merge(result.marks, one.marks))
    if result is None:
        return Value()
    return Value(
        tuple(text_of(one).replace("//", "/") if "://" not in text_of(one) else one for one in result.consts),
        result.marks,
    )


def _path_own(machine: "Machine", call: Call, _: str) -> Value:
    return _path(machine, Call(call.offset, call.ref, [call.owner or Value(), *call.arguments], {}), "")


def _quiet(_machine: "Machine", _call: Call, _: str) -> Value:
    return Value()


# What these give is what they were called on, or with.
_SAME = frozenset((
    "items", "entries", "values", "keys", "iter", "into_iter", "toString", "then", "catch", "read", "ipairs", "pairs",
    "sort", "cast", "to_owned", "clone", "to_vec", "as_bytes",
))  # fmt: skip


def _keep(marks: tuple[Mark, ...], values: list[Value | None]) -> None:
    """What flows through a call that was given an open file is written to it."""
    for one in values:
        if one is not None and one.handle is not None:
            one.handle.sources.update(dict.fromkeys(mark for mark in marks if mark is not one.handle))


def _translated(text: Value, table: Value, marks: tuple[Mark, ...]) -> Value:
    letters = [item.const for _, item in table.items or []]
    found = [fold_method("tr", const, letters) for const in text.consts]
    return Value(tuple(one for one in found if one is not None), marks)


def unknown(machine: "Machine", call: Call, method: str) -> Value:
    """A call nobody knows: what goes in comes out, and stays in the object it was called on."""
    owner = call.owner
    values = [machine.whole(one, call.offset) for one in (*call.arguments, *call.named.values())]
    given = [mark for one in values if one.marks for mark in one.marks]
    marks = merge(owner.marks if owner is not None else (), given)
    if marks:
        _keep(marks, [owner, *values])
    if owner is not None and method == "translate" and values and values[0].ref == "translation":
        return _translated(owner, values[0], marks)
    if owner is not None and owner.items is not None and method in ("append", "push", "add", "<<", "unshift"):
        owner = Value((), marks, owner.ref, [*owner.items, *((None, one) for one in call.arguments)][:5000])
        if call.callee is not None and call.callee[2][0] == "name":
            machine.scope.holder(call.callee[2][2]).names[call.callee[2][2]] = owner
        return owner
    if given and call.callee is not None and call.callee[0] == "attr":
        machine.taint(call.callee[2], Value((), tuple(given)))
    result = Value((), marks, f"{call.ref}()" if call.ref else "")
    if method in _SAME:
        base = owner if owner is not None and not call.arguments else values[0] if values else owner
        if base is not None:
            result.items, result.consts = base.items, base.consts
    return result


def _list_of(machine: "Machine", call: Call, _: str) -> Value:
    """A list written as a call."""
    values = [machine.whole(one, call.offset) for one in call.arguments]
    items: list[tuple[Any, Value]] = [(None, one) for one in values]
    if len(values) == 1 and values[0].items is not None:
        items = list(values[0].items)
    marks = [mark for one in (*values, *call.named.values()) for mark in one.marks]
    return Value((), merge((), marks), "", [*items, *call.named.items()])


def _arguments(machine: "Machine", call: Call, _: str) -> Value:
    """Perl takes the arguments of a function from its list of them."""
    given = machine.scope.find("@_")
    if call.arguments:
        return machine.element(call.first())
    if given is None or not given.items:
        return Value()
    machine.scope.names["@_"] = Value((), given.marks, "", given.items[1:])
    return given.items[0][1]


def _format_into(machine: "Machine", call: Call, _: str) -> Value:
    """C writes the result to its first argument."""
    from clawft.scan.languages.code.folding import formatted

    rest = call.arguments[1:]
    while rest and not rest[0].texts() and not rest[0].marks:
        rest = rest[1:]
    if rest and call.items and call.items[0][1][0] == "name":
        texts = rest[0].texts()
        found = Value(formatted(texts[0], rest[1:], {}) if texts else (), call.marks(1))
        if "cat" in call.ref:
            old = call.first()
            found = Value(concat(old, found), merge(old.marks, found.marks))
        machine.bind(call.items[0][1][2], found)
    return Value()


EFFECTS: dict[str, Effect] = {
    "wrap": _wrap,
    "path": _path,
    "path-own": _path_own,
    "quiet": _quiet,
    "read-env-file": _quiet,
    "unknown": unknown,
    "list-of": _list_of,
    "arguments": _arguments,
    "format-into": _format_into,
}
