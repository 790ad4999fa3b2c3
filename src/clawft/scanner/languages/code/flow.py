"""The flow of values: the environment, paths, conversions, and how unknown calls pass values on."""

from typing import Any

from clawft.scanner.facts import Kind
from clawft.scanner.languages.code.constants import concat, fold_method, formatted, joined
from clawft.scanner.languages.code.machine import Machine
from clawft.scanner.languages.code.values import (
    CHARACTER,
    HOLE,
    DraftFact,
    Effect,
    ProgramCall,
    ProgramValue,
    join_values,
    merge_marks,
    text_of,
)
from clawft.scanner.languages.places import find_persistent_place


def find_paths(value: ProgramValue) -> list[str]:
    """The paths that a value may be, with the home folder as a tilde."""
    found: list[str] = []
    for text in value.texts() if value.ref != CHARACTER else ():
        path = text.replace("$HOME", "~").replace("${HOME}", "~").replace("%USERPROFILE%", "~")
        if "/~" in path:
            path = "~" + path.partition("/~")[2] if "~/" in path or path.endswith("~") else path
        found.append(path)
    return found or [""]


def read_path(machine: Machine, call: ProgramCall, path: ProgramValue) -> ProgramValue:
    marks = []
    for target in find_paths(path):
        sources = merge_marks(path.marks, [machine.files[target]] if target in machine.files else [])
        marks.append(machine.note(call, Kind.READ, target, sources))
    return ProgramValue((), tuple(marks), "file()")


def write_path(
    machine: Machine, call: ProgramCall, path: ProgramValue, content: tuple[DraftFact, ...]
) -> DraftFact | None:
    first = None
    for target in find_paths(path):
        mark = machine.note(call, Kind.WRITE, target, content)
        first = first or mark
        if target:
            machine.stored += machine.files.get(target) is not mark
            machine.files[target] = mark
            place = find_persistent_place(target)
            if place:
                machine.note(call, Kind.PERSIST, place, (mark,))
    return first


_HOME = frozenset(("HOME", "USERPROFILE", "HOMEPATH"))
_PLAIN = frozenset(
    ("PATH", "PWD", "SHELL", "TERM", "LANG", "NODE_ENV", "TMPDIR", "TEMP", "TMP", "DEBUG", "CI", "PORT", "TZ")
)


def _env(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    name = call.first("x", "name")
    if not call.arguments and not call.named:
        return _env_all(machine, call, "")
    found = []
    for text in name.texts() or [""]:
        mark = machine.note(call, Kind.ENV, text if HOLE not in text else "", name.marks)
        if text in _HOME:
            found.append(ProgramValue(("~",)))
        else:
            found.append(ProgramValue((), () if text in _PLAIN else (mark,)))
    return join_values([*found, *call.arguments[1:2]])


def _env_all(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue((), (machine.note(call, Kind.ENV, "*"),))


def _source(machine: Machine, call: ProgramCall, what: str) -> ProgramValue:
    return ProgramValue((), (machine.note(call, Kind.READ, what),))


def _home(_machine: Machine, _call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue(("~",))


def _property(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Java keeps the home folder among its properties."""
    return ProgramValue(("~",)) if call.first().const == "user.home" else ProgramValue()


def _home_folder(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    which = call.first().ref.rpartition(".")[2]
    places = {
        "Startup": "~/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup",
        "ApplicationData": "~/AppData/Roaming",
        "LocalApplicationData": "~/AppData/Local",
    }
    return ProgramValue((places.get(which, "~"),))


SOURCE_EFFECTS: dict[str, Effect] = {
    "env": _env, "env-all": _env_all, "source": _source, "is-source": _source, "home": _home, "is-home": _home,
    "property": _property, "home-folder": _home_folder,
}  # fmt: skip


def _wrap(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A value in another form: what went in is still in it."""
    first = machine.whole(call.first("url", "obj", "string", "fileURLWithPath", "withJSONObject", "text"), call.offset)
    rest = [machine.whole(argument, call.offset) for argument in (*call.arguments[1:], *call.named.values())]
    value = ProgramValue(
        first.consts,
        merge_marks(first.marks, [mark for argument in rest for mark in argument.marks]),
        f"{call.ref}()",
        first.items,
    )
    if call.named or len(call.arguments) > 1:
        extra = list(call.named.items()) + [
            ("data", argument) for argument in call.arguments[1:2] if call.ref.endswith("Request")
        ]
        value.items = [*(first.items or []), *extra]
    if call.ref.endswith("Path") and len(call.arguments) > 1:
        return _path(machine, call, "")
    return value


def _path(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    result: ProgramValue | None = None
    for argument in call.arguments:
        if argument.items and not argument.consts:
            argument = ProgramValue(joined("/", argument), argument.marks)
        if result is None:
            result = argument
        elif any(isinstance(const, str) and const.startswith(("/", "~")) for const in argument.consts):
            result = ProgramValue(argument.consts, merge_marks(result.marks, argument.marks))
        else:
            result = ProgramValue(
                concat(ProgramValue(concat(result, ProgramValue(("/",)))), argument),
                merge_marks(result.marks, argument.marks),
            )
    if result is None:
        return ProgramValue()
    return ProgramValue(
        tuple(text_of(const).replace("//", "/") if "://" not in text_of(const) else const for const in result.consts),
        result.marks,
    )


def _path_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return _path(machine, ProgramCall(call.offset, call.ref, [call.receiver, *call.arguments], {}), "")


def _quiet(_machine: Machine, _call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue()


# What these give is what they were called on, or with.
_SAME = frozenset((
    "items", "entries", "values", "keys", "iter", "into_iter", "toString", "then", "catch", "read", "ipairs", "pairs",
    "sort", "cast", "to_owned", "clone", "to_vec", "as_bytes",
))  # fmt: skip


def _keep(marks: tuple[DraftFact, ...], values: list[ProgramValue | None]) -> None:
    """Let the marks of a call flow into the open files among its arguments."""
    for value in values:
        if value is not None and value.handle is not None:
            value.handle.sources.update(dict.fromkeys(mark for mark in marks if mark is not value.handle))


def _translated(text: ProgramValue, table: ProgramValue, marks: tuple[DraftFact, ...]) -> ProgramValue:
    letters = [item.const for _, item in table.items or []]
    found = [fold_method("tr", const, letters) for const in text.consts]
    return ProgramValue(tuple(const for const in found if const is not None), marks)


def pass_unknown_call(machine: Machine, call: ProgramCall, method: str) -> ProgramValue:
    """A call nobody knows: what goes in comes out, and stays in the object it was called on."""
    owner = call.owner
    values = [machine.whole(argument, call.offset) for argument in (*call.arguments, *call.named.values())]
    passed = [mark for value in values if value.marks for mark in value.marks]
    marks = merge_marks(owner.marks if owner is not None else (), passed)
    if marks:
        _keep(marks, [owner, *values])
    if owner is not None and method == "translate" and values and values[0].ref == "translation":
        return _translated(owner, values[0], marks)
    if owner is not None and owner.items is not None and method in ("append", "push", "add", "<<", "unshift"):
        owner = ProgramValue(
            (), marks, owner.ref, [*owner.items, *((None, argument) for argument in call.arguments)][:5000]
        )
        if call.callee is not None and call.callee[2][0] == "name":
            machine.scope.holder(call.callee[2][2]).names[call.callee[2][2]] = owner
        return owner
    if passed and call.callee is not None and call.callee[0] == "attr":
        machine.taint(call.callee[2], ProgramValue((), tuple(passed)))
    result = ProgramValue((), marks, f"{call.ref}()" if call.ref else "")
    if method in _SAME:
        base = owner if owner is not None and not call.arguments else values[0] if values else owner
        if base is not None:
            result.items, result.consts = base.items, base.consts
    return result


def _list_of(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A list written as a call."""
    values = [machine.whole(argument, call.offset) for argument in call.arguments]
    items: list[tuple[Any, ProgramValue]] = [(None, value) for value in values]
    if len(values) == 1 and values[0].items is not None:
        items = list(values[0].items)
    marks = [mark for value in (*values, *call.named.values()) for mark in value.marks]
    return ProgramValue((), merge_marks((), marks), "", [*items, *call.named.items()])


def _arguments(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Perl takes the arguments of a function from its list of them."""
    arguments = machine.scope.find("@_")
    if call.arguments:
        return machine.element(call.first())
    if arguments is None or not arguments.items:
        return ProgramValue()
    machine.scope.names["@_"] = ProgramValue((), arguments.marks, "", arguments.items[1:])
    return arguments.items[0][1]


def _format_into(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """C writes the result to its first argument."""
    rest = call.arguments[1:]
    while rest and not rest[0].texts() and not rest[0].marks:
        rest = rest[1:]
    if rest and call.items and call.items[0][1][0] == "name":
        texts = rest[0].texts()
        found = ProgramValue(formatted(texts[0], rest[1:], {}) if texts else (), call.marks(1))
        if "cat" in call.ref:
            old = call.first()
            found = ProgramValue(concat(old, found), merge_marks(old.marks, found.marks))
        machine.bind(call.items[0][1][2], found)
    return ProgramValue()


PASSING_EFFECTS: dict[str, Effect] = {
    "wrap": _wrap, "path": _path, "path-own": _path_own, "quiet": _quiet, "read-env-file": _quiet,
    "unknown": pass_unknown_call, "list-of": _list_of, "arguments": _arguments, "format-into": _format_into,
}  # fmt: skip
