"""A folder whose files are read and written through descriptors, so that no link in it is ever followed."""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from clawft.files import read_regular
from clawft.sandbox.landlock_launcher import open_plain

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_S = 3.0  # as long as another program may take to change one file
_POLL_S = 0.02
FileMark = tuple[int, int, int, int, int]


def mark_of(status: os.stat_result) -> FileMark:
    """Return what differs after a file was changed."""
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class TreeFull(Exception):
    """A folder holds more than is looked through."""


class PlainTree:
    """Paths are relative to the folder, with `/` between their parts. As root, what is made belongs to its owner."""

    def __init__(self, path: str) -> None:
        """Raises: OSError, also where a link leads to it."""
        place = open_plain(path)
        try:
            self._root = os.open(".", _FOLDER & ~os.O_NOFOLLOW, dir_fd=place)
        finally:
            os.close(place)
        self.path = path
        self._status = os.fstat(self._root)

    def __enter__(self) -> "PlainTree":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    @contextmanager
    def folder(self, path: str, *, make: bool = False) -> Iterator[int]:
        """Open a folder of the tree; `make` it, and those above, where it is missing. Raises: OSError."""
        descriptor = os.dup(self._root)
        try:
            for part in filter(None, path.split("/")):
                if make:
                    self._make(part, descriptor)
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _make(self, name: str, folder: int) -> None:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            if os.geteuid() == 0:
                os.chown(name, self._status.st_uid, self._status.st_gid, dir_fd=folder, follow_symlinks=False)

    def read(self, path: str, max_bytes: int) -> tuple[bytes, FileMark]:
        """Read a regular file. Raises: OSError; Unreadable, also for one that is too large."""
        above, _, name = path.rpartition("/")
        with self.folder(above) as folder:
            data, status = read_regular(name, max_bytes, folder=folder)
        return data, mark_of(status)

    def find(self, path: str, max_bytes: int) -> bytes | None:
        """Read a regular file; None where there is none. Raises: OSError; Unreadable."""
        try:
            return self.read(path, max_bytes)[0]
        except (FileNotFoundError, NotADirectoryError):
            return None

    def find_mark(self, path: str) -> FileMark | None:
        """The mark of what is there, a link too; None where nothing is. Raises: OSError."""
        above, _, name = path.rpartition("/")
        try:
            with self.folder(above) as folder:
                return mark_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def list(self, skip: Callable[[str], bool], max_entries: int, top: str = "") -> dict[str, FileMark]:
        """List all below a folder that is not skipped, in the order of a walk, the folders among it.

        Raises: OSError; TreeFull.
        """
        found: dict[str, FileMark] = {}
        pending = [top]
        while pending:
            path = pending.pop()
            with self.folder(path) as folder, os.scandir(folder) as entries:
                for entry in entries:
                    inner = f"{path}/{entry.name}" if path else entry.name
                    if skip(inner):
                        continue
                    found[inner] = mark = mark_of(entry.stat(follow_symlinks=False))
                    if stat.S_ISDIR(mark[0]):
                        pending.append(inner)
                    if len(found) > max_entries:
                        raise TreeFull(self.path)
        return found

    def add(self, path: str, content: bytes, mode: int = 0o666) -> None:
        """Put a file where there is none; one that is there stays. Raises: OSError."""
        above, _, name = path.rpartition("/")
        with self.folder(above, make=True) as folder:
            temporary = f"tmp_obj_{os.urandom(6).hex()}"
            try:
                self._write(temporary, folder, content, mode)
                with suppress(FileExistsError):
                    os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)

    def _write(self, name: str, folder: int, content: bytes, mode: int) -> None:
        descriptor = os.open(name, _NEW, mode, dir_fd=folder)
        with open(descriptor, "wb") as file:
            file.write(content)
            if os.geteuid() == 0:
                os.fchown(descriptor, self._status.st_uid, self._status.st_gid)

    @contextmanager
    def locked(self, path: str, mode: int = 0o666, *, ending: str = ".lock") -> Iterator["LockedPath"]:
        """Lock a file as git does, by a new file with `ending` beside it. Raises: OSError, where another has it."""
        above, _, name = path.rpartition("/")
        lock = name + ending
        with self.folder(above, make=True) as folder:
            until = time.monotonic() + _LOCK_S
            while True:
                try:
                    self._write(lock, folder, b"", mode)
                    break
                except FileExistsError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(_POLL_S)
            try:
                yield LockedPath(folder, name, lock)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(lock, dir_fd=folder)

    def prune(self, path: str) -> None:
        """Remove the folders above what was removed that are empty now, but for those at the top of the tree."""
        above = path.rpartition("/")[0]
        with suppress(OSError):
            while above.count("/") > 1:
                above, _, name = above.rpartition("/")
                with self.folder(above) as folder:
                    os.rmdir(name, dir_fd=folder)

    def rename(self, old: str, new: str) -> None:
        """Give a path another name in its folder, which is its last part. Raises: OSError."""
        above, _, name = old.rpartition("/")
        with self.folder(above) as folder:
            os.rename(name, new.rpartition("/")[2], src_dir_fd=folder, dst_dir_fd=folder)

    def rename_aside(self, path: str) -> str:
        """Give a path a name that no program looks for; that name. Raises: OSError."""
        name = f"{path.rpartition('/')[2]}.held-{os.urandom(4).hex()}"
        self.rename(path, name)
        return name

    def remove_empty(self, path: str) -> None:
        """Remove a folder if it is there and empty."""
        above, _, name = path.rpartition("/")
        with suppress(OSError), self.folder(above) as folder:
            os.rmdir(name, dir_fd=folder)


class LockedPath:
    """A file while it is locked: nobody who locks it too changes it."""

    def __init__(self, folder: int, name: str, lock: str) -> None:
        self._folder, self._name, self._lock = folder, name, lock

    def read(self, max_bytes: int) -> bytes | None:
        """Read it; None where it is not there. Raises: OSError; Unreadable."""
        try:
            return read_regular(self._name, max_bytes, folder=self._folder)[0]
        except FileNotFoundError:
            return None

    def replace(self, content: bytes) -> None:
        """Put new content in its place, at once. Raises: OSError."""
        descriptor = os.open(self._lock, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.rename(self._lock, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self) -> None:
        """Raises: OSError."""
        os.unlink(self._name, dir_fd=self._folder)


def lock_exclusively(path: str) -> int:
    """Open a file and lock it; -1 where another process has it. Raises: OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return -1
    return descriptor
