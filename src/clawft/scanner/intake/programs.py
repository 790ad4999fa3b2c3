"""Binary files (programs, pickles, WebAssembly, unknown ones): what they import and their readable strings."""

import io
import re
from collections.abc import Callable, Iterator
from itertools import islice

from clawft.scanner.facts import Kind
from clawft.scanner.intake.formats import (
    ContentMark,
    EmbeddedFile,
    EmbeddedText,
    Part,
    UnpackBudget,
    UnreadPart,
    find_form,
)
from clawft.scanner.regex import lazy

_MODULE = b"\0asm\x01\0\0\0"
_COMPONENT = b"\0asm\x0d\0\x01\0"
_IMPORTS = 2  # the number of the section
_WASI = ("wasi_snapshot_preview1", "wasi_unstable")
_MAX_IMPORTS = 2000
_MAX_NAMED = 4
_MAX_NAME = 40
_OF_WASI = {  # how names of WASI begin, and what they are for
    "path_": "files",
    "environ_": "variables",
    "sock_": "connections",
    "clock_": "the time",
    "random_": "random numbers",
    "args_": "its words",
    "fd_": "input and output",
}


def render_imports(data: bytes) -> str:
    """Render the imports of a WebAssembly module for people; '' if they cannot be read."""
    if data.startswith(_COMPONENT):
        return "is a component"
    try:
        imports = list(islice(_read_imports(data), _MAX_IMPORTS))
    except (IndexError, ValueError):
        return ""
    foreign = [f"{module}.{name}" for module, name in imports if module not in _WASI]
    asked = [
        what
        for start, what in _OF_WASI.items()
        if any(name.startswith(start) for module, name in imports if module in _WASI)
    ]
    shown = [name[:_MAX_NAME] for name in foreign[:_MAX_NAMED]]
    more = f" and {len(foreign) - _MAX_NAMED} more functions" if len(foreign) > _MAX_NAMED else ""
    return f"asks its host for {', '.join([*asked, *shown]) or 'nothing'}{more}"


def _read_imports(data: bytes) -> Iterator[tuple[str, str]]:
    """Raises: IndexError, ValueError for what is no module."""
    if not data.startswith(_MODULE):
        raise ValueError("no module")
    at = len(_MODULE)
    while at < len(data):
        section = data[at]
        size, at = _read_number(data, at + 1)
        if section == _IMPORTS:
            yield from _read_section(data[at : at + size])
        at += size


def _read_section(data: bytes) -> Iterator[tuple[str, str]]:
    count, at = _read_number(data, 0)
    for _ in range(count):
        module, at = _read_name(data, at)
        name, at = _read_name(data, at)
        yield module, name
        at = _skip_type(data, at)


def _skip_type(data: bytes, at: int) -> int:
    """Behind the type of an import. Raises: IndexError, ValueError."""
    kind, at = data[at], at + 1
    if kind == 0:  # a function
        return _read_number(data, at)[1]
    if kind == 3:  # a global: its type, and whether it changes
        return at + 2
    if kind not in (1, 2):
        raise ValueError("a kind that is not known")
    at += kind == 1  # a table: its elements, then its limits as a memory has them
    flags, at = _read_number(data, at)
    at = _read_number(data, at)[1]
    return _read_number(data, at)[1] if flags & 1 else at


def _read_name(data: bytes, at: int) -> tuple[str, int]:
    size, at = _read_number(data, at)
    if at + size > len(data):
        raise IndexError
    return "".join(
        char if char.isprintable() else "?" for char in data[at : at + size].decode("utf-8", "replace")
    ), at + size


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A number in the variable length of this format, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("too long")


MAX_STRINGS = 64 << 10
_SEARCHED = 8 << 20
_RUN = re.compile(rb"[\x20-\x7e\t]{6,400}")
_WIDE_RUN = re.compile(rb"(?:[\x20-\x7e]\0){6,200}")
_REVEALING = re.compile(
    rb"https?://|wss?://|/dev/tcp|\b(?:curl|wget|bash|powershell|cmd\.exe|chmod|crontab|osascript)\b|\.ssh/|id_rsa|\.aws/"
    rb"|authorized_keys|api[_-]?key|password|webhook|/bin/sh|[Ii]gnore (?:all|previous)|instructions|\beval\b",
)
# Looked for first: machine code and pixels hardly ever hold one of these by chance.
_QUICK = (
    b"http", b"curl", b"wget", b"bash", b"/bin/", b"/dev/tcp", b".ssh", b".aws", b"eval", b"nstructions", b"assword",
    b"nore ",
)  # fmt: skip
_SCRIPT = re.compile(rb"(?:#!|<\?php|import |@echo )[\t\r\n\x20-\x7e]{8,}\n")
_INERT = frozenset({"sqlite", "numpy", "parquet", "weights", "hdf5", "git-index", "git-pack", "plist", "media"})

Opener = Callable[[bytes, UnpackBudget], Iterator[Part]]


def open_program(form: str) -> Opener:
    """The opener of a program: what it is, and the telling strings in it."""

    def open_it(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
        known = render_imports(data) if form == "WebAssembly" else ""
        description = f"a program ({form}, {len(data)} bytes) that cannot be read" + (f"; it {known}" if known else "")
        yield ContentMark(Kind.BINARY, form, description)
        yield UnreadPart(f"A program ({form}) that cannot be read")
        if strings := find_strings(data):
            yield EmbeddedText(strings, "text", "strings")
        yield from find_appended(data)

    return open_it


def find_appended(data: bytes) -> Iterator[Part]:
    """An archive behind something else: those who unpack it start at its end."""
    start = data.find(b"PK\x03\x04") if b"PK\x05\x06" in data[-70_000:] else -1
    if start > 0:
        yield ContentMark(Kind.HIDDEN, "trailing-data", f"an archive begins after {start} bytes")
        yield EmbeddedFile("appended", data[start:], "trailing-data")


def _split_script(data: bytes) -> Iterator[Part]:
    """A script that carries binary data behind its last line, as self-unpacking files do."""
    match = _SCRIPT.match(data)
    if match and len(match[0]) < len(data):
        yield ContentMark(Kind.HIDDEN, "binary-tail", f"binary data follows {len(match[0])} bytes of text")
        yield EmbeddedFile("script", match[0], "binary-tail")
        rest = data[match.end() :]
        if find_form(rest):
            yield EmbeddedFile("tail", rest, "binary-tail")


def open_unknown(form: str) -> Opener:
    """The opener of binary data of no known form."""

    def open_it(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
        if not data.strip(b"\0"):
            return
        appended = [*find_appended(data), *_split_script(data)]
        yield from appended
        if form not in _INERT:
            yield UnreadPart("Binary data of an unknown form")
        if not appended and (strings := find_strings(data)):
            yield EmbeddedText(strings, "", "strings")

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
        if _REVEALING.search(match[0]):
            found.append(match[0].decode("ascii"))
            size += len(match[0])
    for match in _WIDE_RUN.finditer(data) if wide else ():
        text = match[0].decode("utf-16-le")
        if size <= MAX_STRINGS and _REVEALING.search(text.encode()):
            found.append(text)
            size += len(text)
    return "\n".join(dict.fromkeys(found))


MAX_STEPS = 200_000
_EXEC = lazy(
    r"(?:os|posix|nt|subprocess|pty|commands)\.(?:system|popen|Popen|run|call|check_\w+|exec\w*|spawn\w*|getoutput|getstatusoutput|startfile)$"
)
_EVAL = lazy(r"(?:builtins|__builtin__)\.(?:eval|exec|compile|__import__)$|runpy\.\w+$|code\.\w+$|timeit\.\w+$")
_OTHER = lazy(
    r"(?:builtins|__builtin__)\.(?:getattr|open|globals)$|(?:socket|urllib|requests|httpx|shutil|ctypes|webbrowser|importlib|marshal|os|sys"
    r"|subprocess|asyncio|multiprocessing|pip|torch\.hub|numpy\.testing|cProfile|pdb|bdb|doctest)\b.*"
)
_HARMLESS = lazy(r"os\.(?:path\.\w+|PathLike|fspath|stat_result)$|sys\.(?:intern|maxsize)$")


def open_pickle(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """Yield what a pickle would import, and the strings it would call that with."""
    import pickletools  # slow to import, and pickles are rare

    strings: list[str] = []
    memo: dict[int, str] = {}
    named: dict[str, None] = {}
    whole = True
    try:
        for step, (code, argument, _) in enumerate(pickletools.genops(io.BytesIO(data))):
            if step > MAX_STEPS:
                whole = False
                break
            _follow(code.name, argument, strings, memo, named)
    except Exception:  # pickletools raises ValueError, but also what a broken number or text makes of itself
        whole = False
    found = [name for name in named if not _HARMLESS.match(name)]
    called = [name for name in found if _EXEC.match(name) or _EVAL.match(name) or _OTHER.match(name)]
    for name in called:
        yield ContentMark(Kind.LOAD, name, f"a pickle that calls {name} when it is loaded")
    texts = [string for string in dict.fromkeys(strings) if len(string) >= 4 and string not in " ".join(found)]
    if any(_EXEC.match(name) for name in called):
        yield from (EmbeddedText(text, "shell", "exec") for text in texts[:50])
    elif any(_EVAL.match(name) for name in called):
        yield from (EmbeddedText(text, "python", "eval") for text in texts[:50])
    elif any(re.search(r"https?://|/dev/tcp|\.ssh", text) for text in texts):
        yield EmbeddedText("\n".join(texts[:500]), "text", "strings")
    if not whole:
        yield UnreadPart("The pickle is broken, or too long to be read whole")


def _follow(name: str, argument: object, strings: list[str], memo: dict[int, str], named: dict[str, None]) -> None:
    """One instruction: keep texts, and put together the names of what is imported."""
    if name in ("GLOBAL", "INST"):
        named[str(argument).replace(" ", ".", 1)] = None
    elif name == "STACK_GLOBAL":
        if len(strings) >= 2:
            named[f"{strings[-2]}.{strings[-1]}"] = None
    elif name in ("MEMOIZE", "BINPUT", "PUT", "LONG_BINPUT"):
        if strings:
            memo[len(memo) if name == "MEMOIZE" else int(str(argument))] = strings[-1]
    elif name in ("BINGET", "GET", "LONG_BINGET"):
        if (known := memo.get(int(str(argument)))) is not None:
            strings.append(known)
    elif isinstance(argument, str):
        strings.append(argument[:20_000])
    elif isinstance(argument, bytes | bytearray) and argument[:4000].isascii():
        strings.append(argument[:20_000].decode("ascii", "replace"))
