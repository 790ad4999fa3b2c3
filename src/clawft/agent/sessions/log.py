"""One append-only file of lines: its lock, its torn end, and writing that survives a crash."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256

import msgspec
from msgspec import Struct

from clawft.agent.sessions.record import decode_line
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import get_hint, lock_file, sync_folder

MAX_BYTES = 1 << 30  # of a file that is read whole
TORN = ".torn"
ADDING = ".adding"
_NOTE_BYTES = 1 << 12
_FIRST_TAIL = 1 << 18
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_WRITE = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_NOTE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_ATTEMPTS = 20


class _Adding(Struct, frozen=True):
    """Beside a file while many lines are added to it: where they begin, and which they are."""

    start: int
    length: int
    sha256: str


def open_regular(path: str, flags: int = _READ) -> int:
    """A descriptor of a regular file that only its owner can read. Raises: FileNotFoundError, Unreadable."""
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unreadable(path, OSError(errno.EISDIR, "It is not a regular file"))
    return descriptor


def read_range(descriptor: int, start: int, end: int, path: str) -> bytes:
    """The bytes of a part of a file, as far as they are there. Raises: Unreadable."""
    if end - start > MAX_BYTES:
        message = f"{end - start} bytes would have to be read; {MAX_BYTES} is the limit"
        raise Unreadable("file-too-large", message, path=path, hint="Start another session")
    parts = []
    try:
        while start < end and (part := os.pread(descriptor, end - start, start)):
            parts.append(part)
            start += len(part)
    except OSError as error:
        raise _unreadable(path, error) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_tails(descriptor: int, size: int, path: str) -> Iterator[tuple[bytes, bool]]:
    """Ever longer ends of a file, each from the start of a line; True comes with the whole of it."""
    length = _FIRST_TAIL
    while length < size:
        data = read_range(descriptor, size - length, size, path)
        yield data[data.find(b"\n") + 1 :] if b"\n" in data else b"", False
        length *= 8
    yield read_range(descriptor, 0, size, path), True


def find_end(descriptor: int, path: str) -> int:
    """Find how many bytes of a file are final: whole lines, even while another process adds to them. Raises:
    Unreadable."""
    size = os.fstat(descriptor).st_size  # before the note is looked for: it is made before the file grows
    adding = _load_note(path)
    if adding and not _is_added(adding, descriptor, path):
        size = min(size, adding.start)
    for data, whole in read_tails(descriptor, size, path):
        if whole or b"\n" in data:
            return size - len(data) + data.rfind(b"\n") + 1
    return 0


class SessionLog:
    """A file that this process alone may write. Made by `open_log`."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def append(self, lines: bytes) -> None:
        """Write whole lines at the end, or nothing of them. Raises: ClawftError."""
        before = self.size
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except BaseException as error:  # an interrupt too must leave whole lines only
            os.ftruncate(self.descriptor, before)
            if isinstance(error, OSError):
                raise self._not_written(str(error.strerror), get_hint(error, self.path)) from error
            raise

    def append_whole(self, lines: bytes) -> None:
        """Write many lines or none of them, even if this process is killed or power is lost. Raises: ClawftError.

        Until they are safe, a note next to the file says where they begin; the next process that opens the file removes
        a half-written turn.
        """
        adding = _Adding(self.size, len(lines), sha256(lines).hexdigest())
        note = self.path + ADDING
        try:
            _write_note(note, msgspec.json.encode(adding))
            self.append(lines)
        except ClawftError:  # nothing of it is there
            with suppress(FileNotFoundError):
                os.unlink(note)
            raise
        self.sync()
        os.unlink(note)  # should it come back, it tells of lines that are there

    def sync(self) -> None:
        """Return when all that was written would survive a loss of power. Raises: ClawftError."""
        try:
            if os.fstat(self.descriptor).st_nlink == 0:
                raise self._not_written("The file was removed")
            os.fsync(self.descriptor)
        except OSError as error:
            raise self._not_written(str(error.strerror), get_hint(error, self.path)) from error

    def heal(self) -> None:
        """Deal with what a crash left at the end: keep a whole record, move anything else beside the file."""
        if os.path.lexists(self.path + ADDING):
            self._settle()
        torn = self._torn_bytes()
        if torn and decode_line(torn) is not None:
            self.append(b"\n")
        elif torn:
            self._set_aside(self.size - len(torn), "The last line was not written to its end")

    def close(self) -> None:
        """Give up the lock."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _settle(self) -> None:
        """End what `append_whole` began: all of it is there, or none is to be."""
        adding = _load_note(self.path)
        if adding and not _is_added(adding, self.descriptor, self.path):
            self._set_aside(adding.start, "The last turn was not written to its end")
        self.sync()
        os.unlink(self.path + ADDING)
        sync_folder(os.path.dirname(self.path))  # a note that came back would take back what follows

    def _set_aside(self, start: int, why: str) -> None:
        cut = read_range(self.descriptor, start, self.size, self.path)
        if not cut:
            return
        torn_path = self.path + TORN
        _save(torn_path, cut.removesuffix(b"\n"))
        os.ftruncate(self.descriptor, start)
        message = f"{why}; its {len(cut)} bytes were moved to {torn_path}"
        self.diagnostics = (*self.diagnostics, Diagnostic("session-torn-line", "warning", message, self.path))

    def _torn_bytes(self) -> bytes:
        size = self.size
        if not size or read_range(self.descriptor, size - 1, size, self.path) == b"\n":
            return b""
        for data, whole in read_tails(self.descriptor, size, self.path):
            if whole or b"\n" in data:
                return data[data.rfind(b"\n") + 1 :]
        return b""

    def _not_written(self, why: str, hint: str = "Start another session") -> ClawftError:
        message = f"The session could not be written: {why}"
        return ClawftError("session-write", message, path=self.path, hint=hint)


def open_log(path: str, *, create: bool) -> SessionLog:
    """Open and lock a file for writing, its end healed. Raises: FileNotFoundError, ClawftError when it is in use."""
    for _ in range(_ATTEMPTS):
        descriptor = open_regular(path, _WRITE | os.O_CREAT if create else _WRITE)
        try:
            if _lock(descriptor, path):
                with suppress(PermissionError):  # another owner's file, which we may write
                    os.fchmod(descriptor, 0o600)
                log = SessionLog(path, descriptor)
                log.heal()
                return log
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise _busy(path)


def _lock(descriptor: int, path: str) -> bool:
    """Lock a file; False when the name meanwhile belongs to another file, or to none."""
    try:
        if not lock_file(descriptor):
            raise _busy(path)
    except OSError as error:
        raise _unreadable(path, error, "It cannot be locked: ") from error
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _save(path: str, data: bytes) -> None:
    """Add a line to a sidecar, safe before the bytes are cut from where they were."""
    descriptor = open_regular(path, _WRITE | os.O_CREAT)
    try:
        SessionLog(path, descriptor).append(data + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _load_note(path: str) -> _Adding | None:
    """Load the note about an addition that is under way, or was when a process ended; None also for a note that was not
    completely written."""
    try:
        descriptor = open_regular(path + ADDING)
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(read_range(descriptor, 0, _NOTE_BYTES, path + ADDING), type=_Adding)
    except msgspec.MsgspecError:
        return None
    finally:
        os.close(descriptor)


def _write_note(path: str, note: bytes) -> None:
    """Put a note beside a file, safe before anything else is written. Raises: ClawftError."""
    log = SessionLog(path, open_regular(path, _NOTE))
    try:
        log.append(note)
        log.sync()
    finally:
        log.close()
    sync_folder(os.path.dirname(path))


def _is_added(adding: _Adding, descriptor: int, path: str) -> bool:
    lines = read_range(descriptor, adding.start, adding.start + adding.length, path)
    return sha256(lines).hexdigest() == adding.sha256


def _busy(path: str) -> ClawftError:
    message = "Another process is writing this session"
    return ClawftError("session-busy", message, path=path, hint="Wait for it to end, or use another session")


def _unreadable(path: str, error: OSError, what: str = "") -> Unreadable:
    message = f"The session cannot be read: {what}{error.strerror}"
    return Unreadable("session-unreadable", message, path=path, hint=get_hint(error, path))
