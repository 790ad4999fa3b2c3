"""Programs and unknown binary data: named, their readable strings kept, and the rest said to be unread."""

import re
from collections.abc import Callable, Iterator

from clawft.scan.facts import Kind
from clawft.scan.intake.forms import find_form
from clawft.scan.intake.parts import Mark, Member, Part, Passage, Room, Unread
from clawft.scan.intake.wasm import describe_imports

__all__ = ["find_appended", "find_strings", "open_program", "open_unknown"]

MAX_STRINGS = 64 << 10
_SEARCHED = 8 << 20
_RUN = re.compile(rb"[\x20-\x7e\t]{6,400}")
_WIDE_RUN = re.compile(rb"(?:[\x20-\x7e]\0){6,200}")
_TELLING = re.compile(
    rb"https?://|wss?://|/dev/tcp|\b(?:curl|wget|bash|powershell|cmd\.exe|chmod|crontab|osascript)\b|\.ssh/|id_rsa|\.aws/"
    rb"|authorized_keys|api[_-]?key|password|webhook|/bin/sh|[Ii]gnore (?:all|previous)|instructions|\beval\b",
)
# Looked for first: machine code and pixels hardly ever hold one of these by chance.
_QUICK = (
    b"http",
    b"curl",
    b"wget",
    b"bash",
    b"/bin/",
    b"/dev/tcp",
    b".ssh",
    b".aws",
    b"eval",
    b"nstructions",
    b"assword",
    b"nore ",
)
_SCRIPT = re.compile(rb"(?:#!|<\?php|import |@echo )[\t\r\n\x20-\x7e]{8,}\n")
_INERT = frozenset({"sqlite", "numpy", "parquet", "weights", "hdf5", "git-index", "git-pack", "plist", "media"})

Opener = Callable[[bytes, Room], Iterator[Part]]


def open_program(form: str) -> Opener:
    """The opener of a program: what it is, and the telling strings in it."""

    def open_it(data: bytes, room: Room) -> Iterator[Part]:
        del room
        known = describe_imports(data) if form == "WebAssembly" else ""
        said = f"a program ({form}, {len(data)} bytes) that cannot be read" + (f"; it {known}" if known else "")
        yield Mark(Kind.BINARY, form, said)
        yield Unread(f"A program ({form}) that cannot be read")
        if strings := find_strings(data):
            yield Passage(strings, "text", "strings")
        yield from find_appended(data)

    return open_it


def find_appended(data: bytes) -> Iterator[Part]:
    """An archive behind something else: those who unpack it start at its end."""
    start = data.find(b"PK\x03\x04") if b"PK\x05\x06" in data[-70_000:] else -1
    if start > 0:
        yield Mark(Kind.HIDDEN, "trailing-data", f"an archive begins after {start} bytes")
        yield Member("appended", data[start:], "trailing-data")


def _split_script(data: bytes) -> Iterator[Part]:
    """A script that carries binary data behind its last line, as self-unpacking files do."""
    match = _SCRIPT.match(data)
    if match and len(match[0]) < len(data):
        yield Mark(Kind.HIDDEN, "binary-tail", f"binary data follows {len(match[0])} bytes of text")
        yield Member("script", match[0], "binary-tail")
        rest = data[match.end() :]
        if find_form(rest):
            yield Member("tail", rest, "binary-tail")


def open_unknown(form: str) -> Opener:
    """The opener of binary data of no known form."""

    def open_it(data: bytes, room: Room) -> Iterator[Part]:
        del room
        if not data.strip(b"\0"):
            return
        appended = [*find_appended(data), *_split_script(data)]
        yield from appended
        if form not in _INERT:
            yield Unread("Binary data of an unknown form")
        if not appended and (strings := find_strings(data)):
            yield Passage(strings, "", "strings")

    return open_it


def find_strings(data: bytes) -> str:
    """The readable strings of binary data that name addresses, commands or secrets, one a line."""
    data = data[:_SEARCHED]
    wide = b"h\0t\0t\0p" in data
    if not wide and not any(word in data for word in _QUICK):
        return ""
    found: list[str] = []
    size = 0
    for match in _RUN.finditer(data):
        if size > MAX_STRINGS:
            break
        if _TELLING.search(match[0]):
            found.append(match[0].decode("ascii"))
            size += len(match[0])
    for match in _WIDE_RUN.finditer(data) if wide else ():
        text = match[0].decode("utf-16-le")
        if size <= MAX_STRINGS and _TELLING.search(text.encode()):
            found.append(text)
            size += len(text)
    return "\n".join(dict.fromkeys(found))
