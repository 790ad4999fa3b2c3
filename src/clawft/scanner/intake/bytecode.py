"""Compiled Python read as data: a bounded reader of the marshal format, never `marshal.loads`, never run."""

import struct

from msgspec import Struct

__all__ = ["Code", "read_code"]

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
        name = next((one for one in reversed(rest) if isinstance(one, str)), "")
        code = Code(str(name), _strings(names), _strings(consts), _numbers(consts))
        self.codes.append(code)
        return code


_SIZES = {"0": 0, "N": 0, "T": 0, "F": 0, "S": 0, ".": 0, "I": 8, "g": 8, "y": 16, "R": 4}


def _layout(version: int) -> tuple[int, int, int]:
    """How a code object is laid out: numbers first, objects, and objects after the line, by the magic number."""
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
    for one in value if isinstance(value, list) else ():
        found.extend(inner for inner in (one if isinstance(one, list) else (one,)) if isinstance(inner, int))
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
