"""Hash vectors of texts, and their table in the index: compared by sign, then exactly among the nearest."""

import heapq
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from clawft.config.sqlite import DatabaseConnection

Version = Literal[2, 3]
DIMENSION = 384  # six blocks of 64
#: The cosine that chance alone hardly reaches: four standard deviations among 64 and 384 dimensions.
FLOORS: dict[int, float] = {2: 4 / math.sqrt(64), 3: 4 / math.sqrt(384)}

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# What Unicode calls white space. Python's `split` takes four control characters besides, Rust's does not.
_SEED_WORD = re.compile("[^\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


class HashVector(Struct, frozen=True):
    """The sum over `words` words, as planes of bits. `signature` holds the sign of each dimension."""

    words: int
    planes: tuple[int, ...]
    signature: int


def embed_text(text: str, version: Version = 3) -> HashVector:
    """The vector of a text."""
    words = _SEED_WORD.findall(text) if version == 2 else _WORD.findall(text.lower())
    planes: list[int] = []
    for word in words:
        _add(planes, _word_bits(word, version))
    first = _word_bits(words[0], version) if words else 0
    return HashVector(len(words), tuple(planes), _signs(planes, len(words), first))


def cosine(one: HashVector, other: HashVector) -> float:
    """Return how similar two vectors are, from -1 to 1; 0 if either has no words."""
    size = math.sqrt(_dot(one, one)) * math.sqrt(_dot(other, other))
    return _dot(one, other) / size if size else 0.0


def fnv1a(content: bytes) -> int:
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 & _MASK
    return value


@lru_cache(maxsize=1 << 15)
def _word_bits(word: str, version: Version) -> int:
    """One bit per dimension: whether the word adds +1 there."""
    content = word.encode("utf-8", errors="replace")
    blocks = range(DIMENSION // 64)
    if version == 2:
        value = fnv1a(content + b"\xff")
        bits = sum(value << 64 * block for block in blocks) ^ _positions()
    else:
        value = fnv1a(content)
        bits = sum(_splitmix(value + (block + 1) * _GAMMA) << 64 * block for block in blocks)
    return bits


@lru_cache
def _positions() -> int:
    """Return the mask of changes that `hash ^ i` makes to the one bit that dimension `i` reads."""
    return sum((i >> (i % 64) & 1) << i for i in range(DIMENSION))


def _splitmix(value: int) -> int:
    value &= _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31


def _add(planes: list[int], bits: int) -> None:
    """Count one more word: an addition with carry, in all dimensions at once."""
    for power, plane in enumerate(planes):
        planes[power] = plane ^ bits
        bits &= plane
        if not bits:
            return
    if bits:
        planes.append(bits)


def _signs(planes: list[int], words: int, first: int) -> int:
    """Return the dimensions that got more +1 than -1. The first word decides a tie, so that both signs are equally
    frequent."""
    half, above, equal = words // 2, 0, (1 << DIMENSION) - 1
    for power in reversed(range(max(len(planes), half.bit_length()))):
        plane = planes[power] if power < len(planes) else 0
        if half >> power & 1:
            equal &= plane
        else:
            above |= equal & plane
            equal &= ~plane
    return above | (equal & first if words % 2 == 0 else 0)


def _dot(one: HashVector, other: HashVector) -> int:
    """The dot product of the sums; each is 2 * count - words."""
    both = sum(
        (left & right).bit_count() << (power + further)
        for power, left in enumerate(one.planes)
        for further, right in enumerate(other.planes)
    )
    mixed = one.words * _total(other) + other.words * _total(one)
    return 4 * both - 2 * mixed + DIMENSION * one.words * other.words


def _total(vector: HashVector) -> int:
    return sum(plane.bit_count() << power for power, plane in enumerate(vector.planes))


# Signatures stand alone, so that reading all of them reads nothing else.
VECTOR_TABLES = """
CREATE TABLE signature (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE TABLE vector (id INTEGER PRIMARY KEY, planes BLOB NOT NULL)
"""
_NEAR_BITS = 168  # of 384 differ by less than this where vectors are alike; by chance 192 do, give or take 10
_PLANE_BYTES = DIMENSION // 8
_WORDS_BYTES = 4


class VectorTable:
    """The vectors in an open database; the signatures are read when they are first needed."""

    def __init__(self, database: DatabaseConnection) -> None:
        self._database = database
        self._signatures: tuple[int, list[int], list[int]] | None = None

    def insert(self, texts: Iterable[tuple[int, str]], version: int) -> None:
        """Keep the vectors of texts; of no text, where the version is none we can make."""
        if version not in FLOORS:
            return
        vectors = [(identity, _embed(text, version)) for identity, text in texts]
        signatures = ((identity, _pack(vector.signature)) for identity, vector in vectors)
        self._database.executemany("INSERT INTO signature VALUES (?, ?)", signatures)
        planes = ((identity, _encode(vector)) for identity, vector in vectors)
        self._database.executemany("INSERT INTO vector VALUES (?, ?)", planes)

    def forget(self) -> None:
        """Read the signatures again when they are next needed."""
        self._signatures = None

    def find_near(self, query: str, version: int, size: int) -> list[int]:
        """The items whose vectors are more like the query's than chance makes them, best first."""
        wanted = _embed(query, version)
        if not wanted.words:
            return []
        identities, signatures = self._load_signatures()
        bits = wanted.signature
        near = [
            (distance, identity)
            for identity, signature in zip(identities, signatures, strict=True)
            if (distance := (bits ^ signature).bit_count()) < _NEAR_BITS
        ]
        scored = []
        for _, identity in heapq.nsmallest(size, near):
            alike = cosine(wanted, self._load(identity))
            if alike >= FLOORS[version]:
                scored.append((-alike, identity))
        return [identity for _, identity in sorted(scored)]

    def _load_signatures(self) -> tuple[list[int], list[int]]:
        """Every signature, kept until this or another process changes the index."""
        version: int = self._database.execute("PRAGMA data_version").fetchone()[0]
        if self._signatures is None or self._signatures[0] != version:
            rows = self._database.execute("SELECT id, bits FROM signature").fetchall()
            unpack = int.from_bytes
            self._signatures = (version, [row[0] for row in rows], [unpack(row[1], "little") for row in rows])
        return self._signatures[1:]

    def _load(self, identity: int) -> HashVector:
        (planes,) = self._database.execute("SELECT planes FROM vector WHERE id = ?", (identity,)).fetchone()
        return _decode(planes)


def _embed(text: str, version: int) -> HashVector:
    return embed_text(text, 2 if version == 2 else 3)


def _pack(bits: int) -> bytes:
    return bits.to_bytes(_PLANE_BYTES, "little")


def _encode(vector: HashVector) -> bytes:
    """A vector as it is kept; its signature stands elsewhere."""
    return vector.words.to_bytes(_WORDS_BYTES, "little") + b"".join(map(_pack, vector.planes))


def _decode(content: bytes) -> HashVector:
    steps = range(_WORDS_BYTES, len(content), _PLANE_BYTES)
    planes = tuple(int.from_bytes(content[at : at + _PLANE_BYTES], "little") for at in steps)
    return HashVector(int.from_bytes(content[:_WORDS_BYTES], "little"), planes, 0)
