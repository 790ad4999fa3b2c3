"""Read a file that may be hostile without blocking; replace files and folders atomically; lock files; encode JSON."""

import errno
import fcntl
import os
import re
import shlex
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, Unreadable

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_POLL_S = 0.01
_TEMPORARY = re.compile(r"\.[0-9a-f]{12}\.tmp")
# What the system says -> what a person can do about it; {} is the path.
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Make room on the disk: df -h {}"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Check its permissions: ls -ld {}"),
    **dict.fromkeys(
        (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS),
        "Its file system has no locks: keep the folder on a local disk, with CLAWFT_HOME",
    ),
    **dict.fromkeys(
        (errno.EIO, errno.EUCLEAN, errno.EBADMSG, errno.ESTALE),
        "The disk or its connection fails: look at the system's log (dmesg), and keep a copy of {}",
    ),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Too many files are open: end programs, or raise ulimit -n"),
    errno.EROFS: "The file system can only be read: mount it for writing, or set CLAWFT_HOME to another folder",
    **dict.fromkeys(
        (errno.ENOTDIR, errno.EEXIST), "A file is in the place of a folder. Look at it, then move it away: ls -ld {}"
    ),
    errno.EISDIR: "A folder is in the place of a file. Look at it, then move it away: ls -ld {}",
    errno.ELOOP: "A symbolic link is in its place. Look at it, then move it away: ls -ld {}",
    errno.ENOENT: "It is not there: ls -ld {}",
    errno.ENAMETOOLONG: "Use a shorter name",
    errno.EFBIG: "The file would be larger than the limit of this process: ulimit -f",
}
_ABOVE = frozenset((errno.ENOTDIR, errno.EACCES, errno.EPERM))  # which a folder above may be the cause of


class _Versioned(Struct):
    version: int = 1


def check_version(found: object, newest: int, path: str, name: str = "") -> None:
    """Refuse what a newer weft wrote: read by this one it could mean something else. `name` is for what is no file.

    What is no number is left to who reads the rest. Raises: ClawftError with code `format-newer`.
    """
    if isinstance(found, int) and found > newest:
        written = f"{name or os.path.basename(path)} was written by a newer weft"
        message = f"{written} (format {found}; this weft reads up to {newest})"
        raise ClawftError("format-newer", message, path=path, hint="Update weft, or use the weft that wrote it")


def check_json_version(data: bytes | msgspec.Raw, newest: int, path: str) -> None:
    """The same for an object of JSON, before its other fields are looked at; one without a `version` is the first."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        check_version(msgspec.json.decode(data, type=_Versioned).version, newest, path)


def real_path(path: str) -> str:
    """Resolve all links of a path; '' if the system cannot resolve it, as for endless chains of links."""
    try:
        return os.path.realpath(path)
    except (OSError, RecursionError, ValueError):
        return ""


def real_paths(paths: Iterable[str]) -> list[str]:
    """Resolve all links of several paths, each as `real_path` does."""
    return [real_path(path) for path in paths]


def is_within(path: str, root: str) -> bool:
    """Return whether an absolute, resolved path is the root or below it; never where either leads nowhere."""
    return bool(path and root) and (path == root or path.startswith(root.rstrip("/") + "/"))


def is_within_any(path: str, roots: Iterable[str]) -> bool:
    """Return whether an absolute, resolved path is one of the roots or below it."""
    return any(is_within(path, root) for root in roots)


def find_within(paths: Iterable[str], roots: Collection[str]) -> list[str]:
    """Find the paths that are one of the roots or below it."""
    return [path for path in paths if is_within_any(path, roots)]


def get_hint(error: OSError, path: str) -> str:
    """Return what the user can do about a system error with a path."""
    if error.errno in _ABOVE:
        path = find_existing(path)
    hint = _HINTS.get(error.errno or 0, "See what the system says of it: ls -ld {}")
    return hint.format(shlex.quote(path) if path else "").rstrip()


def why_damaged(data: bytes, error: Exception) -> str:
    """Say why the content of a file was not understood: what the parser said of it counts for text alone."""
    if not data.strip():
        return "it is empty"
    if not data.strip(b"\0"):
        return "it holds nothing but zeros"  # what a loss of power leaves of a file that was just written
    try:
        return "it is binary" if "\0" in data.decode() else str(error)
    except UnicodeDecodeError:
        return "it is not UTF-8"


def find_existing(path: str) -> str:
    """The path, or the first above it that is there."""
    while path not in ("", "/") and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def is_there(path: str) -> bool:
    """Return whether a file or folder exists. True also where the system denies access: reading it then raises the
    reason.

    Below a file that is in the place of its folder, something may exist; below a home folder that does not exist,
    nothing does.
    """
    try:
        os.stat(path)
    except FileNotFoundError:
        return os.path.islink(path)
    except NotADirectoryError:
        return os.path.lexists(os.path.dirname(path))
    except OSError:
        pass
    return True


def create_private(path: str) -> None:
    """Create an empty file that nobody else can read; an existing file is left unchanged. Raises: OSError.

    An existing file is not even opened: closing a file gives up every lock that the process has on it, and SQLite,
    which keeps databases whole by such locks, does not notice.
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
            hint = f"Look at it, then move it away: ls -ld {shlex.quote(path)}"
            raise Unreadable("not-a-file", "This is not a regular file", path=path, hint=hint)
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
        hint = get_hint(error, path)
        raise Unreadable("unreadable", f"The file cannot be read: {error.strerror}", path=path, hint=hint) from error
    finally:
        os.close(descriptor)


def read_optional(path: str, max_bytes: int, *, follow: bool = False) -> bytes | None:
    """Read the bytes of a regular file; None where there is none. Raises: Unreadable."""
    try:
        return read_regular(path, max_bytes, follow=follow)[0]
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_files(paths: Iterable[str], max_bytes: int, *, follow: bool = False) -> dict[str, bytes | Unreadable]:
    """Read the files that are there; for one that cannot be read, the error says why."""
    found: dict[str, bytes | Unreadable] = {}
    for path in paths:
        try:
            found[path] = read_regular(path, max_bytes, follow=follow)[0]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except Unreadable as error:
            found[path] = error
    return found


def _open(path: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(path, flags, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            hint = get_hint(error, path)
            raise Unreadable("is-a-link", "The file is a symbolic link", path=path, hint=hint) from error
        raise Unreadable(
            "unreadable", f"The file cannot be read: {error.strerror}", path=path, hint=get_hint(error, path)
        ) from error


def replace_file(path: str, content: bytes, mode: int = 0o600, commit: Callable[[], object] | None = None) -> None:
    """Put new content in place of a file, all of it or nothing; it would survive a loss of power.

    `commit` is called when the content is on the disk and only the rename is left, which needs no room: where it
    raises, nothing is replaced. What killed writers of this file left is removed. Raises: OSError, with the path.
    """
    folder, name = os.path.split(path)
    try:
        _sweep(folder, name)
        with _temporary(folder, name) as (temporary, descriptor):
            _fill(descriptor, content, mode)
            if commit is not None:
                commit()
            os.replace(temporary, path)
        sync_folder(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error  # `write` alone would name nothing


def create_file(path: str, content: bytes) -> bool:
    """Put a file where there is none, whole and at once; one that is there stays as it is. Return whether it was made.

    Raises: OSError, which names the file.
    """
    folder, name = os.path.split(path)
    made = False
    try:
        _sweep(folder, name)
        with _temporary(folder, name) as (temporary, descriptor):
            _fill(descriptor, content, 0o600)
            with suppress(FileExistsError):
                os.link(temporary, path)
                made = True
        sync_folder(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    return made


@contextmanager
def _temporary(folder: str, name: str) -> Iterator[tuple[str, int]]:
    """A new file beside another, gone at the end unless it was renamed. Its lock says that its writer lives."""
    while True:
        temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
        descriptor = os.open(temporary, _NEW, 0o600)
        try:
            with suppress(OSError):  # a file system without locks, where nothing is swept either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not os.fstat(descriptor).st_nlink:
                continue  # swept before it was locked
            yield temporary, descriptor
            return
        finally:
            with suppress(OSError):
                os.unlink(temporary)
            os.close(descriptor)


def _fill(descriptor: int, content: bytes, mode: int) -> None:
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.fchmod(descriptor, mode)
    os.fsync(descriptor)


def _sweep(folder: str, name: str) -> None:
    """Remove the temporary files of a file whose writers are gone."""
    try:
        names = os.listdir(folder)
    except OSError:  # it may be that only names that are known can be opened
        return
    for found in names:
        if not found.startswith(f".{name}.") or not _TEMPORARY.fullmatch(found, len(name) + 1):
            continue
        path = os.path.join(folder, found)
        with suppress(OSError):  # its writer is just done
            descriptor = os.open(path, _FLAGS | _NOFOLLOW)
            try:
                if lock_file(descriptor):
                    os.unlink(path)
            finally:
                os.close(descriptor)


def sync_folder(folder: str) -> None:
    """Make the names in a folder survive a loss of power, where the file system can. Raises: OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_file(descriptor: int, wait_s: float = 0, poll_s: float = _POLL_S) -> bool:
    """Return whether an open file could be locked in time; closing it lets go of the lock.

    Raises: OSError, which names the file where the system tells its name.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(poll_s)
        except OSError as error:
            raise OSError(error.errno, error.strerror, _find_path(descriptor)) from error
        else:
            return True


@contextmanager
def hold_folder(folder: str, wait_s: float, busy: ClawftError) -> Iterator[None]:
    """Lock a folder itself, so that no lock file is left behind. Raises: OSError; `busy` if it is not free in time."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not lock_file(descriptor, wait_s):
            raise busy
        yield
    finally:
        os.close(descriptor)


def _find_path(descriptor: int) -> str | None:
    """The path of an open file, on systems that tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None


NEW, REMOVED = ".new-", ".gone-"  # how hidden folders are called: what is being put together, and what is being removed
_AT_CWD, _EXCHANGE = -100, 2
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def exchange_folders(new: str, old: str) -> None:
    """Two folders trade places, without a moment in which one is missing where the system can do that."""
    import ctypes  # slow to import, and readers do not need it

    paths = (os.fsencode(new), os.fsencode(old))
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None and rename(_AT_CWD, paths[0], _AT_CWD, paths[1], _EXCHANGE) == 0:
        return
    aside = f"{new}.old"
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def remove_folder(folder: str) -> None:
    """Take a folder away: out of sight at once, then for good. Of a link only the link goes. Raises: OSError."""
    if os.path.islink(folder):
        os.unlink(folder)
        return
    hidden = os.path.join(os.path.dirname(folder), f"{REMOVED}{os.urandom(8).hex()}")
    with suppress(FileNotFoundError):
        os.rename(folder, hidden)
        remove_tree(hidden)


def remove_tree(folder: str) -> None:
    """Remove a folder with all in it; no link is followed. What lies deep is first moved up: a plugin may nest folders
    in its data deeper than any path or recursion goes. Raises: OSError."""
    top = os.open(folder, _FOLDER)
    try:
        pending, mark, numbers = _empty(top), os.urandom(8).hex(), count()
        while pending:
            name = pending.pop()
            inner = os.open(name, _FOLDER, dir_fd=top)
            try:
                for entry in _empty(inner):
                    pending.append(f".{mark}-{next(numbers)}")
                    os.rename(entry, pending[-1], src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)


def _empty(folder: int) -> list[str]:
    """Remove the files of an open folder; the folders in it. Raises: OSError."""
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name in (name for name, is_folder in listed if not is_folder):
        os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in listed if is_folder]


def encode_json(value: object) -> bytes:
    """Encode as JSON; halves of characters, as odd names of files hold them, become question marks."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(replace_surrogates(msgspec.to_builtins(value)))


def replace_surrogates(value: Any) -> Any:
    """A value with question marks for what is no Unicode in its texts."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(inner) for key, inner in value.items()}
    return [replace_surrogates(inner) for inner in value] if isinstance(value, list | tuple) else value
