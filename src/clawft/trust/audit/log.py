"""Writing the audit log: whole lines, one after the other, by any number of processes and threads.

A line is with the system when `write` returns, so it survives the end of the process; only those about approvals and
grants are also forced to the disk, and survive a loss of power. Each line opens the files anew: what others renamed or
removed meanwhile is noticed, and threads and forked processes exclude each other like any two writers.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypedDict, Unpack

from msgspec import structs

from clawft.errors import ClawftError, Refused
from clawft.files import get_hint, lock_file, sync_folder
from clawft.trust.audit.head import Head, judge_extra, read_head, write_head
from clawft.trust.audit.line import (
    NO_HASH,
    Line,
    bound_detail,
    bound_subject,
    bound_text,
    encode_line,
    hash_bytes,
    parse_line,
)
from clawft.trust.seal import Seal

__all__ = [
    "AT_TERMINAL",
    "FAILED",
    "HEAD_NAME",
    "LEFT",
    "LOCK_S",
    "LOG_NAME",
    "OWN",
    "POLL_S",
    "Audit",
    "Entry",
    "acting_for",
    "asking_by",
    "count_full",
    "full_path",
    "note_asked",
    "open_own",
    "turned_over",
    "unreadable",
]

LOG_NAME = "audit.jsonl"
HEAD_NAME = "audit.head"
MAX_BYTES = 16 << 20  # of one file; then the chain goes on in the next
LOCK_S = 5.0
POLL_S = 0.0002
SYNCED = frozenset({"approval", "granted"})  # kinds and decisions
OWN = "audit"  # the kind of lines about the log itself
FAILED = "failed"  # what an earlier line about the same says did not come about
# Who answers a question at a terminal, and whose no it is where the input ends there.
AT_TERMINAL, LEFT = "the person at the terminal", "no answer at the terminal"
_WORDS = {"allow": "allowed", "deny": "denied", "ask": "asked"}  # one word for one thing, whoever writes it
_TAIL = 1 << 16
_ATTEMPTS = 20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# Whose work this is, and the session it is done in: what else is written meanwhile, for others, is not theirs.
_ACTING: ContextVar[tuple[str, str]] = ContextVar("acting", default=("", ""))


@contextmanager
def acting_for(name: str, session: str) -> Iterator[None]:
    """Have lines about a session, and those that come of it, say who asked for it."""
    before = _ACTING.set((name, session))
    try:
        yield
    finally:
        _ACTING.reset(before)


# Writes down that a question is put to a person: `again`, where that was written down before.
_NOTE_ASKED: ContextVar[Callable[[bool], None]] = ContextVar("note_asked", default=lambda _again: None)


@contextmanager
def asking_by(note: Callable[[bool], None]) -> Iterator[None]:
    """Have `note` called when a question is put to a person meanwhile: a flag, or nobody there, is no such thing."""
    before = _NOTE_ASKED.set(note)
    try:
        yield
    finally:
        _NOTE_ASKED.reset(before)


def note_asked(*, again: bool = False) -> None:
    """A person is asked now; for whoever puts questions to people. `again`: about what they were asked before."""
    _NOTE_ASKED.get()(again)


class More(TypedDict, total=False):
    """What else a line may say."""

    rule: str  # what decided
    skill: str
    digest: str
    session: str
    detail: Mapping[str, Any] | None


class Entry(NamedTuple):
    """A line to be written with others."""

    kind: str
    subject: str
    decision: str
    more: More


class Audit:
    """The log of one user. `mask` takes secrets out of every text, so that no caller has to think of it.

    `by` is whoever has it done, where that is not the user at the machine.
    """

    def __init__(self, path: str, seal: Seal, mask: Callable[[str], str] = str, *, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self.head_path = os.path.join(os.path.dirname(path), HEAD_NAME)
        self.seal = seal
        self.mask = mask
        self.max_bytes = max_bytes
        self.by = ""
        self._lost = 0

    @property
    def lost(self) -> int:
        """How many lines could not be written, and are told by the next that can."""
        return self._lost

    def write(self, kind: str, subject: str, *, decision: str, **more: Unpack[More]) -> None:
        """Add a line. What gives power is not done when this raises.

        Raises: Refused with code `audit-unwritable`.
        """
        self.write_all([Entry(kind, subject, decision, more)])

    def write_all(self, entries: Sequence[Entry]) -> None:
        """Add several lines: all of them or, unless the process is killed, none. They are forced to the disk together.

        Raises: Refused, as `write` does.
        """
        if not entries:
            return
        try:
            lines = [self._fields(*one) for one in entries]
            if self._lost:
                lines.insert(0, _own("lost", f"{self._lost} lines could not be written", {"lines": self._lost}))
            synced = any(one.kind in SYNCED or one.decision in SYNCED for one in entries)
            with self._locked() as descriptor, _Pen(self, descriptor) as pen:
                pen.put_all(lines, synced=synced)
            self._lost = 0
        except OSError as error:
            path = error.filename or self.path
            raise _unwritable(error.strerror or str(error), path, get_hint(error, path)) from error
        except ClawftError as error:
            raise _unwritable(str(error), error.diagnostic.path or self.path, error.hint) from error

    @contextmanager
    def last_step(self, entries: Sequence[Entry], *, must: bool = True) -> Iterator[Callable[[], None]]:
        """A function that adds lines, to be called when only the last step is left of what they tell. Where that step
        fails, as many lines say so. `must`: the step is not taken if they cannot be written.

        Raises: what the body raises.
        """
        written = False

        def write() -> None:
            nonlocal written
            if must:
                self.write_all(entries)
            written = must or self.tell_all(entries)

        try:
            yield write
        except BaseException:
            if written:
                self.tell_all([one._replace(decision=FAILED) for one in entries])
            raise

    def tell(self, kind: str, subject: str, *, decision: str, **more: Unpack[More]) -> bool:
        """Add a line about what gives no power, such as a denial: it stands, whether or not it could be written.

        The next line that can be written says how many are missing.
        """
        return self.tell_all([Entry(kind, subject, decision, more)])

    def tell_all(self, entries: Sequence[Entry]) -> bool:
        """The same with several lines."""
        try:
            self.write_all(entries)
        except Refused:
            self._lost += len(entries)
            return False
        return True

    def _fields(self, kind: str, subject: str, decision: str, more: More) -> dict[str, Any]:
        texts = {
            name: bound_text(str(more.get(name, "")), self.mask) for name in ("rule", "skill", "digest", "session")
        }
        bounded, digest = bound_subject(subject, self.mask)
        return {
            "kind": kind,
            "subject": bounded,
            "decision": _WORDS.get(decision, decision),
            **texts,
            "detail": {**bound_detail(self._with_name(more), self.mask), **digest},
        }

    def _with_name(self, more: More) -> Mapping[str, Any] | None:
        """What a line says beside, with who asked for it, unless it names somebody already."""
        name, session = _ACTING.get()
        is_theirs = bool(name) and f"{more.get('session', '')}:".startswith(f"{session}:")
        by, detail = self.by or (name if is_theirs else ""), more.get("detail")
        return {"by": by, **(detail or {})} if by else detail

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The head, which one writer holds at a time. Raises: OSError, ClawftError."""
        for _ in range(_ATTEMPTS):
            try:
                descriptor = open_own(self.head_path, _FLAGS)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
                continue
            try:
                if not lock_file(descriptor, LOCK_S, POLL_S):
                    raise ClawftError("audit-busy", "Another program holds the audit log", path=self.head_path)
                if _is_at(descriptor, self.head_path):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)
        raise ClawftError("audit-busy", "Another program keeps replacing the audit log", path=self.head_path)


class _Pen:
    """The log while it is locked: open, and its end understood."""

    def __init__(self, audit: Audit, descriptor: int) -> None:
        self.audit = audit
        self.head_file = descriptor
        self.file = -1

    def __enter__(self) -> "_Pen":
        sealed = read_head(self.head_file, self.audit.seal, self.audit.path)
        self.file = open_own(self.audit.path, _FLAGS | os.O_APPEND)
        try:
            size = os.fstat(self.file).st_size
            if sealed and not size:
                sealed = turned_over(self.audit.path, sealed)
            self.head = sealed or Head()
            if sealed is None or size != sealed.size:
                self._settle(sealed, size)
            if self.head.size >= self.audit.max_bytes:
                self._turn_over()
        except BaseException:
            os.close(self.file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.file)

    def put(self, fields: Mapping[str, Any]) -> None:
        """Write one line at the end, and seal it."""
        head = self.head
        at = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line, digest = encode_line({**fields, "seq": head.seq + 1, "at": at, "prev": head.hash})
        write_head(self.head_file, structs.replace(head, next=digest), self.audit.seal)
        self._append(line)
        self.head = Head(head.seq + 1, digest, head.size + len(line), head.files)
        write_head(self.head_file, self.head, self.audit.seal)

    def put_all(self, lines: Sequence[Mapping[str, Any]], *, synced: bool) -> None:
        """Write lines, all of them or none. `synced`: they would survive a loss of power. Raises: OSError."""
        before = self.head
        try:
            for fields in lines:
                self.put(fields)
            if synced:
                os.fsync(self.file)
                os.fsync(self.head_file)
        except BaseException:
            with suppress(OSError, ClawftError):
                os.ftruncate(self.file, before.size)
                write_head(self.head_file, before, self.audit.seal)
            raise

    def _append(self, content: bytes) -> None:
        """All of it or nothing, unless the process is killed."""
        written = os.write(self.file, content)
        if written != len(content):
            os.ftruncate(self.file, self.head.size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _settle(self, sealed: Head | None, size: int) -> None:
        """The file is not as it was sealed: find out why, and go on from there. Nothing of it is changed."""
        extra = os.pread(self.file, _TAIL, sealed.size) if sealed and sealed.size < size <= sealed.size + _TAIL else b""
        found = judge_extra(extra, sealed) if sealed else "foreign"
        if not sealed or found == "foreign":
            self._mark_broken(sealed, size)
            return
        self.head = structs.replace(sealed, size=size)
        self._end_line()
        if found == "own":  # its writer was killed before it could seal it
            self.head = Head(sealed.seq + 1, sealed.next, self.head.size, sealed.files)
        else:  # its writer was killed in the middle; what there is of it stays where it is
            torn = extra.removesuffix(b"\n")
            facts = {"bytes": len(torn), "sha256": hash_bytes(torn)}
            self.put(_own("torn", "A line was not written to its end", facts))

    def _mark_broken(self, sealed: Head | None, size: int) -> None:
        """Say for ever that something was wrong here: going on must not hide it."""
        last = _find_last(self.file, size)
        facts: dict[str, Any] = {"found_seq": last.seq if last else 0, "found_bytes": size}
        if sealed is None:
            subject = "The seal of the log did not hold"
        else:
            subject = "The log was not as it was sealed"
            facts |= {"sealed_seq": sealed.seq, "sealed_hash": sealed.hash, "sealed_bytes": sealed.size}
        seq = max(sealed.seq if sealed else 0, last.seq if last else 0)
        files = sealed.files if sealed else count_full(self.audit.path)
        self.head = Head(seq, last.hash if last else sealed.hash if sealed else NO_HASH, size, files)
        self._end_line()
        self.put(_own("broken", subject, facts))

    def _end_line(self) -> None:
        """Nothing may be written onto the end of what stands there."""
        size = self.head.size
        if size and os.pread(self.file, 1, size - 1) != b"\n":
            self._append(b"\n")
            self.head = structs.replace(self.head, size=size + 1)

    def _turn_over(self) -> None:
        """Begin a new file; the chain goes on."""
        os.fsync(self.file)
        path = self.audit.path
        os.rename(path, full_path(path, self.head.files + 1))
        self.head = structs.replace(self.head, size=0, files=self.head.files + 1, next="")
        write_head(self.head_file, self.head, self.audit.seal)
        os.close(self.file)
        self.file = open_own(path, _FLAGS | os.O_APPEND)
        sync_folder(os.path.dirname(path))


def _own(decision: str, subject: str, detail: dict[str, Any]) -> dict[str, Any]:
    """A line of the log about itself."""
    empty = dict.fromkeys(("rule", "skill", "digest", "session"), "")
    return {"kind": OWN, "subject": subject, "decision": decision, "detail": detail, **empty}


def full_path(path: str, number: int) -> str:
    """Where the full file of a number lies: `audit-000001.jsonl`."""
    stem, end = os.path.splitext(path)
    return f"{stem}-{number:06d}{end}"


def open_own(path: str, flags: int) -> int:
    """A descriptor of a regular file, which is made such that only the user may read it. Raises: OSError."""
    descriptor = os.open(path, flags, 0o600)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "It is not a regular file", path)
    if mode & 0o077 and flags & os.O_RDWR:
        with suppress(PermissionError):
            os.fchmod(descriptor, 0o600)
    return descriptor


def _unwritable(why: str, path: str, hint: str) -> Refused:
    message = f"The audit log cannot be written, so this is not done: {why}"
    return Refused("audit-unwritable", message, path=path, hint=hint)


def unreadable(error: OSError, audit: Audit) -> ClawftError:
    """What a failure to read the log means to a person."""
    path = error.filename or audit.path
    message = f"The audit log cannot be read: {error.strerror}"
    return ClawftError("audit-unreadable", message, path=path, hint=get_hint(error, path))


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def turned_over(path: str, sealed: Head) -> Head:
    """The end of the log where its writer was killed after it had put the full file aside."""
    try:
        full = sealed.size > 0 and os.lstat(full_path(path, sealed.files + 1)).st_size == sealed.size
    except FileNotFoundError:
        full = False
    return Head(sealed.seq, sealed.hash, 0, sealed.files + 1) if full else sealed


def count_full(path: str) -> int:
    """How many full files there are."""
    number = 0
    while os.path.lexists(full_path(path, number + 1)):
        number += 1
    return number


def _find_last(descriptor: int, size: int) -> Line | None:
    """The last line of a file that can be read as one."""
    start = max(0, size - _TAIL)
    for raw in reversed(os.pread(descriptor, _TAIL, start).split(b"\n")):
        parsed = parse_line(raw)
        if parsed and parsed[1]:
            return parsed[0]
    return None
