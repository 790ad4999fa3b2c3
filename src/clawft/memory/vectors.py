"""The vectors of an index: compared by the signs of their dimensions, one XOR each, and exactly among the nearest."""

import heapq
import sqlite3
from collections.abc import Iterable

from clawft.memory.embedding import DIMENSION, FLOORS, Vector, cosine, embed_text

__all__ = ["VECTOR_TABLES", "Vectors"]

# Signatures stand alone, so that reading all of them reads nothing else.
VECTOR_TABLES = """
CREATE TABLE signature (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE TABLE vector (id INTEGER PRIMARY KEY, planes BLOB NOT NULL)
"""
_NEAR_BITS = 168  # of 384 differ by less than this where vectors are alike; by chance 192 do, give or take 10
_PLANE_BYTES = DIMENSION // 8
_WORDS_BYTES = 4


class Vectors:
    """The vectors in an open database; the signatures are read when they are first needed."""

    def __init__(self, database: sqlite3.Connection) -> None:
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

    def _load(self, identity: int) -> Vector:
        (planes,) = self._database.execute("SELECT planes FROM vector WHERE id = ?", (identity,)).fetchone()
        return _decode(planes)


def _embed(text: str, version: int) -> Vector:
    return embed_text(text, 2 if version == 2 else 3)


def _pack(bits: int) -> bytes:
    return bits.to_bytes(_PLANE_BYTES, "little")


def _encode(vector: Vector) -> bytes:
    """A vector as it is kept; its signature stands elsewhere."""
    return vector.words.to_bytes(_WORDS_BYTES, "little") + b"".join(map(_pack, vector.planes))


def _decode(content: bytes) -> Vector:
    steps = range(_WORDS_BYTES, len(content), _PLANE_BYTES)
    planes = tuple(int.from_bytes(content[at : at + _PLANE_BYTES], "little") for at in steps)
    return Vector(int.from_bytes(content[:_WORDS_BYTES], "little"), planes, 0)
