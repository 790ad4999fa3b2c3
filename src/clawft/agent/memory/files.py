"""The default memory: facts in MEMORY.md, events in HISTORY.md, limits on both, and the index that follows them."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from typing import TypeVar

import msgspec
from msgspec import Struct

from clawft.agent.memory.disk import (
    FileStamp,
    append_file,
    check_folder,
    load_text,
    lock_folder,
    replace_text,
    stamp_of,
)
from clawft.agent.memory.document import (
    MemoryEntry,
    delete_entry,
    find_entry,
    parse_entries,
    parse_history,
    parse_notes,
    render_history,
    store_entry,
)
from clawft.agent.memory.index import IndexedItem, IndexUnusable, MemoryIndex
from clawft.agent.memory.vectors import FLOORS, Version
from clawft.config.agents import MemorySettings
from clawft.contracts import MemoryResult, Metadata
from clawft.errors import ClawftError, Diagnostic
from clawft.files import get_hint
from clawft.workspace import Workspace

MAX_KEY_CHARS = 200
MAX_VALUE_BYTES = 64 << 10
PLACE = re.compile(r"(?:MEMORY|HISTORY)\.md:\d+")  # how search names what has no key
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def check_key(key: str) -> str:
    """The key as it is written. Raises: ClawftError."""
    key = key.strip()
    hint = f"Use one line of at most {MAX_KEY_CHARS} characters, as in 'editor' or 'project/deploy'"
    if not key or len(key) > MAX_KEY_CHARS or "\n" in key or "\t" in key or _CONTROL.search(key):
        raise ClawftError("memory-key", "This cannot be the key of a memory", hint=hint)
    if PLACE.fullmatch(key):
        raise ClawftError("memory-key", f"'{key}' names a place in a file, not a key", hint=hint)
    return key


def clean_text(text: str) -> str:
    """A text in which control characters are made visible."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def check_text(text: str) -> str:
    """The text as it is written. Raises: ClawftError."""
    text = text.replace("\r\n", "\n").strip()
    if _CONTROL.search(text):
        hint = "Leave out control characters, such as colours of a terminal"
        raise ClawftError("memory-text", "The text has characters that are no text", hint=hint)
    check_size(text)
    return text


def check_size(text: str) -> None:
    """Raises: ClawftError."""
    size = len(text.encode("utf-8", "surrogateescape"))
    if size > MAX_VALUE_BYTES:
        message = f"The text has {size} bytes; {MAX_VALUE_BYTES} is the limit"
        raise ClawftError("memory-too-large", message, hint="Keep what matters, or spread it over several keys")


def check_metadata(metadata: Metadata | None) -> dict[str, object] | None:
    """The metadata as it is kept. Raises: ClawftError."""
    try:
        encoded = msgspec.json.encode(dict(metadata or {}))
        decoded: dict[str, object] = msgspec.json.decode(encoded)
    except (TypeError, ValueError, RecursionError) as error:
        raise ClawftError(
            "memory-text", f"The metadata is not JSON: {error}", hint="Use strings and numbers"
        ) from error
    if len(encoded) > MAX_VALUE_BYTES:
        raise ClawftError("memory-too-large", f"The metadata has {len(encoded)} bytes", hint="Keep what matters")
    return decoded or None


MEMORY, HISTORY, INDEX = "MEMORY.md", "HISTORY.md", "index.sqlite"
SETTLE_NS = 1_000_000_000
_TITLE = "# Memory\n\n<!-- A line `## key` begins a fact. Edit freely: what you write is kept. -->\n"
T = TypeVar("T")


class Reindexed(Struct, frozen=True):
    """The content of the index after it was rebuilt."""

    entries: int
    embedding: int


class _Seen(Struct, frozen=True):
    """The state of a file when it was last read. If not `settled`, it may have changed again within the same tick."""

    stamp: FileStamp = FileStamp()
    settled: bool = False
    digest: bytes = b""


class MemoryFiles:
    """Memory in one folder, which is made when something is stored. Any number of processes may share it."""

    name = "files"

    def __init__(self, folder: str, settings: MemorySettings = MemorySettings()) -> None:  # noqa: B008  (frozen)
        self.folder = folder
        self._embedding: Version = settings.embedding  # of an index that is made; one that exists keeps its own
        self._index: MemoryIndex | None = None
        self._guard = threading.Lock()

    def close(self) -> None:
        """Let go of the index; the next search opens it again."""
        with self._guard:
            self._drop()

    @property
    def is_empty(self) -> bool:
        """Return whether neither file holds anything. Raises: Unreadable for a folder that cannot be read."""
        check_folder(self.folder)
        return not any(stamp_of(self._path(name)).size for name in (MEMORY, HISTORY))

    def store(self, key: str, value: str, metadata: Metadata | None = None) -> None:
        """Keep a value; one that was there is replaced. Raises: ClawftError."""
        entry = MemoryEntry(check_key(key), check_text(value), check_metadata(metadata))
        self._change(lambda text: store_entry(text or _TITLE, entry))

    def append(self, key: str, value: str) -> None:
        """Add a paragraph to a value, or begin one. Raises: ClawftError."""
        key, value = check_key(key), check_text(value)

        def change(text: str) -> str:
            old = find_entry(text, key) or MemoryEntry(key, "")
            joined = "\n\n".join(filter(None, (old.value, value)))
            check_size(joined)
            return store_entry(text or _TITLE, MemoryEntry(key, joined, old.metadata))

        self._change(change)

    def delete(self, key: str) -> bool:
        """Forget a key; whether there was one. Raises: ClawftError."""
        if find_entry(self.read_memory(), key.strip()) is None:
            return False
        return self._change(lambda text: delete_entry(text, key.strip()))

    def retrieve(self, key: str) -> str | None:
        """The value of a key, or the text at a place that search named (`HISTORY.md:12`). Raises: ClawftError."""
        entry = find_entry(self.read_memory(), key.strip())
        if entry is None and PLACE.fullmatch(key):
            name = key.partition(":")[0]
            items = _parse_items(name, load_text(self._path(name)))
            return next((item.value for item in items if item.key == key), None)
        return None if entry is None else entry.value

    def list_keys(self, prefix: str = "") -> tuple[str, ...]:
        """Every key that begins with `prefix`, in the order they stand. Raises: ClawftError."""
        return tuple(entry.key for entry in self.load_entries() if entry.key.startswith(prefix))

    def read_memory(self) -> str:
        """MEMORY.md as it stands, '' if there is none. Raises: ClawftError."""
        return load_text(self._path(MEMORY))

    def load_entries(self) -> tuple[MemoryEntry, ...]:
        """Every fact. Raises: ClawftError."""
        return parse_entries(self.read_memory())

    def append_history(self, text: str, session: str, at: datetime) -> None:
        """Add to what happened; control characters do not keep it from being told.

        A history of 8 MB is set aside as HISTORY-1.md, and search does not look there. Raises: ClawftError.
        """
        rendered = render_history(check_text(clean_text(text)), session, at)
        with lock_folder(self.folder):
            append_file(self._path(HISTORY), rendered)

    def search(self, query: str, limit: int = 10) -> tuple[MemoryResult, ...]:
        """Facts, notes and history that fit a query, best first. Raises: ClawftError."""
        if limit < 1 or self.is_empty:
            return ()
        return self._use(lambda index: index.search(query, limit))

    def reindex(self) -> Reindexed:
        """Make the index anew, with the embedding that is configured. Raises: ClawftError."""
        if not os.path.isdir(self.folder):
            return Reindexed(0, self._embedding)

        def work(index: MemoryIndex) -> Reindexed:
            index.clear(self._embedding)
            self._sync(index)
            return Reindexed(index.count, index.marker)

        try:
            with self._guard:
                self._drop()  # it may be one in memory
                return self._work_on_disk(work)
        except IndexUnusable as error:
            message = "The index is in use by another process, or cannot be written"
            cause = error.__cause__
            hint = get_hint(cause, self.folder) if isinstance(cause, OSError) else "Try again when it is done"
            raise ClawftError("memory-busy", message, path=self._path(INDEX), hint=hint) from error

    def check_files(self) -> tuple[Diagnostic, ...]:
        """Check the files for damage; damaged files are still read as far as possible. Raises: ClawftError."""
        check_folder(self.folder)
        texts = {name: load_text(self._path(name), "surrogateescape") for name in (MEMORY, HISTORY)}
        hint = "Restore it from a backup; or move it away, and what is remembered in it is lost"
        return tuple(
            Diagnostic("memory-damaged", "error", f"{name} is damaged: it is no text", self._path(name), 0, hint)
            for name, text in texts.items()
            if "\0" in text or (not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text))
        )

    def check_index(self) -> tuple[Diagnostic, ...]:
        """Check the index for problems that search cannot repair by itself. Raises: ClawftError."""
        if not os.path.exists(self._path(INDEX)):
            return ()
        marker = self._use(lambda index: index.marker)
        if marker in FLOORS:
            return ()
        message = f"The index of the memory has vectors of version {marker}, which cannot be compared; words still are"
        return (
            Diagnostic("memory-embedding-old", "warning", message, self._path(INDEX), 0, "Run: weft memory reindex"),
        )

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _change(self, change: Callable[[str], str]) -> bool:
        """Replace MEMORY.md by what `change` makes of it; whether that differs."""
        path = self._path(MEMORY)
        with lock_folder(self.folder):
            before = load_text(path, "surrogateescape")
            after = change(before)
            if after != before:
                replace_text(path, after)
        return after != before

    def _use(self, work: Callable[[MemoryIndex], T]) -> T:
        """Work on the index; on one in memory where the file is in use or its folder cannot be written."""
        with self._guard:
            with suppress(IndexUnusable):
                return self._work_on_disk(work)
            return self._work_on(":memory:", work)

    def _work_on_disk(self, work: Callable[[MemoryIndex], T]) -> T:
        """Work on the index; a damaged one is made anew first."""
        try:
            return self._work_on(self._path(INDEX), work)
        except IndexUnusable as error:
            if not error.damaged:
                raise
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(self._path(INDEX) + ending)
        return self._work_on(self._path(INDEX), work)

    def _work_on(self, path: str, work: Callable[[MemoryIndex], T]) -> T:
        """Work on the open index, or on that of a path."""
        try:
            if self._index is None:
                self._index = MemoryIndex(path, self._embedding)
            self._sync(self._index)
            return work(self._index)
        except IndexUnusable:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def _sync(self, index: MemoryIndex) -> None:
        """Bring the index up to date with the files."""
        for name in (MEMORY, HISTORY):
            stamp, before = stamp_of(self._path(name)), index.seen(name)
            seen = _parse_seen(before)
            if seen.settled and seen.stamp == stamp:
                continue
            settled = stamp.ctime_ns < time.time_ns() - SETTLE_NS
            text = load_text(self._path(name))
            now = _Seen(stamp, settled, blake2b(text.encode(), digest_size=16).digest())
            if now.digest != seen.digest:
                index.update(name, msgspec.msgpack.encode(now), _parse_items(name, text))
            elif now != seen:
                index.confirm(name, before, msgspec.msgpack.encode(now))


def open_memory(workspace: Workspace, settings: MemorySettings) -> MemoryFiles:
    """The user's memory."""
    return MemoryFiles(os.path.join(workspace.user_dir, "memory"), settings)


def _parse_seen(content: bytes) -> _Seen:
    try:
        return msgspec.msgpack.decode(content, type=_Seen)
    except msgspec.DecodeError:
        return _Seen()  # never read, or damaged


def _parse_items(name: str, text: str) -> Iterator[IndexedItem]:
    """Parse the searchable items of a file."""
    if name == HISTORY:
        for past in parse_history(text):
            facts = {"date": past.date, "session": past.session} if past.date else None
            yield IndexedItem(f"{HISTORY}:{past.line}", past.text, facts)
        return
    for entry in parse_entries(text):
        yield IndexedItem(entry.key, entry.value, entry.metadata)
    for note in parse_notes(text):
        yield IndexedItem(f"{MEMORY}:{note.line}", note.text)
