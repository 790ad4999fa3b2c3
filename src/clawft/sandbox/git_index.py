"""The index of a repository that a confined program changed: only entries that a work tree can have come in."""

import hashlib
import struct
from collections.abc import Callable

from msgspec import Struct

from clawft.git import IndexEntry, list_extensions, parse_index
from clawft.sandbox.git_objects import is_plain_name

_ID_BYTES = 20
_MODES = frozenset((0o100644, 0o100755, 0o120000, 0o160000))
_GITLINK = 0o160000
_ASSUMED, _EXTENDED, _SKIPPED = 0x8000, 0x4000, 0x4000  # the last in the further flags of an extended entry
_FLAGS = struct.Struct(">H")
_STATUS = 60  # bytes from the start of an entry to its flags: its file's status, with the mode in it, and its object
_ELSEWHERE = frozenset((b"link", b"sdir"))  # the rest of the index is in another file, or in folders


class BadIndex(Exception):
    """An index that is not to come in; its text says why."""


class Index(Struct, frozen=True):
    """The entries of an index, where they end, and the bytes of it all."""

    data: bytes = b""
    entries: tuple[IndexEntry, ...] = ()
    end: int = 0

    def list_entries(self) -> list[tuple[str, int, bytes]]:
        return [(entry.path, entry.mode, entry.object_id) for entry in self.entries]

    def list_repositories(self) -> set[str]:
        """The repositories inside of this one that the index names."""
        return {entry.path for entry in self.entries if entry.mode == _GITLINK}

    def find_flags(self) -> dict[str, tuple[int, int]]:
        """The flags that hide changes of files from git, by path."""
        return {entry.path: flags for entry in self.entries if any(flags := _read_flags(self.data, entry))}

    def find_statuses(self) -> dict[str, bytes]:
        """The status and object of each file, by path: git does not look into a file of this status."""
        return {entry.path: self.data[entry.flags_at - _STATUS : entry.flags_at] for entry in self.entries}


def load_index(data: bytes | None) -> Index:
    """Raises: BadIndex."""
    if not data:
        return Index()
    if hashlib.sha1(data[:-_ID_BYTES], usedforsecurity=False).digest() != data[-_ID_BYTES:]:
        raise BadIndex("its checksum is wrong")
    try:
        entries, end = parse_index(data)
        extensions = list_extensions(data, end)
    except (ValueError, struct.error, IndexError) as error:
        raise BadIndex("it cannot be parsed") from error
    if not _ELSEWHERE.isdisjoint(extensions):
        raise BadIndex("parts of it are in another file")
    return Index(data, tuple(entries), end)


def check_index(new: Index, old: Index, is_known: Callable[[str], bool]) -> None:
    """Raises: BadIndex for an entry that git itself would not have added."""
    before = set(old.list_entries())
    for path, mode, object_id in new.list_entries():
        if (path, mode, object_id) in before:
            continue
        if not all(map(is_plain_name, path.split("/"))) or mode not in _MODES:
            raise BadIndex(f"it has the entry {path!r}")
        if mode != _GITLINK and not is_known(object_id.hex()):
            raise BadIndex(f"the content of {path!r} is missing")


def write_index(new: Index, old: Index) -> bytes:
    """The entries of an index without its extensions, which git makes anew; no file is hidden that was not before.

    A status that is not as before may be that of a file with another content: git shall look at the file.
    """
    data, hidden, statuses = bytearray(new.data[: new.end]), old.find_flags(), old.find_statuses()
    for entry in new.entries:
        start = entry.flags_at - _STATUS
        if bytes(data[start : entry.flags_at]) != statuses.get(entry.path):
            mode, object_id = data[start + 24 : start + 28], data[entry.flags_at - _ID_BYTES : entry.flags_at]
            data[start : entry.flags_at] = bytes(24) + mode + bytes(12) + object_id
        assumed, skipped = hidden.get(entry.path, (0, 0))
        (flags,) = _FLAGS.unpack_from(data, entry.flags_at)
        _FLAGS.pack_into(data, entry.flags_at, flags & ~_ASSUMED | assumed)
        if flags & _EXTENDED:
            (further,) = _FLAGS.unpack_from(data, entry.flags_at + 2)
            _FLAGS.pack_into(data, entry.flags_at + 2, further & ~_SKIPPED | skipped)
    return bytes(data) + hashlib.sha1(data, usedforsecurity=False).digest()


def _read_flags(data: bytes, entry: IndexEntry) -> tuple[int, int]:
    (flags,) = _FLAGS.unpack_from(data, entry.flags_at)
    further = _FLAGS.unpack_from(data, entry.flags_at + 2)[0] if flags & _EXTENDED else 0
    return flags & _ASSUMED, further & _SKIPPED
