"""Copies of skills, agents and files as they were approved, to show what changed since."""

import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import unified_diff
from functools import partial
from typing import Literal

import msgspec
from msgspec import Struct, structs

from clawft.errors import Refused, Unreadable
from clawft.files import read_optional, read_regular, replace_file
from clawft.skills.discovery.digest import MAX_COPIED, Content, hash_content, join_digest, list_covered
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.trust.approvals import hash_bytes

MAX_LINES = 400  # of one file's difference
MAX_TEXT = 1 << 20
MAX_CHANGED = 2000  # lines of a file that are compared
MAX_COMPARED = 40_000  # lines of all files
CONTEXT = 2
RECENT_S = 3600.0
_MAX_PACKED = MAX_COPIED + (16 << 20)  # with the paths
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")

What = Literal[
    "added",
    "removed",
    "changed",
    "made executable",
    "made not executable",
    "changed and made executable",
    "changed and made not executable",
]


class FileChange(Struct, frozen=True):
    """One file that is not what it was; `diff` for what is text."""

    path: str
    what: What
    diff: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return whether all that changed is in `diff`: a remark in the place of lines stands in brackets."""
        return not any(line.startswith("(") for line in self.diff)


class ApprovedCopies:
    """Copies by digest, below one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, folder: str, digest: str) -> None:
        """Keep a skill as it is now. Raises: Refused if that is not what has the digest; OSError."""
        packed = tuple(_pack(folder))
        if _digest(packed) != digest:
            message = "The skill changed while it was looked at"
            raise Refused("skill-changed", message, path=folder, hint="Look at it again")
        if self._load(digest) is None:
            self._store(self._place(digest), msgspec.msgpack.encode(packed))

    def find(self, digest: str) -> Callable[[str], None] | None:
        """Find the copy of a digest and return the function that writes it into an empty folder; None where it was not
        stored, or is damaged."""
        packed = self._load(digest)
        return partial(_unpack, packed) if packed is not None else None

    @contextmanager
    def open(self, digest: str) -> Iterator[str | None]:
        """A folder with the copy of a digest, removed on leaving; None as for `find`. Raises: OSError."""
        write = self.find(digest)
        if write is None:
            yield None
            return
        folder = os.path.join(self._folder, f"copy-{os.urandom(8).hex()}")  # a name that a plugin can have
        os.mkdir(folder, 0o700)
        try:
            write(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def compare(self, digest: str, folder: str) -> tuple[FileChange, ...] | None:
        """Compare a skill with the copy of a digest; None where it was not stored, or is damaged."""
        packed = self._load(digest)
        if packed is None:
            return None
        before = {
            os.fsdecode(packed_file.path): _File(
                hash_content(packed_file.data), packed_file.executable, packed_file.data
            )
            for packed_file in packed
        }
        now = _list(folder)
        comparison = _Comparison()
        pairs = {path: (before.get(path), now.get(path)) for path in sorted({*before, *now})}
        # Small files first: no large one, put there for that, uses up what is compared at all.
        ordered = sorted(pairs, key=lambda path: sum(pair.content[1] for pair in pairs[path] if pair is not None))
        changes = {path: comparison.compare(path, *pairs[path]) for path in ordered}
        return tuple(one for path in pairs if (one := changes[path]) is not None)

    def find_within(self, digest: str, name: str) -> bytes | None:
        """Find one file right in the copy of a digest; None where the copy was not stored or has no such file."""
        packed = self._load(digest) or ()
        return next((file.data for file in packed if file.path == os.fsencode(name)), None)

    def digest_with(self, digest: str, name: str, content: bytes) -> str:
        """Return the digest that the copy of a digest would have with another content of one file; '' for no copy."""
        packed = self._load(digest)
        if packed is None:
            return ""
        place = os.fsencode(name)
        return _digest([structs.replace(file, data=content) if file.path == place else file for file in packed])

    def keep_file(self, content: bytes) -> None:
        """Keep one file by the digest of its bytes. Raises: OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        replace_file(self._place_file(hash_bytes(content)), content)

    def find_file(self, digest: str) -> bytes | None:
        """The file that was kept under a digest; None where it was not kept, or not kept well."""
        try:
            content = read_optional(self._place_file(digest), MAX_FILE_BYTES)
        except Unreadable:
            return None
        return content if content is not None and hash_bytes(content) == digest else None

    def compare_file(self, digest: str, name: str, content: bytes) -> FileChange | None:
        """Compare one file with the copy of a digest; None as for `find_file`."""
        before = self.find_file(digest)
        if before is None:
            return None
        files = (_File(hash_content(file_content), False, file_content) for file_content in (before, content))
        return _Comparison().compare(name, *files)

    def prune(self, used: Collection[str]) -> None:
        """Forget what no approval is bound to any more; not what is new, which may be about to get its approval."""
        wanted = {
            os.path.basename(place) for digest in used for place in (self._place(digest), self._place_file(digest))
        }
        before = time.time() - RECENT_S
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name in wanted or entry.stat(follow_symlinks=False).st_mtime >= before:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)

    def _place(self, digest: str) -> str:
        return os.path.join(self._folder, digest.removeprefix("sha256:"))

    def _place_file(self, digest: str) -> str:
        return f"{self._place(digest)}.file"

    def _store(self, place: str, content: bytes) -> None:
        """Put a copy in place at once. It need not survive a loss of power: what is torn has another digest."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        temporary = f"{place}.{os.urandom(6).hex()}.tmp"
        try:
            with open(os.open(temporary, _NEW, 0o600), "wb") as file:
                file.write(content)
            if os.path.isdir(place):
                shutil.rmtree(place)
            os.replace(temporary, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def _load(self, digest: str) -> "tuple[_Packed, ...] | None":
        """The copy, if it is there and is what it should be: it lies on a disk that others may have written to."""
        try:
            packed = _decoder.decode(read_regular(self._place(digest), _MAX_PACKED)[0])
        except (OSError, Unreadable, msgspec.MsgspecError):
            return None
        return packed if _digest(packed) == digest else None


class _Packed(Struct, frozen=True, array_like=True):
    """One file of a copy: its path below the folder, as the system has it."""

    path: bytes
    executable: bool
    data: bytes


_decoder = msgspec.msgpack.Decoder(tuple[_Packed, ...])


def _digest(packed: Sequence[_Packed]) -> str:
    return join_digest(
        (packed_file.path, packed_file.executable, hash_content(packed_file.data)) for packed_file in packed
    )


def _pack(folder: str) -> Iterator[_Packed]:
    """Yield all files that a digest covers. Raises: Refused for what is too large; OSError."""
    left = MAX_COPIED
    for relative, path, status in list_covered(folder):
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(left + 1)
        left -= len(data)
        if left < 0:
            raise Refused("skill-too-large", f"The skill has more than {MAX_COPIED} bytes", path=folder)
        yield _Packed(relative, bool(status.st_mode & 0o111), data)


def _unpack(packed: Sequence[_Packed], folder: str) -> None:
    for packed_file in packed:
        place = os.path.join(folder, os.fsdecode(packed_file.path))
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        mode = stat.S_IRUSR | (stat.S_IXUSR if packed_file.executable else 0)
        with open(os.open(place, _NEW, mode), "wb") as file:
            file.write(packed_file.data)


class _File(Struct, frozen=True):
    """One file of a skill: all of it as a hash, and its text if it is one that can be compared."""

    content: Content
    executable: bool
    data: bytes


_NONE = _File(hash_content(b""), False, b"")


def _list(folder: str) -> dict[str, _File]:
    files = {}
    for relative, path, status in list_covered(folder):
        with suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(MAX_TEXT + 1)
            content = hash_content(data)
            if len(data) > MAX_TEXT:
                file.seek(0)
                content, data = (hashlib.file_digest(file, "sha256").hexdigest().encode(), status.st_size), b""
            files[os.fsdecode(relative)] = _File(content, bool(status.st_mode & 0o111), data)
    return files


class _Comparison:
    """A comparison of files within a bounded amount of work, since their content is untrusted."""

    def __init__(self) -> None:
        self._left = MAX_COMPARED

    def compare(self, path: str, before: _File | None, now: _File | None) -> FileChange | None:
        if before is None or now is None:
            what: What = "added" if before is None else "removed"
            return FileChange(path, what, self._diff(path, before or _NONE, now or _NONE))
        same, bits = before.content == now.content, before.executable == now.executable
        made: What = "made executable" if now.executable else "made not executable"
        if same:
            return None if bits else FileChange(path, made)
        both: What = "changed and made executable" if now.executable else "changed and made not executable"
        return FileChange(path, "changed" if bits else both, self._diff(path, before, now))

    def _diff(self, path: str, before: _File, now: _File) -> tuple[str, ...]:
        """The difference of two texts; a word about what is none, or too much."""
        sizes = f"{before.content[1]} bytes before, {now.content[1]} now"
        if max(before.content[1], now.content[1]) > MAX_TEXT:
            return (f"(too large to compare: {sizes})",)
        try:
            texts = [_split(version.data.decode()) for version in (before, now)]
        except UnicodeDecodeError:
            return (f"(no text: {sizes})",)
        if b"\0" in before.data + now.data:
            return (f"(no text: {sizes})",)
        counts = f"{len(before.data.splitlines())} lines before, {len(now.data.splitlines())} now"
        start, first, second = _trim(*texts)
        self._left -= len(first) + len(second)
        if min(len(first), len(second)) > MAX_CHANGED or self._left < 0:
            return (f"(too much changed to compare: {counts})",)
        lines = [_move(line, start) for line in unified_diff(first, second, *_names(path), lineterm="", n=CONTEXT)]
        cut = [f"(and {len(lines) - MAX_LINES} lines more)"] if len(lines) > MAX_LINES else []
        return (*lines[:MAX_LINES], *cut)


def _split(text: str) -> list[str]:
    """Split a text into lines as programs see them: no other character ends one, and a missing line end is marked."""
    *lines, last = text.split("\n")
    return [*lines, last, "(no line end)"] if last else lines


def _names(path: str) -> tuple[str, str]:
    plain = "".join(char if char.isprintable() else "\ufffd" for char in path)  # a name must not make lines of its own
    return f"before/{plain}", f"now/{plain}"


def _trim(first: list[str], second: list[str]) -> tuple[int, list[str], list[str]]:
    """Two texts without what they begin and end with alike, but for some lines around; and how many were cut off."""
    shortest = min(len(first), len(second))
    start = next((n for n in range(shortest) if first[n] != second[n]), shortest)
    end = next((n for n in range(shortest - start) if first[-1 - n] != second[-1 - n]), shortest - start)
    start, end = max(0, start - CONTEXT), max(0, end - CONTEXT)
    return start, first[start : len(first) - end], second[start : len(second) - end]


def _move(line: str, by: int) -> str:
    """A line of a difference, where it names lines counted from the top of the file."""
    head = _HUNK.fullmatch(line)
    if head is None or not by:
        return line
    return f"@@ -{int(head[1]) + by}{head[2] or ''} +{int(head[3]) + by}{head[4] or ''} @@"
