"""Files of a memory: read whole, replaced at once, appended to at the end; one writer at a time."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Literal

from msgspec import Struct

from clawft.errors import ClawftError, Unreadable
from clawft.files import get_hint, is_there, lock_file, read_regular, replace_file, sync_folder

MAX_FILE_BYTES = 8 << 20
LOCK_WAIT_S = 10.0
# O_NONBLOCK: to open a FIFO that stands in the place of a file must not wait for its other end.
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FileStamp(Struct, frozen=True):
    """The metadata of a file that tells whether it changed, without reading it. All zero: there is no file."""

    mtime_ns: int = 0
    ctime_ns: int = 0
    size: int = 0
    inode: int = 0


def stamp_of(path: str) -> FileStamp:
    """The stamp of a file; that of no file if the system will not tell."""
    try:
        status = os.stat(path)
    except OSError:
        return FileStamp()
    return FileStamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def load_text(path: str, errors: Literal["replace", "surrogateescape"] = "replace") -> str:
    """The text of a file, '' if there is none; who writes it back keeps what is no UTF-8 by `surrogateescape`.

    Raises: ClawftError.
    """
    try:
        return read_regular(path, MAX_FILE_BYTES)[0].decode("utf-8", errors)
    except (FileNotFoundError, NotADirectoryError):
        check_folder(os.path.dirname(path))
        return ""
    except Unreadable:
        check_folder(os.path.dirname(path))
        raise


def check_folder(folder: str) -> None:
    """Say why a folder cannot be read; one that is not there is empty. Raises: Unreadable."""
    try:
        if is_there(folder):
            os.scandir(folder).close()
    except OSError as error:
        message = f"The memory cannot be read: {error.strerror}"
        raise Unreadable("unreadable", message, path=folder, hint=get_hint(error, folder)) from error


@contextmanager
def lock_folder(folder: str) -> Iterator[None]:
    """Hold the folder, which is made if need be, against other writers in any process. Raises: ClawftError."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(folder, ".lock"), _CREATE, 0o600)
    except OSError as error:
        raise _failed(folder, error) from error
    try:
        _wait_for(descriptor, folder)
        yield
    finally:
        os.close(descriptor)  # this also lets go of the lock


def replace_text(path: str, text: str) -> None:
    """Put a new text in place of a file, all of it or nothing; the folder is locked. Raises: ClawftError."""
    content = text.encode("utf-8", "surrogateescape")
    _check_size(path, len(content))
    try:
        replace_file(path, content)
    except OSError as error:
        raise _failed(path, error) from error


def append_file(path: str, text: str) -> None:
    """Add lines at the end of a file; the folder is locked. A file that is full is set aside, and another begun.

    Raises: ClawftError.
    """
    content = text.encode("utf-8", "surrogateescape")
    try:
        if stamp_of(path).size + len(content) > MAX_FILE_BYTES:
            os.rename(path, _find_free(path))
        descriptor = os.open(path, _APPEND, 0o600)
        try:
            _append(descriptor, content)
        finally:
            os.close(descriptor)
        sync_folder(os.path.dirname(path))
    except OSError as error:
        raise _failed(path, error) from error


def _find_free(path: str) -> str:
    """`HISTORY-1.md` for `HISTORY.md`, or the next number that is free."""
    stem, ending = os.path.splitext(path)
    return next(name for number in count(1) if not os.path.lexists(name := f"{stem}-{number}{ending}"))


def _append(descriptor: int, content: bytes) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
        content = b"\n" + content  # a person's editor, or a crash, left a line open
    _write(descriptor, content)


def _wait_for(descriptor: int, folder: str) -> None:
    try:
        locked = lock_file(descriptor, LOCK_WAIT_S)
    except OSError as error:
        raise _failed(folder, error) from error
    if not locked:
        raise ClawftError(
            "memory-busy",
            f"Another process has held the memory for {LOCK_WAIT_S:g} seconds",
            path=folder,
            hint="Try again; if that does not help, end the process that holds it",
        )


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _check_size(path: str, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise ClawftError(
            "memory-too-large",
            f"The file would have {size} bytes; {MAX_FILE_BYTES} is the limit",
            path=path,
            hint="Delete what is no longer true, or move old parts into another file",
        )


def _failed(path: str, error: OSError) -> ClawftError:
    message = f"The memory cannot be written: {error.strerror}"
    return ClawftError("memory-unwritable", message, path=path, hint=get_hint(error, path))
