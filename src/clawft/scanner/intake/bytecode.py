"""Compiled Python: read as data, rendered as Python, and compared with its source."""

import re
import struct
from collections.abc import Iterator

from msgspec import Struct

from clawft.scanner.facts import Document, Kind
from clawft.scanner.intake.formats import ContentMark, EmbeddedText, Part, UnreadPart
from clawft.scanner.regex import words

MAX_OBJECTS = 400_000
MAX_DEPTH = 200
_REF = 0x80


class Code(Struct):
    """The parts of one code object that can be read without running it."""

    name: str
    names: list[str]
    strings: list[str]
    numbers: list[int]


class _Broken(Exception):
    pass


class _Reader:
    """Walks over marshal data, collecting code objects."""

    def __init__(self, data: bytes, at: int, version: int) -> None:
        self.data = data
        self.at = at
        self.version = version
        self.refs: list[object] = []
        self.count = 0
        self.codes: list[Code] = []

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise _Broken
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def long(self) -> int:
        return int(struct.unpack("<i", self.take(4))[0])

    def read(self, depth: int = 0) -> object:
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_OBJECTS:
            raise _Broken
        byte = self.take(1)[0]
        kind = chr(byte & ~_REF)
        place = -1
        if byte & _REF:
            place = len(self.refs)
            self.refs.append(None)
        value = self._read_kind(kind, depth)
        if place >= 0:
            self.refs[place] = value
        return value

    def _read_kind(self, kind: str, depth: int) -> object:
        if kind == "i":
            return self.long()
        if kind in _SIZES:
            self.take(_SIZES[kind])
            return None
        if kind in "st":  # bytes and old strings; `u` is text; the rest are the short forms of both
            return self.take(self.long())
        if kind in "uaA":
            return self.take(self.long()).decode("utf-8", "replace")
        if kind in "zZ":
            return self.take(self.take(1)[0]).decode("latin-1")
        if kind == "r":
            index = self.long()
            return self.refs[index] if 0 <= index < len(self.refs) else None
        if kind in "()[<>":
            size = self.take(1)[0] if kind == ")" else self.long()
            return self._read_many(size, depth)
        return self._read_rare(kind, depth)

    def _read_rare(self, kind: str, depth: int) -> object:
        if kind == "{":
            while self.data[self.at : self.at + 1] not in (b"0", b""):
                self.read(depth + 1)
                self.read(depth + 1)
            self.take(1)
            return None
        if kind == "l":
            self.take(abs(self.long()) * 2)
            return None
        if kind in "fx":
            for _ in range(1 if kind == "f" else 2):
                self.take(self.take(1)[0])
            return None
        if kind == ":":  # a slice, from 3.14 on
            return self._read_many(3, depth)
        if kind == "c":
            return self._read_code(depth)
        raise _Broken

    def _read_many(self, size: int, depth: int) -> list[object]:
        if size < 0 or size > len(self.data):
            raise _Broken
        return [self.read(depth + 1) for _ in range(size)]

    def _read_code(self, depth: int) -> object:
        numbers, objects, tail = _layout(self.version)
        self.take(4 * numbers)
        values = [self.read(depth + 1) for _ in range(objects)]
        self.take(4)  # the first line
        for _ in range(tail):
            self.read(depth + 1)
        _, consts, names, *rest = values
        name = next((element for element in reversed(rest) if isinstance(element, str)), "")
        code = Code(str(name), _strings(names), _strings(consts), _numbers(consts))
        self.codes.append(code)
        return code


_SIZES = {"0": 0, "N": 0, "T": 0, "F": 0, "S": 0, ".": 0, "I": 8, "g": 8, "y": 16, "R": 4}


def _layout(version: int) -> tuple[int, int, int]:
    """Return the layout of a code object by the magic number: numbers, objects, and objects after the line."""
    if (
        version >= 3495
    ):  # 3.11: code, consts, names, localsplusnames, kinds, filename, name, qualname; lines, exceptions
        return 5, 8, 2
    if version >= 3410:  # 3.8 counts the positional-only arguments
        return 6, 8, 1
    if 3000 <= version < 3410:
        return 5, 8, 1
    return 4, 8, 1  # Python 2


def _strings(value: object) -> list[str]:
    """The texts in a constant, those inside tuples too."""
    found: list[str] = []
    pending = [value]
    while pending and len(found) < 20_000:
        one = pending.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, bytes) and one and one.isascii():
            found.append(one.decode())
        elif isinstance(one, list):
            pending.extend(reversed(one))
    return found


def _numbers(value: object) -> list[int]:
    found: list[int] = []
    for element in value if isinstance(value, list) else ():
        found.extend(
            inner for inner in (element if isinstance(element, list) else (element,)) if isinstance(inner, int)
        )
    return found[:1000]


def read_code(data: bytes) -> tuple[list[Code], bool]:
    """The code objects of a .pyc file, the innermost first, and whether all of it could be read."""
    version = int.from_bytes(data[:2], "little")
    start = 16 if 3390 <= version < 20_000 else 12 if 3190 <= version < 20_000 else 8
    reader = _Reader(data, start, version)
    try:
        reader.read()
    except (_Broken, struct.error, RecursionError, MemoryError):
        return reader.codes, False
    return reader.codes, True


_PYCACHE = re.compile(r"(?:^|/)__pycache__/([^/]+?)\.[\w-]+(?:\.opt-\d)?\.pyc$")
_WORD = re.compile(r"[^\W\d_][\w.-]{3,}")
_MAGIC_NAME = re.compile(r"__\w+__$|_\w+__\w+$|[.<]")
_ACTING = re.compile(
    r"system|popen|Popen|subprocess|exec|eval|compile|__import__|urlopen|urlretrieve|requests|httpx|aiohttp|socket|connect"
    r"|check_output|check_call|spawn\w*|environ|getenv|b64decode|marshal|pickle|ctypes|rmtree|unlink|ftplib|smtplib|dup2"
)
_REVEALING = re.compile(
    r"https?://|/dev/tcp|\.ssh|\.aws|id_rsa|\.env\b|curl |wget |/bin/(?:ba)?sh|\| ?(?:ba)?sh\b|base64"
)


def find_source(path: str) -> str:
    """The path of the source that a .pyc would be made of."""
    match = _PYCACHE.search(path)
    if match:
        return f"{path[: match.start()]}/{match[1]}.py".lstrip("/")
    return re.sub(r"\.pyc$", ".py", path)


def explain_bytecode(data: bytes, source: Document | None) -> Iterator[Part]:
    """Return what a .pyc adds to its source; all of it when there is none."""
    codes, whole = read_code(data)
    if source is not None and whole:
        missing = _list_missing(codes, source.text)
        if not missing:
            return
        acting = [name for name in missing if _ACTING.fullmatch(name) or _REVEALING.search(name)]
        target = "bytecode-differs" if acting else "bytecode-stale"
        yield ContentMark(Kind.HIDDEN, target, f"not in the source: {', '.join((acting or missing)[:6]):.200}")
        if not acting:
            return
    else:
        yield ContentMark(Kind.BINARY, "Python bytecode", f"compiled Python without its source, {len(codes)} functions")
    if not whole:
        yield UnreadPart("The bytecode is broken or of an unknown version")
    if text := _render(codes):
        yield EmbeddedText(text, "python", "bytecode")


def _list_missing(codes: list[Code], text: str) -> list[str]:
    """The names and the strings of bytecode that its source does not hold."""
    known = set(re.findall(r"\w+", text))
    missing: dict[str, None] = {}
    for code in codes:
        for name in code.names:
            if not _MAGIC_NAME.match(name) and not known.issuperset(name.split(".")):
                missing[name] = None
        for string in code.strings:
            if string not in text and any(word not in text for word in _WORD.findall(string[:5000])):
                missing[string] = None
    return [name for name in missing if name.strip() and name != "return"]  # the name of an annotation


_STARTERS = words("system popen Popen run call check_output check_call getoutput execvp spawn")


def _render(codes: list[Code]) -> str:
    """Python that does no less than the bytecode: what is read, then every call over what it may be given."""
    names = {name for code in codes for name in code.names}
    strings = list(dict.fromkeys(string for code in codes for string in code.strings if string.strip()))[:400]
    numbers = [number for code in codes for number in code.numbers]
    lines = [
        f"import {name}"
        for name in sorted(names)
        if re.fullmatch(r"os|subprocess|socket|urllib(\.\w+)*|requests|base64|shutil", name)
    ]
    held = _render_reads(names, strings, lines)
    argument = f"({', '.join(held)},)" if held else "''"
    commands = [string for string in strings if " " in string.strip() or "/" in string]
    addresses = [string for string in strings if re.match(r"(?:https?|wss?|ftp)://", string)]
    if names & _STARTERS:
        lines += [f"os.system({command!r})" for command in commands if command not in addresses]
        if words := [string for string in strings if re.fullmatch(r"[\w./:@=|&;$~+-]{1,200}", string)]:
            lines.append(f"subprocess.run({words!r})")
    for address in addresses:
        verb = "post" if held or names & {"post", "put", "Request", "urlencode"} else "get"
        lines.append(f"requests.{verb}({address!r}, {'data' if verb == 'post' else 'params'}={argument})")
    if names & {"exec", "eval", "compile", "loads"}:
        packed = names & {"b64decode", "decompress", "fromhex", "unhexlify"}
        lines += [
            f"exec(base64.b64decode({string!r}))" if packed else f"exec({string!r})"
            for string in strings
            if len(string) >= 16
        ]
    if "connect" in names:
        hosts = [string for string in strings if re.fullmatch(r"[\w-]+(\.[\w-]+)+", string)]
        port = next((number for number in numbers if 0 < number < 65536), 0)
        lines += [f"socket.socket().connect(({host!r}, {port}))\nsocket.socket().send({argument})" for host in hosts]
    if names & {"rmtree", "unlink", "remove"}:
        lines += [
            f"shutil.rmtree({string!r})"
            for string in strings
            if re.match(r"[~/.$\w-]+$", string) and "/" in string + "/"
        ]
    lines += [f"_ = {string!r}" for string in strings]
    return "\n".join(lines)


def _render_reads(names: set[str], strings: list[str], lines: list[str]) -> list[str]:
    """Assignments of all that is read; the variables that hold it."""
    held: list[str] = []

    def hold(expression: str) -> None:
        held.append(f"v{len(held)}")
        lines.append(f"{held[-1]} = {expression}")

    if names & {"environ", "getenv", "environb"}:
        variables = [string for string in strings if re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", string)]
        for variable in variables or [""]:
            hold(f"os.environ[{variable!r}]" if variable else "dict(os.environ)")
    if names & {"open", "read_text", "read_bytes", "read", "expanduser", "Path", "copy"}:
        for string in strings:
            if (
                re.fullmatch(r"[~/.$\\\w][^\n:|;]{2,200}", string)
                and ("/" in string or "." in string)
                and " " not in string
            ):
                hold(f"open(os.path.expanduser({string!r})).read()")
    return held
