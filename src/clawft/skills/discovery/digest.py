"""The digest of a skill folder, which approvals, locks and signatures are bound to, and copies verified against it."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from msgspec import Struct

from clawft.errors import Diagnostic, Refused
from clawft.files import real_path
from clawft.skills.discovery.walk import load_bytes
from clawft.skills.parse.model import LEFT_OUT, LEFT_OUT_FILES

MAX_FILES = 20_000
MAX_BYTES = 512 << 20
MAX_DEPTH = 64  # folders in folders; a walk goes no deeper
_CHUNK = 1 << 20

Content = tuple[bytes, int]  # the hex sha256 of some bytes, and how many they are


class Digest(Struct, frozen=True):
    """The digest, empty when the folder is over the limits or unreadable; and what it does not cover."""

    value: str
    diagnostics: tuple[Diagnostic, ...] = ()


def compute_digest(folder: str, contents: Mapping[str, Content] | None = None) -> Digest:
    """Hash every regular file of a folder, or the one file of a command: path, executable or not, size, content.

    `contents`: files by path that the caller has read whole, so that they are not read again.
    """
    known = contents or {}
    diagnostics: list[Diagnostic] = []
    files = _list_files(folder, diagnostics)
    linked = f"{folder}/SKILL.md"
    if any(
        diagnostic.code == "unreadable" or diagnostic.path in (linked, folder) for diagnostic in diagnostics
    ):  # it would not cover what is read
        return Digest("", tuple(diagnostics))
    total = sum(status.st_size for _, _, status in files)
    if len(files) > MAX_FILES or total > MAX_BYTES:
        message = f"The folder has {len(files)} files and {total} bytes: too much to take a digest of"
        return Digest("", (*diagnostics, Diagnostic("digest-limit", "warning", message, folder)))
    hashed: list[tuple[bytes, bool, Content]] = []
    for relative, path, status in sorted(files):
        try:
            hashed.append((relative, bool(status.st_mode & 0o111), known.get(path) or _hash_file(path)))
        except OSError as error:
            message = f"The file cannot be read, so there is no digest: {error.strerror}"
            return Digest("", (*diagnostics, Diagnostic("unreadable", "warning", message, path)))
    return Digest(join_digest(hashed), tuple(diagnostics))


def join_digest(files: Iterable[tuple[bytes, bool, Content]]) -> str:
    """The digest of files in their order: the path below the folder, whether it is executable, and what is in it."""
    whole = hashlib.sha256()
    for relative, executable, (content, size) in files:
        whole.update(b"%s\0%s\0%d\0%s\n" % (relative, b"x" if executable else b"-", size, content))
    return "sha256:" + whole.hexdigest()


def list_files(folder: str) -> tuple[str, ...]:
    """The regular files of a skill beside SKILL.md, as paths below its folder; a name that is no text is left out."""
    if not os.path.isdir(folder):  # a command
        return ()
    names = sorted(relative for relative, _, _ in _list_files(folder, []) if relative != b"SKILL.md")
    return tuple(name.decode() for name in names if _is_text(name))


def list_covered(folder: str) -> list[tuple[bytes, str, os.stat_result]]:
    """List what a digest covers: the path below the folder, the whole path and the status of every regular file."""
    return sorted(_list_files(folder, []))


def _is_text(name: bytes) -> bool:
    try:
        return name.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _list_files(folder: str, diagnostics: list[Diagnostic]) -> list[tuple[bytes, str, os.stat_result]]:
    files: list[tuple[bytes, str, os.stat_result]] = []
    pending = [(folder, "")]
    while pending and len(files) <= MAX_FILES:
        current, prefix = pending.pop()
        try:
            with os.scandir(current) as entries:
                listed = [(entry.name, entry.path, entry.stat(follow_symlinks=False)) for entry in entries]
        except NotADirectoryError:  # a command is its file alone
            listed = [(os.path.basename(current), current, os.lstat(current))]
        except OSError as error:
            diagnostics.append(
                Diagnostic("unreadable", "warning", f"The folder cannot be read: {error.strerror}", current)
            )
            continue
        for name, path, status in listed:
            if stat.S_ISDIR(status.st_mode):
                if name not in LEFT_OUT and prefix.count("/") >= MAX_DEPTH:
                    message = f"Folders lie in it more than {MAX_DEPTH} levels deep"
                    diagnostics.append(Diagnostic("unreadable", "warning", message, folder))
                elif name not in LEFT_OUT:
                    pending.append((path, f"{prefix}{name}/"))
            elif stat.S_ISREG(status.st_mode):
                if name not in LEFT_OUT_FILES:
                    files.append((os.fsencode(prefix + name), path, status))
            else:
                kind = "link" if stat.S_ISLNK(status.st_mode) else "special file"
                diagnostics.append(
                    Diagnostic("not-in-digest", "warning", f"A {kind} is not covered by the digest", path)
                )
    return files


def hash_content(data: bytes) -> Content:
    """Hash a file's bytes for the digest of its folder."""
    return hashlib.sha256(data).hexdigest().encode(), len(data)


def _hash_file(path: str) -> Content:
    """The hex sha256 of the bytes that were read, and how many they were."""
    content, size = hashlib.sha256(), 0
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        while chunk := file.read(_CHUNK):
            content.update(chunk)
            size += len(chunk)
    return content.hexdigest().encode(), size


MAX_COPIED = 128 << 20


class SnapshotReader:
    """Reads files of one skill, and takes its digest from the same bytes. `folder` is the file itself of a command."""

    def __init__(self, folder: str, known: Mapping[str, Content] | None = None) -> None:
        """Start a digest. `known` are the contents of files that were just read; a caller that relies on the digest
        later takes it again."""
        self._folder = folder
        self._contents: dict[str, Content] = dict(known or {})
        self.linked: list[str] = []  # what was read through a link, which no digest covers

    def load(self, path: str, root: str) -> tuple[bytes, os.stat_result]:
        """A file of the skill, as `load_bytes` gives it."""
        data, status = load_bytes(path, root)
        self._contents[path] = hash_content(data)
        base = self._folder if path.startswith(f"{self._folder}/") else os.path.dirname(path)
        if real_path(path) != real_path(base) + path[len(base) :]:
            self.linked.append(path)
        return data, status

    def digest(self) -> Digest:
        """The digest of the skill, as far as it was read here by what was read."""
        return compute_digest(self._folder, self._contents)


@contextmanager
def open_copy(folder: str, digest: str, below: str) -> Iterator[str]:
    """A copy of a skill, in a new folder below `below`, sure to be what has this digest; removed on leaving.

    Raises: Refused if the skill is not, or no longer, what was approved; OSError.
    """
    with open_place(below) as target:
        if not digest or copy_folder(folder, target) != digest:
            hint = "Look at it again: weft skills trust"
            raise Refused("skill-changed", "The skill changed since it was approved", path=folder, hint=hint)
        yield target


@contextmanager
def open_place(below: str) -> Iterator[str]:
    """A new private folder below `below`, removed on leaving. Raises: OSError."""
    os.makedirs(below, mode=0o700, exist_ok=True)
    target = os.path.join(below, os.urandom(8).hex())
    os.mkdir(target, 0o700)
    try:
        yield target
    finally:
        with suppress(OSError):
            shutil.rmtree(target)


def copy_folder(folder: str, target: str) -> str:
    """Copy what a digest covers into an empty folder; the digest of what was copied.

    Raises: Refused for what is too large; OSError.
    """
    copied: dict[str, Content] = {}
    made = {target}
    total = 0
    for relative, path, status in list_covered(folder):
        data = _read(path)
        total += len(data)
        if total > MAX_COPIED:
            message = f"The skill has more than {MAX_COPIED} bytes, so programs of it cannot be run"
            raise Refused("skill-too-large", message, path=folder)
        place = os.path.join(target, os.fsdecode(relative))
        if (above := os.path.dirname(place)) not in made:
            os.makedirs(above, mode=0o700, exist_ok=True)
            made.add(above)
        mode = stat.S_IRUSR | (stat.S_IXUSR if status.st_mode & 0o111 else 0)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            file.write(data)
        copied[place] = hash_content(data)
    return compute_digest(target, copied).value


def _read(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(MAX_COPIED + 1)
