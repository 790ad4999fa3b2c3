"""Memory search: SQLite's FTS5 and hash vectors, fused by rank. The index is only a cache of the Markdown files.

Words are ranked by BM25, vectors by their cosine; both rankings are fused (reciprocal rank fusion), so that what both
find comes first.
"""

import errno
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from clawft.agent.memory.vectors import FLOORS, VECTOR_TABLES, VectorTable, Version
from clawft.config.sqlite import IN_MEMORY, DatabaseError, is_from_outside, open_sqlite, write_transaction
from clawft.contracts import MemoryResult
from clawft.files import create_private
from clawft.skills.discovery.ranking import STOP_WORDS, find_significant_words

SCHEMA_VERSION = 1
CANDIDATES = 100  # of each ranking
MAX_QUERY = 4_000  # characters
BUSY_S = 2.0
_FUSION = 60  # the usual constant: how little the first ranks stand out
_AFFORDABLE = 4_000  # entries whose BM25 is worked out for one query
_TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE item (id INTEGER PRIMARY KEY, source TEXT NOT NULL, digest BLOB NOT NULL, metadata BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(key, value, tokenize='porter unicode61');
{VECTOR_TABLES}
"""


class IndexedItem(Struct, frozen=True):
    """One searchable item: an entry, a note or a line of history."""

    key: str
    value: str
    metadata: dict[str, Any] | None = None


class IndexUnusable(Exception):
    """The index cannot be used now; `damaged` tells whether making it anew would help."""

    def __init__(self, *, damaged: bool) -> None:
        super().__init__("damaged" if damaged else "busy")
        self.damaged = damaged


class MemoryIndex:
    """One open index. An empty file gets tables and the marker `embedding`; another keeps its own marker."""

    def __init__(self, path: str, embedding: Version) -> None:
        with _translate():
            if path != IN_MEMORY:
                create_private(path)
                if os.path.islink(path):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            self._database = open_sqlite(path, wait_s=BUSY_S)
        try:
            with _translate():
                self._prepare(embedding)
        except IndexUnusable:
            self._database.close()
            raise
        self._vectors = VectorTable(self._database)

    def close(self) -> None:
        self._database.close()

    @property
    def marker(self) -> int:
        """The version of the embedding that the vectors were made with."""
        with _translate():
            return int(self._meta("embedding") or 0)

    @property
    def count(self) -> int:
        with _translate():
            found: int = self._database.execute("SELECT count(*) FROM item").fetchone()[0]
            return found

    def seen(self, source: str) -> bytes:
        """Return the state that `update` stored for a source when it was last read."""
        with _translate():
            return bytes(self._meta(source) or b"")

    def update(self, source: str, seen: bytes, items: Iterable[IndexedItem]) -> None:
        """Hold exactly these items of a source; only what differs is written."""
        with _translate(), write_transaction(self._database):
            self._replace_items(source, {_digest(item): item for item in items})
            self._set_meta(source, seen)

    def confirm(self, source: str, before: bytes, seen: bytes) -> None:
        """Remember that a source was seen again with the same content, unless another process was faster."""
        with _translate(), write_transaction(self._database):
            if self._meta(source) == before:
                self._set_meta(source, seen)

    def clear(self, embedding: Version) -> None:
        """Hold nothing, and take another embedding from now on."""
        with _translate(), write_transaction(self._database):
            for table in ("meta", "item", "signature", "vector", "words"):
                self._database.execute(f"DELETE FROM {table}")
            self._set_meta("embedding", embedding)
            self._vectors.forget()

    def search(self, query: str, limit: int) -> tuple[MemoryResult, ...]:
        """Search for the items that match a query, best first."""
        query = query[:MAX_QUERY]
        with _translate():
            size = max(CANDIDATES, limit)
            rankings = [self._match(find_significant_words(query), size)]
            if self.marker in FLOORS:
                rankings.append(self._vectors.find_near(_find_distinctive_part(query), self.marker, size))
            fused = _fuse(rankings)[:limit]
            return tuple(self._load(identity, score) for identity, score in fused)

    def _prepare(self, embedding: Version) -> None:
        self._database.execute("PRAGMA synchronous=NORMAL")
        if self._schema_version() == 0:
            self._database.execute("PRAGMA journal_mode=WAL")  # who searches does not wait for who writes
            with write_transaction(self._database):
                if self._schema_version() == 0:  # no other process was faster
                    for statement in filter(str.strip, _TABLES.split(";")):
                        self._database.execute(statement)
                    self._set_meta("embedding", embedding)
                    self._database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        if self._schema_version() != SCHEMA_VERSION:
            raise IndexUnusable(damaged=True)

    def _schema_version(self) -> int:
        version: int = self._database.execute("PRAGMA user_version").fetchone()[0]
        return version

    def _meta(self, name: str) -> Any:
        row = self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def _set_meta(self, name: str, value: bytes | int) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def _replace_items(self, source: str, items: dict[bytes, IndexedItem]) -> None:
        rows = self._database.execute("SELECT id, digest FROM item WHERE source = ?", (source,))
        held = {digest: identity for identity, digest in rows}
        removed = [(identity,) for digest, identity in held.items() if digest not in items]
        for table, name in (("item", "id"), ("signature", "id"), ("vector", "id"), ("words", "rowid")):
            self._database.executemany(f"DELETE FROM {table} WHERE {name} = ?", removed)
        new = [(digest, item) for digest, item in items.items() if digest not in held]
        first = self._database.execute("SELECT coalesce(max(id), 0) + 1 FROM item").fetchone()[0]
        self._insert(source, list(enumerate(new, first)))
        if removed or new:
            self._vectors.forget()

    def _insert(self, source: str, new: Sequence[tuple[int, tuple[bytes, IndexedItem]]]) -> None:
        execute = self._database.executemany
        encode = msgspec.json.encode
        rows = ((identity, source, digest, encode(item.metadata)) for identity, (digest, item) in new)
        execute("INSERT INTO item VALUES (?, ?, ?, ?)", rows)
        words = ((identity, item.key, item.value) for identity, (_, item) in new)
        execute("INSERT INTO words(rowid, key, value) VALUES (?, ?, ?)", words)
        texts = ((identity, f"{item.key}\n{item.value}") for identity, (_, item) in new)
        self._vectors.insert(texts, int(self._meta("embedding") or 0))

    def _match(self, words: list[str], size: int) -> list[int]:
        """The items that share words with a query, best first."""
        words = self._affordable(words)
        if not words:
            return []
        rows = self._database.execute(
            "SELECT rowid FROM words WHERE words MATCH ? AND rank MATCH 'bm25(4.0, 1.0)' ORDER BY rank LIMIT ?",
            (" OR ".join(map(_quote, words)), size),
        )
        return [identity for (identity,) in rows]

    def _affordable(self, words: list[str]) -> list[str]:
        """The rarest words of a query, as far as ranking all they match stays quick; common ones tell little."""
        count = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        matches = {word: self._database.execute(count, (_quote(word), _AFFORDABLE)).fetchone()[0] for word in words}
        chosen: list[str] = []
        for word in sorted(filter(matches.__getitem__, words), key=matches.__getitem__):
            if chosen and sum(map(matches.__getitem__, chosen)) + matches[word] > _AFFORDABLE:
                break
            chosen.append(word)
        return chosen

    def _load(self, identity: int, score: float) -> MemoryResult:
        statement = "SELECT key, value, metadata FROM words JOIN item ON item.id = words.rowid WHERE words.rowid = ?"
        key, value, metadata = self._database.execute(statement, (identity,)).fetchone()
        return MemoryResult(key, value, score, msgspec.json.decode(metadata, type=dict[str, Any] | None))


@contextmanager
def _translate() -> Iterator[None]:
    """Whatever a damaged or busy file makes SQLite or us stumble over, as one error."""
    try:
        yield
    except DatabaseError as error:
        raise IndexUnusable(damaged=not is_from_outside(error)) from error
    except OSError as error:
        raise IndexUnusable(damaged=False) from error
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise IndexUnusable(damaged=True) from error


def _fuse(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion, scaled so that the first of every ranking has 1."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, identity in enumerate(ranking):
            scores[identity] += (_FUSION + 1) / (_FUSION + 1 + rank) / len(rankings)
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))


def _find_distinctive_part(query: str) -> str:
    """A query without the words that every text has; unlike `find_significant_words` the others stay as they are
    written."""
    return " ".join(word for word in query.split() if word.lower() not in STOP_WORDS) or query


def _quote(word: str) -> str:
    return f'"{word}"'


def _digest(item: IndexedItem) -> bytes:
    return blake2b(msgspec.json.encode((item.key, item.value, item.metadata)), digest_size=16).digest()
