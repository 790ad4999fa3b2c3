"""Open files by their resolved path without following a link that appeared since the path was judged.

Each part of the path is opened from the one before it, so that no swapped link can lead elsewhere.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from clawft.errors import Unreadable
from clawft.files import read_regular
from clawft.tools.tool import ToolError

__all__ = ["open_folder", "read_file_at", "remove_file_at", "stat_at", "write_file_at"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder on the way needs the right to pass only, not to list.
_PASS = _FOLDER | getattr(os, "O_PATH", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_folder(real: str, *, create: bool = False) -> Iterator[int]:
    """A descriptor of a folder whose path has no links; missing folders are made on `create`.

    Raises: OSError, ToolError.
    """
    parts = [part for part in real.split("/") if part]
    descriptor = os.open("/", _FOLDER if not parts else _PASS)
    try:
        for index, part in enumerate(parts):
            flags = _FOLDER if index == len(parts) - 1 else _PASS
            inner = _open_part(descriptor, part, flags, create=create)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_part(folder: int, name: str, flags: int, *, create: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
        with suppress(FileExistsError):  # somebody else made it
            os.mkdir(name, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)
    except NotADirectoryError as error:
        raise ToolError("NOT_FOUND", f"'{name}' is no folder, or became a link just now") from error


def read_file_at(real: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """The bytes and status of a regular file.

    Raises: OSError, ToolError.
    """
    name = os.path.basename(real)
    with open_folder(os.path.dirname(real)) as folder:
        try:
            return read_regular(name, max_bytes, folder=folder)
        except Unreadable as error:
            raise _translate(error, name) from error


def _translate(error: Unreadable, name: str) -> ToolError:
    if error.code == "not-a-file":
        return ToolError("INVALID_PARAM", f"'{name}' is not a regular file", hint="list_directory shows folders")
    if error.code == "file-too-large":
        return ToolError("INVALID_PARAM", f"'{name}': {error}", hint="Look into it with grep")
    if error.code == "is-a-link":
        return ToolError("PERMISSION_DENIED", f"'{name}' became a link just now")
    denied = isinstance(error.__cause__, PermissionError)
    return ToolError("PERMISSION_DENIED" if denied else "EXECUTION_ERROR", f"'{name}': {error}")


def stat_at(folder: int, name: str) -> os.stat_result | None:
    """The status of what stands under a name; of a link itself."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def write_file_at(real: str, content: bytes, before: os.stat_result | None, mode: int = 0) -> None:
    """Put a whole new content in place at once, or leave all as it was. `before` is what is being replaced; a file
    that is made gets the rights `mode`, 0 for the usual ones.

    Raises: OSError, ToolError.
    """
    name = os.path.basename(real)
    with open_folder(os.path.dirname(real), create=before is None) as folder:
        temporary = f".{secrets.token_hex(8)}.tmp"
        try:
            _write_new(folder, temporary, content, stat.S_IMODE(before.st_mode) if before else mode)
            if not _same(stat_at(folder, name), before):
                raise ToolError("CONFLICT", f"'{name}' was changed meanwhile by somebody else", hint="Read it again")
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(folder, temporary)
            raise
        os.fsync(folder)


def remove_file_at(real: str, before: os.stat_result) -> None:
    """Remove a file, if it is still the one that was looked at.

    Raises: OSError, ToolError.
    """
    name = os.path.basename(real)
    with open_folder(os.path.dirname(real)) as folder:
        if not _same(stat_at(folder, name), before):
            raise ToolError("CONFLICT", f"'{name}' was changed meanwhile by somebody else")
        os.unlink(name, dir_fd=folder)


def _write_new(folder: int, name: str, content: bytes, mode: int) -> None:
    descriptor = os.open(name, _NEW, 0o600 if mode else 0o666, dir_fd=folder)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if mode:
            os.fchmod(descriptor, mode & 0o777)
        os.fsync(descriptor)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _same(now: os.stat_result | None, before: os.stat_result | None) -> bool:
    if now is None or before is None:
        return now is before
    return (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) == (
        before.st_dev,
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )
