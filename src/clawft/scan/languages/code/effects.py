"""What a call does: each effect takes the call apart, leaves its marks and says what the call gives."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clawft.scan.facts import Kind
from clawft.scan.languages.code import commands, network
from clawft.scan.languages.code.calls import Call
from clawft.scan.languages.code.folding import characters, concat, decode, fold_method, joined
from clawft.scan.languages.code.persistence import find_place
from clawft.scan.languages.code.values import HOLE, Mark, Value, join, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.evaluate import Evaluator

__all__ = ["EFFECTS", "Call"]

Effect = Callable[["Evaluator", Call, str], Value]
_HOME = frozenset(("HOME", "USERPROFILE", "HOMEPATH"))
_PLAIN = frozenset(
    ("PATH", "PWD", "SHELL", "TERM", "LANG", "NODE_ENV", "TMPDIR", "TEMP", "TMP", "DEBUG", "CI", "PORT", "TZ")
)


# Sources


def _env(machine: "Evaluator", call: Call, _: str) -> Value:
    name = call.first()
    found = []
    for one in name.texts() or [""]:
        mark = machine.mark(Kind.ENV, one if HOLE not in one else "", call.offset, call.ref, name.marks)
        if one in _HOME:
            found.append(Value(("~",)))
        else:
            found.append(Value((), () if one in _PLAIN else (mark,)))
    return join([*found, *call.arguments[1:2]])


def _env_all(machine: "Evaluator", call: Call, _: str) -> Value:
    return Value((), (machine.mark(Kind.ENV, "*", call.offset, call.ref),))


def _source(machine: "Evaluator", call: Call, what: str) -> Value:
    return Value((), (machine.mark(Kind.READ, what, call.offset, call.ref),))


def _home(machine: "Evaluator", call: Call, _: str) -> Value:
    return Value(("~",))


def paths_of(value: Value) -> list[str]:
    """The paths that a value may be, with the home folder as a tilde."""
    found = []
    for one in value.texts():
        path = one.replace("$HOME", "~").replace("${HOME}", "~").replace("%USERPROFILE%", "~")
        if "/~" in path:
            path = "~" + path.partition("/~")[2] if "~/" in path or path.endswith("~") else path
        found.append(path)
    return found or [""]


def read_path(machine: "Evaluator", call: Call, path: Value) -> Value:
    marks = []
    for one in paths_of(path):
        sources = merge(path.marks, [machine.files[one]] if one in machine.files else [])
        marks.append(machine.mark(Kind.READ, one, call.offset, call.ref, sources))
    return Value((), tuple(marks), "file()")


def write_path(machine: "Evaluator", call: Call, path: Value, content: tuple[Mark, ...]) -> Mark | None:
    first = None
    for one in paths_of(path):
        mark = machine.mark(Kind.WRITE, one, call.offset, call.ref, content)
        first = first or mark
        if one:
            machine.files[one] = mark
            place = find_place(one)
            if place:
                machine.mark(Kind.PERSIST, place, call.offset, call.ref, (mark,))
    return first


def _read(machine: "Evaluator", call: Call, _: str) -> Value:
    return read_path(machine, call, call.first("file", "path", "filename", "database"))


def _read_own(machine: "Evaluator", call: Call, _: str) -> Value:
    return read_path(machine, call, call.owner or Value())


def _list(machine: "Evaluator", call: Call, _: str) -> Value:
    path = call.first("path", "top", "pathname")
    return Value(path.consts, path.marks, "each")


def _list_own(machine: "Evaluator", call: Call, _: str) -> Value:
    owner, pattern = call.owner or Value(), call.first()
    consts = concat(Value(concat(owner, Value(("/",)))), pattern) if owner.consts and pattern.consts else owner.consts
    return Value(consts, owner.marks, "each")


def _open(machine: "Evaluator", call: Call, _: str) -> Value:
    path = call.first("file", "path", "filename", "name")
    mode = call.second("mode")
    return _open_as(machine, call, path, text_of(mode.const) if mode.const is not None else "r")


def _open_own(machine: "Evaluator", call: Call, _: str) -> Value:
    owner, mode = call.owner or Value(), call.first("mode")
    if not owner.consts or (call.arguments and not isinstance(mode.const, str)):
        return _unknown(machine, call, "open")
    return _open_as(machine, call, owner, mode.const if isinstance(mode.const, str) else "r")


def _open_as(machine: "Evaluator", call: Call, path: Value, mode: str) -> Value:
    if any(letter in mode for letter in "wax>"):
        value = Value(path.consts, (), "file()")
        value.handle = write_path(machine, call, path, path.marks)
        return value
    value = read_path(machine, call, path)
    if "+" in mode:
        value.handle = write_path(machine, call, path, ())
    return value


def _write(machine: "Evaluator", call: Call, _: str) -> Value:
    path = call.first("path", "file")
    value = Value(path.consts, (), "file()")
    value.handle = write_path(machine, call, path, merge(path.marks, call.marks(1)))
    return value


def _write_own(machine: "Evaluator", call: Call, _: str) -> Value:
    write_path(machine, call, call.owner or Value(), call.marks())
    return Value()


def _copy(machine: "Evaluator", call: Call, _: str) -> Value:
    read = read_path(machine, call, call.first("src"))
    write_path(machine, call, call.second("dst"), read.marks)
    return Value(call.second("dst").consts)


def _archive(machine: "Evaluator", call: Call, _: str) -> Value:
    """A folder is packed: the archive holds what was read."""
    read = read_path(
        machine, call, call.arguments[2] if len(call.arguments) > 2 else call.named.get("root_dir", Value())
    )
    names = call.first("base_name")
    form = call.second("format").const or "zip"
    packed = Value(tuple(f"{text_of(one)}.{form}" for one in names.consts))
    write_path(machine, call, packed, read.marks)
    return Value(packed.consts, read.marks)


def _delete(machine: "Evaluator", call: Call, _: str) -> Value:
    for path in paths_of(call.first("path")):
        machine.mark(Kind.DELETE, path, call.offset, call.ref, call.marks())
    return Value()


def _delete_own(machine: "Evaluator", call: Call, _: str) -> Value:
    for path in paths_of(call.owner or Value()):
        machine.mark(Kind.DELETE, path, call.offset, call.ref)
    return Value()


def _permit(machine: "Evaluator", call: Call, _: str) -> Value:
    return _permit_path(machine, call, call.first("path"), call.second("mode"))


def _permit_own(machine: "Evaluator", call: Call, _: str) -> Value:
    return _permit_path(machine, call, call.owner or Value(), call.first("mode"))


def _permit_path(machine: "Evaluator", call: Call, path: Value, mode: Value) -> Value:
    number = mode.const
    if isinstance(number, str):
        number = (
            int(number, 8) if number.isdigit() and set(number) <= set("01234567") else 0o111 if "x" in number else 0
        )
    if not isinstance(number, int):
        number = 0o111
    if number & 0o002 or number & 0o111:
        how = "777" if number & 0o002 else "+x"
        for one in paths_of(path):
            written = [machine.files[one]] if one in machine.files else []
            machine.mark(Kind.PERMIT, f"{how} {one}", call.offset, call.ref, tuple(written))
    return Value()


# Code


def _eval(machine: "Evaluator", call: Call, _: str) -> Value:
    values = call.arguments[-1:] if call.ref.endswith(("Function", "constructor")) else call.arguments[:1]
    value = values[0] if values else Value()
    if value.function is not None:
        return Value((), value.marks)  # setTimeout and the like with a function
    if call.ref in ("setTimeout", "setInterval") and not value.consts:
        return Value()
    text = value.const
    known = isinstance(text, str | bytes)
    mark = machine.mark(Kind.EVAL, text_of(text)[:400] if known else "", call.offset, call.ref, value.marks)
    if known and text_of(text).strip():
        machine.child(text_of(text), machine.module.language, "eval", call.offset)
    if call.ref.endswith(("Function", "constructor", "compile")):
        return Value((), (mark,), "code()")
    return Value((), (mark,))


def _import(machine: "Evaluator", call: Call, _: str) -> Value:
    name = (
        call.arguments[-1]
        if call.ref.endswith(("load_source", "SourceFileLoader", "spec_from_file_location")) and call.arguments
        else call.first("name")
    )
    if isinstance(name.const, str):
        written = [mark for path, mark in machine.files.items() if _same_module(path, name.const)]
        if written:
            machine.mark(Kind.EXEC, name.const, call.offset, call.ref, tuple(written))
        return machine._linked(f"{name.const}.x") or Value((), (), name.const)
    if name.marks:
        machine.mark(Kind.EXEC, "", call.offset, call.ref, name.marks)
    return Value((), name.marks)


def _same_module(path: str, name: str) -> bool:
    stem = path.rpartition("/")[2].removesuffix(".py").removesuffix(".js")
    return len(stem) > 1 and (path == name or stem == name.rpartition("/")[2].removesuffix(".js"))


def _require(machine: "Evaluator", call: Call, _: str) -> Value:
    from clawft.scan.languages.code.imports import module_name

    name = call.first()
    text = name.const
    if not isinstance(text, str):
        if name.marks:
            machine.mark(Kind.EXEC, "", call.offset, call.ref, name.marks)
        return Value((), name.marks)
    written = [mark for path, mark in machine.files.items() if _same_module(path, text)]
    if written:
        machine.mark(Kind.EXEC, text, call.offset, call.ref, tuple(written))
    return Value((), (), module_name(text))


def _getattr(machine: "Evaluator", call: Call, _: str) -> Value:
    owner, name = call.first(), call.second()
    if isinstance(name.const, str):
        return machine.member(owner, name.const, call.offset)
    return Value((), merge(owner.marks, name.marks), owner.ref + "[]" if owner.ref else "")


def _load(machine: "Evaluator", call: Call, _: str) -> Value:
    value = call.first()
    if call.ref.endswith("yaml.load") and any("afe" in one.ref for one in (*call.arguments[1:], *call.named.values())):
        return Value((), value.marks)
    marks = value.marks
    if not marks and value.consts:
        marks = tuple(machine.files[one] for one in paths_of(value) if one in machine.files)
    mark = machine.mark(Kind.LOAD, value.texts()[0] if value.texts() else "", call.offset, call.ref, marks)
    return Value((), (mark,))


# Encodings


def _decode(machine: "Evaluator", call: Call, encoding: str) -> Value:
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


def decoded(machine: "Evaluator", call: Call, encoding: str, value: Value) -> Value:
    """The value decoded, with the mark of it; text that comes out is a document of its own."""
    results = [one for one in (decode(encoding, const) for const in value.consts) if one is not None]
    if encoding == "percent":
        return Value(tuple(results), value.marks)
    mark = machine.mark(Kind.DECODE, encoding, call.offset, call.ref, value.marks)
    for one in results:
        text = text_of(one)
        if (
            len(text) >= 12
            and text.isprintable()
            or ("\n" in text and text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable())
        ):
            machine.child(text, commands.guess_language(text, machine.module.language), encoding, call.offset)
    return Value(tuple(results), (mark,))


def _buffer(machine: "Evaluator", call: Call, _: str) -> Value:
    value, encoding = call.first(), call.second().const
    if encoding in ("base64", "base64url", "hex"):
        return decoded(machine, call, "hex" if encoding == "hex" else "base64", value)
    spelled = characters([value]) if value.items else ()
    return Value(spelled or value.consts, value.marks, "", value.items if not spelled else None)


def _chars(machine: "Evaluator", call: Call, _: str) -> Value:
    return Value(characters(call.arguments), call.marks())


def _bytes(machine: "Evaluator", call: Call, _: str) -> Value:
    value = call.first()
    codes = [one.const for _, one in value.items] if value.items else []
    if codes and all(isinstance(one, int) and 0 <= one < 256 for one in codes):
        return Value((bytes(codes),), value.marks)
    return Value(tuple(one for one in value.consts if not isinstance(one, int)), value.marks, "", value.items)


def _ord(machine: "Evaluator", call: Call, _: str) -> Value:
    return Value(
        tuple(ord(one) for one in call.first().consts if isinstance(one, str | bytes) and len(one) == 1), call.marks()
    )


def _int(machine: "Evaluator", call: Call, _: str) -> Value:
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


def _range(machine: "Evaluator", call: Call, _: str) -> Value:
    bounds = [one.const for one in call.arguments]
    if not bounds or not all(isinstance(one, int) for one in bounds):
        return Value()
    try:
        numbers = range(*bounds)
    except (ValueError, TypeError):
        return Value()
    return Value((), (), "", [(None, Value((one,))) for one in numbers[:5000]])


def _reversed(machine: "Evaluator", call: Call, _: str) -> Value:
    value = call.first()
    if value.items is not None:
        return Value((), value.marks, "", value.items[::-1])
    return Value(tuple(one[::-1] for one in value.consts if isinstance(one, str | bytes)), value.marks)


def _map(machine: "Evaluator", call: Call, _: str) -> Value:
    function, value = call.first(), call.second()
    parts = machine._each(value)
    if parts is None:
        result = machine._apply(function, Call(call.offset, function.ref, [machine.element(value)], {}))
        return Value((), merge(result.marks, value.marks), "", [(None, result)])
    items: list[tuple[Any, Value]] = [
        (None, machine._apply(function, Call(call.offset, function.ref, [one], {}))) for one in parts[:2000]
    ]
    return Value((), merge(value.marks, [mark for _, one in items for mark in one.marks]), "", items)


def _zip(machine: "Evaluator", call: Call, _: str) -> Value:
    if call.ref.endswith("cycle"):
        return call.first()
    columns = [machine._each(one) for one in call.arguments]
    if not columns or any(one is None for one in columns):
        return Value(
            (), call.marks(), "", [(None, Value((), (), "", [(None, machine.element(one)) for one in call.arguments]))]
        )
    longest = min(max(len(one or []) for one in columns), 20_000)
    rows = [
        (None, Value((), (), "", [(None, column[index % len(column)]) for column in columns if column]))
        for index in range(longest)
    ]
    return Value((), call.marks(), "", rows)  # type: ignore[arg-type]


def _enumerate(machine: "Evaluator", call: Call, _: str) -> Value:
    parts = machine._each(call.first())
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


def _maketrans(machine: "Evaluator", call: Call, _: str) -> Value:
    return Value((), (), "translation", [(None, one) for one in call.arguments])


# Values that pass through


def _wrap(machine: "Evaluator", call: Call, _: str) -> Value:
    """A value in another form: what went in is still in it."""
    first = machine.whole(call.first("url", "obj"), call.offset)
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


def _path(machine: "Evaluator", call: Call, _: str) -> Value:
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


def _path_own(machine: "Evaluator", call: Call, _: str) -> Value:
    return _path(machine, Call(call.offset, call.ref, [call.owner or Value(), *call.arguments], {}), "")


def _partial(machine: "Evaluator", call: Call, _: str) -> Value:
    value = call.first()
    return Value((), call.marks(), value.ref) if value.ref else value


def _thread(machine: "Evaluator", call: Call, _: str) -> Value:
    target = call.named.get("target") or call.first()
    arguments = call.named.get("args")
    given = [one for _, one in arguments.items] if arguments is not None and arguments.items else call.arguments[1:]
    if target.function is not None or target.ref:
        return machine._apply(target, Call(call.offset, target.ref, given, {}))
    return Value((), call.marks())


def _privilege(machine: "Evaluator", call: Call, _: str) -> Value:
    machine.mark(Kind.PRIVILEGE, call.ref, call.offset, call.ref)
    return Value()


def _persist(machine: "Evaluator", call: Call, what: str) -> Value:
    return Value((), (machine.mark(Kind.PERSIST, what, call.offset, call.ref, call.marks()),))


def _install(machine: "Evaluator", call: Call, manager: str) -> Value:
    words = [text for _, one in (call.first().items or []) for text in one.texts()]
    for package in words[1:] or [""]:
        machine.mark(Kind.INSTALL, f"{manager}:{package}", call.offset, call.ref)
    return Value()


def _quiet(machine: "Evaluator", call: Call, _: str) -> Value:
    return Value()


def _unknown(machine: "Evaluator", call: Call, method: str) -> Value:
    """A call nobody knows: what goes in comes out, and stays in the object it was called on."""
    owner = call.owner
    values = [machine.whole(one, call.offset) for one in (*call.arguments, *call.named.values())]
    marks = merge(owner.marks if owner is not None else (), [mark for one in values for mark in one.marks])
    for one in (owner, *values):
        if one is not None and one.handle is not None:
            for mark in marks:
                if mark is not one.handle:
                    one.handle.sources[mark] = None
    if owner is not None and owner.ref == "translation":
        return Value()
    if owner is not None and method == "translate" and values and values[0].ref == "translation":
        tables = [item.const for _, item in values[0].items or []]
        return Value(
            tuple(one for one in (fold_method("tr", const, tables) for const in owner.consts) if one is not None), marks
        )
    if owner is not None and owner.items is not None and method in ("append", "push", "add", "<<", "unshift"):
        owner = Value((), marks, owner.ref, [*owner.items, *((None, one) for one in call.arguments)][:5000])
        if call.callee is not None and call.callee[2][0] == "name":
            machine.scope.holder(call.callee[2][2]).names[call.callee[2][2]] = owner
        return owner
    if call.callee is not None and call.callee[0] == "attr":
        machine.taint(call.callee[2], Value((), tuple(mark for one in values for mark in one.marks)))
    result = Value((), marks, f"{call.ref}()" if call.ref else "")
    if method in (
        "items",
        "entries",
        "values",
        "keys",
        "iter",
        "into_iter",
        "toString",
        "then",
        "catch",
        "read",
        "ipairs",
        "pairs",
        "list",
        "c",
        "array",
        "vec!",
        "sort",
        "cast",
        "to_owned",
        "clone",
        "to_vec",
        "as_bytes",
    ):
        base = owner if owner is not None and not call.arguments else values[0] if values else owner
        if base is not None:
            result.items, result.consts = base.items, base.consts
            if method in ("c", "list", "array", "vec!") and owner is None:
                result.items = [(None, one) for one in call.arguments] + list(call.named.items())
                result.consts = ()
    return result


EFFECTS: dict[str, Effect] = {
    "env": _env, "env-all": _env_all, "source": _source, "is-source": _source, "home": _home, "is-home": _home,
    "read": _read, "read-own": _read_own, "list": _list, "list-own": _list_own, "open": _open, "open-own": _open_own,
    "write": _write, "write-own": _write_own, "copy": _copy, "archive": _archive, "delete": _delete, "delete-own": _delete_own,
    "permit": _permit, "permit-own": _permit_own, "eval": _eval, "import": _import, "require": _require, "getattr": _getattr,
    "reflect": _getattr, "load": _load, "load-path": _load, "decode": _decode, "buffer": _buffer, "chars": _chars, "bytes": _bytes, "ord": _ord,
    "int": _int, "range": _range, "reversed": _reversed, "map": _map, "zip": _zip, "enumerate": _enumerate,
    "maketrans": _maketrans, "wrap": _wrap, "path": _path, "path-own": _path_own, "partial": _partial, "promisify": _partial,
    "thread": _thread, "privilege": _privilege, "persist": _persist, "install": _install, "quiet": _quiet,
    "unknown": _unknown, "read-env-file": _quiet,
    **commands.EFFECTS, **network.EFFECTS,
}  # fmt: skip
