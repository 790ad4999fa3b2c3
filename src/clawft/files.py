"""Read one file that may be hostile: a regular one, of bounded size, without ever blocking."""

import errno
import os
import stat

from clawft.errors import Unreadable

__all__ = ["read_regular", "real_path"]

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def real_path(path: str) -> str:
    """Where a path leads in the end; nowhere ('') if the system will not tell, as for endless chains of links."""
    try:
        return os.path.realpath(path)
    except (OSError, RecursionError, ValueError):
        return ""


def read_regular(
    path: str, max_bytes: int, *, follow: bool = False, folder: int | None = None
) -> tuple[bytes, os.stat_result]:
    """The bytes and status of a regular file; a FIFO, device or folder is refused, and a link unless `follow`.

    A relative path starts at the open folder `folder`, where one is given.

    Raises: FileNotFoundError, NotADirectoryError, Unreadable.
    """
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | _NOFOLLOW, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("is-a-link", "The file is a symbolic link", path=path) from error
        raise Unreadable(
            "unreadable", f"The file cannot be read: {error.strerror}", path=path, hint="Check its permissions"
        ) from error
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
