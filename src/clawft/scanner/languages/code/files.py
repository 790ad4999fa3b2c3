"""Files: what is read, written, copied, deleted and made executable."""

from clawft.scanner.facts import Kind
from clawft.scanner.languages.code.commands import run_command
from clawft.scanner.languages.code.constants import concat
from clawft.scanner.languages.code.encodings import decode_value
from clawft.scanner.languages.code.flow import find_paths, pass_unknown_call, read_path, write_path
from clawft.scanner.languages.code.machine import Machine
from clawft.scanner.languages.code.network import mark_request
from clawft.scanner.languages.code.values import Effect, ProgramCall, ProgramValue, make_list, merge_marks, text_of


def _read(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return read_path(
        machine,
        call,
        call.first(
            "file", "path", "filename", "database", "contentsOfFile", "contentsOf", "atPath", "forReadingAtPath"
        ),
    )


def _read_named(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Swift reads a file by making a string or data of it; other labels only convert."""
    if "base64Encoded" in call.named:
        return decode_value(machine, call, "base64", call.named["base64Encoded"])
    if not any(name.startswith(("contentsOf", "forReading")) for name in call.named):
        values = (*call.arguments, *call.named.values())
        return ProgramValue(values[0].consts if values else (), call.marks())
    return _read(machine, call, "")


def _list(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    path = call.first("path", "top", "pathname")
    return ProgramValue(path.consts, path.marks, "each")


def _list_own(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    owner, pattern = call.receiver, call.first()
    consts = (
        concat(ProgramValue(concat(owner, ProgramValue(("/",)))), pattern)
        if owner.consts and pattern.consts
        else owner.consts
    )
    return ProgramValue(consts, owner.marks, "each")


def _open(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    path = call.first("file", "path", "filename", "name")
    mode = call.second("mode")
    return _open_as(machine, call, path, text_of(mode.const) if mode.const is not None else "r")


def _open_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    owner, mode = call.receiver, call.first("mode")
    if not owner.consts or (call.arguments and not isinstance(mode.const, str)):
        return pass_unknown_call(machine, call, "open")
    return _open_as(machine, call, owner, mode.const if isinstance(mode.const, str) else "r")


def _open_as(machine: Machine, call: ProgramCall, path: ProgramValue, mode: str) -> ProgramValue:
    if any(letter in mode for letter in "wax>"):
        value = ProgramValue(path.consts, (), "file()")
        value.handle = write_path(machine, call, path, path.marks)
        return value
    value = read_path(machine, call, path)
    if "+" in mode:
        value.handle = write_path(machine, call, path, ())
    return value


def _write(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    path = call.first("path", "file")
    value = ProgramValue(path.consts, (), "file()")
    value.handle = write_path(machine, call, path, merge_marks(path.marks, call.marks(1)))
    return value


def _write_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    write_path(machine, call, call.receiver, call.marks())
    return ProgramValue()


def _copy(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    read = read_path(machine, call, call.first("src"))
    write_path(machine, call, call.second("dst"), read.marks)
    return ProgramValue(call.second("dst").consts)


def _archive(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A folder is packed: the archive holds what was read."""
    read = read_path(
        machine, call, call.arguments[2] if len(call.arguments) > 2 else call.named.get("root_dir", ProgramValue())
    )
    names = call.first("base_name")
    form = call.second("format").const or "zip"
    packed = ProgramValue(tuple(f"{text_of(const)}.{form}" for const in names.consts))
    write_path(machine, call, packed, read.marks)
    return ProgramValue(packed.consts, read.marks)


def _open_archive(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value = _open(machine, call, "")
    value.ref = "archive()"
    return value


def _archive_add(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A file goes into an archive."""
    read = read_path(machine, call, call.first("filename", "name"))
    if call.owner is not None and call.owner.handle is not None:
        call.owner.handle.sources.update(dict.fromkeys(read.marks))
    elif call.callee is not None:
        machine.taint(call.callee[2], read)
    return ProgramValue()


def _delete(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    for path in find_paths(call.first("path")):
        machine.note(call, Kind.DELETE, path, call.marks())
    return ProgramValue()


def _delete_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    for path in find_paths(call.receiver):
        machine.note(call, Kind.DELETE, path)
    return ProgramValue()


def _permit_path(machine: Machine, call: ProgramCall, path: ProgramValue, mode: ProgramValue) -> ProgramValue:
    number = mode.const
    if isinstance(number, str):
        number = (
            int(number, 8) if number.isdigit() and set(number) <= set("01234567") else 0o111 if "x" in number else 0
        )
    if not isinstance(number, int):
        number = 0o111
    if number & 0o002 or number & 0o111:
        how = "777" if number & 0o002 else "+x"
        for target in find_paths(path):
            written = [machine.files[target]] if target in machine.files else []
            machine.note(call, Kind.PERMIT, f"{how} {target}", tuple(written))
    return ProgramValue()


def _permit_second(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    for path in call.arguments[1:]:
        for part in [inner for _, inner in path.items] if path.items else [path]:
            _permit_path(machine, call, part, call.first())
    return ProgramValue()


def _write_second(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    write_path(machine, call, call.second("con", "file", "sep"), call.first().marks)
    return ProgramValue()


def _is_address(value: ProgramValue) -> bool:
    return any("://" in text and not text.startswith(("php://", "file://", "data:", "jdbc:")) for text in value.texts())


def _read_or_fetch(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Some languages read a file and an address by the same call."""
    path = call.first("file", "con")
    if _is_address(path) or path.ref in ("request()", "URI()", "URI.parse()"):
        return mark_request(machine, call, "GET", path, call.arguments[1:])
    if path.ref == "file()" or path.handle is not None:
        return ProgramValue((), path.marks)
    return read_path(machine, call, path)


def _open_or_fetch(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    path = call.first()
    if any(text.startswith("|") for text in path.texts()):
        return run_command(machine, call, ProgramValue(tuple(text.lstrip("|") for text in path.texts()), path.marks))
    if _is_address(path) or path.ref in ("URI()", "URI.parse()"):
        return mark_request(machine, call, "GET", path, call.arguments[1:])
    return _open(machine, call, "")


def _perl_open(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Perl's open: the handle first, the mode in a word of its own or before the path, a pipe for a command."""
    mode, path = call.second(), ProgramValue()
    text = next(iter(mode.texts()), "").strip()
    if len(call.arguments) > 2:
        path = call.arguments[2]
    else:
        path = ProgramValue(tuple(text.strip("<>+| ") for text in mode.texts()), mode.marks)
    if "|" in text:
        words = call.arguments[2:] if len(call.arguments) > 3 else [path]
        command = path if len(words) < 2 else make_list(words, call.marks(2))
        value = run_command(machine, call, command)
    else:
        value = _open_as(machine, call, path, "w" if ">" in text else "r")
    if call.items and call.items[0][1][0] in ("name", "set"):
        machine.assign(call.items[0][1], value)
    return value


FILE_EFFECTS: dict[str, Effect] = {
    "read": _read, "read-named": _read_named, "list": _list, "list-own": _list_own,
    "open": _open, "open-own": _open_own, "write": _write, "write-own": _write_own, "copy": _copy, "archive": _archive,
    "open-archive": _open_archive, "archive-add": _archive_add, "delete": _delete, "delete-own": _delete_own,
    "permit-second": _permit_second, "write-second": _write_second,
    "read-or-fetch": _read_or_fetch, "open-or-fetch": _open_or_fetch, "perl-open": _perl_open,
    "read-own": lambda machine, call, _: read_path(machine, call, call.receiver),
    "permit": lambda machine, call, _: _permit_path(machine, call, call.first("path"), call.second("mode")),
    "permit-own": lambda machine, call, _: _permit_path(machine, call, call.receiver, call.first("mode")),
}  # fmt: skip
