"""A folder against what its lock says, file by file. Nothing is read that the lock does not name in this size."""

import hashlib
import os
import stat
from collections.abc import Collection, Mapping

from msgspec import Struct

from clawft.install.lockfile.model import LockedFile
from clawft.skills.parse.model import LEFT_OUT, LEFT_OUT_FILES

MAX_FILES = 20_000
MAX_DEPTH = 64  # folders in folders

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_CHUNK = 1 << 20
_KIND, _REGULAR = 0o170000, 0o100000


class FolderDifference(Struct, frozen=True, omit_defaults=True):
    """The differences between a folder and what was installed, as paths below the folder. `is_absent`: there is no such
    folder."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    is_absent: bool = False
    why: str = ""  # the folder could not be looked at whole

    @property
    def any(self) -> bool:
        return self != SAME


SAME = FolderDifference()


def compare_folder(folder: str, files: Mapping[str, LockedFile]) -> FolderDifference:
    """Compare a folder with the files that were installed. A link in place of the folder is not followed: it is not
    what was installed."""
    try:
        top = os.open(folder, _FOLDER)
    except OSError as error:
        missing = tuple(sorted(files))
        if not os.path.lexists(folder):
            return FolderDifference(is_absent=True, missing=missing)
        is_folder = os.path.isdir(folder) and not os.path.islink(folder)
        return FolderDifference(missing=missing, why=str(error.strerror) if is_folder else "it is a link or a file")
    look = _Look(files)
    try:
        look.walk(top, "")
    except OSError as error:
        look.why = f"{error.filename or ''} cannot be read: {error.strerror}".strip()
    finally:
        os.close(top)
    if len(look.seen) == len(files) and not (look.changed or look.extra or look.why):
        return SAME
    missing = tuple(sorted(files.keys() - look.seen))
    return FolderDifference(tuple(sorted(look.changed)), missing, tuple(sorted(look.extra)), why=look.why)


def is_untouched(folder: str, lines: Collection[str], digest: str) -> bool:
    """Return whether a folder has just the files that a lock names, told quickly: most have.

    `lines` are those of the lock. False means only that it must be looked at by `compare_folder`.
    """
    wanted = frozenset(lines)
    found: list[bytes] = []
    try:
        top = os.open(folder, _FOLDER)
        try:
            same = _gather(top, "", wanted, found)
        finally:
            os.close(top)
    except OSError:
        return False
    found.sort()
    return (
        same
        and len(found) == len(wanted) == len(lines)
        and hashlib.sha256(b"".join(found)).hexdigest() == digest.removeprefix("sha256:")
    )


def _gather(folder: int, prefix: str, wanted: frozenset[str], found: list[bytes]) -> bool:
    """Add what the digest takes in of each file, while all are as wanted. Raises: OSError."""
    with os.scandir(folder) as scanned:
        entries = list(scanned)
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            if name in LEFT_OUT:
                continue
            if prefix.count("/") >= MAX_DEPTH:
                return False
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                if not _gather(inner, f"{prefix}{name}/", wanted, found):
                    return False
            finally:
                os.close(inner)
        elif name not in LEFT_OUT_FILES:
            descriptor = os.open(name, _FILE, dir_fd=folder)
            try:
                status = os.fstat(descriptor)
                size, mode = status.st_size, status.st_mode
                if size > _CHUNK or mode & _KIND != _REGULAR:
                    return False
                content = hashlib.sha256(os.read(descriptor, size + 1)).hexdigest()
            finally:
                os.close(descriptor)
            path, flag = prefix + name, "x" if mode & 0o111 else "-"
            if f"{content} {size} {flag} {path}" not in wanted:
                return False
            found.append(f"{path}\0{flag}\0{size}\0{content}\n".encode())
    return len(found) <= len(wanted)


class _Look:
    """One walk through a folder, by descriptors: what is exchanged meanwhile leads nowhere else."""

    def __init__(self, files: Mapping[str, LockedFile]) -> None:
        self._files = files
        self.seen: set[str] = set()
        self.changed: list[str] = []
        self.extra: list[str] = []
        self.why = ""

    def walk(self, folder: int, prefix: str) -> None:
        """Raises: OSError."""
        with os.scandir(folder) as scanned:
            entries = list(scanned)
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in LEFT_OUT:
                    self._enter(folder, name, prefix)
            elif name not in LEFT_OUT_FILES:
                self._take(folder, name, prefix + name)

    def _enter(self, folder: int, name: str, prefix: str) -> None:
        if prefix.count("/") >= MAX_DEPTH or len(self.extra) > MAX_FILES:
            self.why = "it has too many files, or too deep folders"
            return
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            self.walk(inner, f"{prefix}{name}/")
        finally:
            os.close(inner)

    def _take(self, folder: int, name: str, path: str) -> None:
        locked = self._files.get(path)
        if locked is None:
            self.extra.append(path)
            return
        self.seen.add(path)
        if not _is_same(folder, name, locked):
            self.changed.append(path)


def _is_same(folder: int, name: str, locked: LockedFile) -> bool:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError:  # a link, or nothing that may be read
        return False
    try:
        status = os.fstat(descriptor)
        size = locked.size
        if status.st_size != size or not stat.S_ISREG(status.st_mode):
            return False
        if bool(status.st_mode & 0o111) != locked.executable:
            return False
        if size <= _CHUNK:
            return hashlib.sha256(os.read(descriptor, size + 1)).hexdigest() == locked.sha256
        return _hash_large(descriptor) == locked.sha256
    finally:
        os.close(descriptor)


def _hash_large(descriptor: int) -> str:
    content = hashlib.sha256()
    while piece := os.read(descriptor, _CHUNK):
        content.update(piece)
    return content.hexdigest()
