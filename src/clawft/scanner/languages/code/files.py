"""Files: what is read, written, copied, deleted and made executable."""

from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.encodings import decoded
from clawft.scan.languages.code.folding import concat
from clawft.scan.languages.code.network import request
from clawft.scan.languages.code.passing import unknown
from clawft.scan.languages.code.paths import paths_of, read_path, write_path
from clawft.scan.languages.code.values import Value, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS"]


def _read(machine: "Machine", call: Call, _: str) -> Value:
    return read_path(
        machine,
        call,
        call.first(
            "file", "path", "filename", "database", "contentsOfFile", "contentsOf", "atPath", "forReadingAtPath"
        ),
    )


def _read_named(machine: "Machine", call: Call, _: str) -> Value:
    """Swift reads a file by making a string or data of it; other labels only convert."""
    if "base64Encoded" in call.named:
        return decoded(machine, call, "base64", call.named["base64Encoded"])
    if not any(name.startswith(("contentsOf", "forReading")) for name in call.named):
        values = (*call.arguments, *call.named.values())
        return Value(values[0].consts if values else (), call.marks())
    return _read(machine, call, "")


def _read_own(machine: "Machine", call: Call, _: str) -> Value:
    return read_path(machine, call, call.owner or Value())


def _list(_machine: "Machine", call: Call, _: str) -> Value:
    path = call.first("path", "top", "pathname")
    return Value(path.consts, path.marks, "each")


def _list_own(_machine: "Machine", call: Call, _: str) -> Value:
    owner, pattern = call.owner or Value(), call.first()
    consts = concat(Value(concat(owner, Value(("/",)))), pattern) if owner.consts and pattern.consts else owner.consts
    return Value(consts, owner.marks, "each")


def _open(machine: "Machine", call: Call, _: str) -> Value:
    path = call.first("file", "path", "filename", "name")
    mode = call.second("mode")
    return _open_as(machine, call, path, text_of(mode.const) if mode.const is not None else "r")


def _open_own(machine: "Machine", call: Call, _: str) -> Value:
    owner, mode = call.owner or Value(), call.first("mode")
    if not owner.consts or (call.arguments and not isinstance(mode.const, str)):
        return unknown(machine, call, "open")
    return _open_as(machine, call, owner, mode.const if isinstance(mode.const, str) else "r")


def _open_as(machine: "Machine", call: Call, path: Value, mode: str) -> Value:
    if any(letter in mode for letter in "wax>"):
        value = Value(path.consts, (), "file()")
        value.handle = write_path(machine, call, path, path.marks)
        return value
    value = read_path(machine, call, path)
    if "+" in mode:
        value.handle = write_path(machine, call, path, ())
    return value


def _write(machine: "Machine", call: Call, _: str) -> Value:
    path = call.first("path", "file")
    value = Value(path.consts, (), "file()")
    value.handle = write_path(machine, call, path, merge(path.marks, call.marks(1)))
    return value


def _write_own(machine: "Machine", call: Call, _: str) -> Value:
    write_path(machine, call, call.owner or Value(), call.marks())
    return Value()


def _copy(machine: "Machine", call: Call, _: str) -> Value:
    read = read_path(machine, call, call.first("src"))
    write_path(machine, call, call.second("dst"), read.marks)
    return Value(call.second("dst").consts)


def _archive(machine: "Machine", call: Call, _: str) -> Value:
    """A folder is packed: the archive holds what was read."""
    read = read_path(
        machine, call, call.arguments[2] if len(call.arguments) > 2 else call.named.get("root_dir", Value())
    )
    names = call.first("base_name")
    form = call.second("format").const or "zip"
    packed = Value(tuple(f"{text_of(one)}.{form}" for one in names.consts))
    write_path(machine, call, packed, read.marks)
    return Value(packed.consts, read.marks)


def _open_archive(machine: "Machine", call: Call, _: str) -> Value:
    value = _open(machine, call, "")
    value.ref = "archive()"
    return value


def _archive_add(machine: "Machine", call: Call, _: str) -> Value:
    """A file goes into an archive."""
    read = read_path(machine, call, call.first("filename", "name"))
    if call.owner is not None and call.owner.handle is not None:
        call.owner.handle.sources.update(dict.fromkeys(read.marks))
    elif call.callee is not None:
        machine.taint(call.callee[2], read)
    return Value()


def _delete(machine: "Machine", call: Call, _: str) -> Value:
    for path in paths_of(call.first("path")):
        machine.mark(Kind.DELETE, path, call.offset, call.ref, call.marks())
    return Value()


def _delete_own(machine: "Machine", call: Call, _: str) -> Value:
    for path in paths_of(call.owner or Value()):
        machine.mark(Kind.DELETE, path, call.offset, call.ref)
    return Value()


def _permit(machine: "Machine", call: Call, _: str) -> Value:
    return _permit_path(machine, call, call.first("path"), call.second("mode"))


def _permit_own(machine: "Machine", call: Call, _: str) -> Value:
    return _permit_path(machine, call, call.owner or Value(), call.first("mode"))


def _permit_path(machine: "Machine", call: Call, path: Value, mode: Value) -> Value:
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


def _permit_second(machine: "Machine", call: Call, _: str) -> Value:
    for path in call.arguments[1:]:
        for one in [inner for _, inner in path.items] if path.items else [path]:
            _permit_path(machine, call, one, call.first())
    return Value()


def _write_second(machine: "Machine", call: Call, _: str) -> Value:
    write_path(machine, call, call.second("con", "file", "sep"), call.first().marks)
    return Value()


def _is_address(value: Value) -> bool:
    return any("://" in one and not one.startswith(("php://", "file://", "data:", "jdbc:")) for one in value.texts())


def _read_or_fetch(machine: "Machine", call: Call, _: str) -> Value:
    """Some languages read a file and an address by the same call."""
    path = call.first("file", "con")
    if _is_address(path) or path.ref in ("request()", "URI()", "URI.parse()"):
        return request(machine, call, "GET", path, call.arguments[1:])
    if path.ref == "file()" or path.handle is not None:
        return Value((), path.marks)
    return read_path(machine, call, path)


def _open_or_fetch(machine: "Machine", call: Call, _: str) -> Value:
    path = call.first()
    if any(one.startswith("|") for one in path.texts()):
        from clawft.scan.languages.code.commands import run_command

        return run_command(machine, call, Value(tuple(one.lstrip("|") for one in path.texts()), path.marks))
    if _is_address(path) or path.ref in ("URI()", "URI.parse()"):
        return request(machine, call, "GET", path, call.arguments[1:])
    return _open(machine, call, "")


def _perl_open(machine: "Machine", call: Call, _: str) -> Value:
    """Perl's open: the handle first, the mode in a word of its own or before the path, a pipe for a command."""
    from clawft.scan.languages.code.commands import run_command

    mode, path = call.second(), Value()
    text = next(iter(mode.texts()), "").strip()
    if len(call.arguments) > 2:
        path = call.arguments[2]
    else:
        path = Value(tuple(one.strip("<>+| ") for one in mode.texts()), mode.marks)
    if "|" in text:
        words = call.arguments[2:] if len(call.arguments) > 3 else [path]
        command = path if len(words) < 2 else Value((), call.marks(2), "", [(None, one) for one in words])
        value = run_command(machine, call, command)
    else:
        value = _open_as(machine, call, path, "w" if ">" in text else "r")
    if call.items and call.items[0][1][0] in ("name", "set"):
        machine.assign(call.items[0][1], value)
    return value


EFFECTS: dict[str, Effect] = {
    "read": _read,
    "read-named": _read_named,
    "read-own": _read_own,
    "list": _list,
    "list-own": _list_own,
    "open": _open,
    "open-own": _open_own,
    "write": _write,
    "write-own": _write_own,
    "copy": _copy,
    "archive": _archive,
    "open-archive": _open_archive,
    "archive-add": _archive_add,
    "delete": _delete,
    "delete-own": _delete_own,
    "permit": _permit,
    "permit-own": _permit_own,
    "permit-second": _permit_second,
    "write-second": _write_second,
    "read-or-fetch": _read_or_fetch,
    "open-or-fetch": _open_or_fetch,
    "perl-open": _perl_open,
}
