"""Read one file that may be hostile, without ever blocking; replace one at once; take turns with other processes."""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress

from clawft.errors import Unreadable

__all__ = [
    "create_private",
    "is_within",
    "lock_file",
    "read_optional",
    "read_regular",
    "real_path",
    "replace_file",
    "sync_folder",
]

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_POLL_S = 0.01


def real_path(path: str) -> str:
    """Where a path leads in the end; nowhere ('') if the system will not tell, as for endless chains of links."""
    try:
        return os.path.realpath(path)
    except (OSError, RecursionError, ValueError):
        return ""


def is_within(path: str, root: str) -> bool:
    """Whether an absolute, resolved path is the root or below it; never where either leads nowhere."""
    return bool(path and root) and (path == root or path.startswith(root.rstrip("/") + "/"))


def create_private(path: str) -> None:
    """Make an empty file that nobody else can read, unless there is one, of which nothing is changed. Raises: OSError.

    One that is there is not even opened: whoever closes a file gives up every lock that their process has on it, and
    SQLite, which keeps databases whole by such locks, does not notice.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, _NEW, 0o600))


def read_regular(
    path: str, max_bytes: int, *, follow: bool = False, folder: int | None = None
) -> tuple[bytes, os.stat_result]:
    """The bytes and status of a regular file; a FIFO, device or folder is refused, and a link unless `follow`.

    A relative path starts at the open folder `folder`, where one is given.

    Raises: FileNotFoundError, NotADirectoryError, Unreadable.
    """
    descriptor = _open(path, _FLAGS if follow else _FLAGS | _NOFOLLOW, folder)
    try:
        status = os.fstat(descriptor)
        if stat.S_IFMT(status.st_mode) != stat.S_IFREG:
            raise Unreadable(
                "not-a-file", "This is not a regular file", path=path, hint="Replace it by a plain text file"
            )
        size = status.st_size
        if size > max_bytes:
            raise Unreadable(
                "file-too-large",
                f"The file has {size} bytes; {max_bytes} is the limit",
                path=path,
                hint="Move detail into reference files",
            )
        data = os.read(descriptor, size + 1)
        while len(data) < size and (more := os.read(descriptor, size - len(data))):
            data += more
        return data, status
    except OSError as error:
        raise Unreadable("unreadable", f"The file cannot be read: {error.strerror}", path=path) from error
    finally:
        os.close(descriptor)


def read_optional(path: str, max_bytes: int, *, follow: bool = False) -> bytes | None:
    """The bytes of a regular file; None where there is none (R106). Raises: Unreadable."""
    try:
        return read_regular(path, max_bytes, follow=follow)[0]
    except (FileNotFoundError, NotADirectoryError):
        return None


def _open(path: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(path, flags, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("is-a-link", "The file is a symbolic link", path=path) from error
        raise Unreadable(
            "unreadable", f"The file cannot be read: {error.strerror}", path=path, hint="Check its permissions"
        ) from error


def replace_file(path: str, content: bytes, mode: int = 0o600) -> None:
    """Put new content in place of a file, all of it or nothing; it would survive a loss of power. Raises: OSError."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Make the names in a folder survive a loss of power, where the file system can. Raises: OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_file(descriptor: int, wait_s: float = 0, poll_s: float = _POLL_S) -> bool:
    """Whether an open file could be locked in time; closing it lets go of the lock. Raises: OSError."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(poll_s)
        else:
            return True
