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
from clawft.trust.audit.lines import (
    NO_HASH,
    AuditHead,
    AuditLogLine,
    bound_texts,
    encode_line,
    hash_bytes,
    judge_extra,
    parse_line,
    read_head,
    write_head,
)
from clawft.trust.records import Seal

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
# Callers name a decision as the policies do; a line says it as a deed.
_WORDS = {"allow": "allowed", "deny": "denied", "ask": "asked"}
_TEXTS = ("rule", "skill", "digest", "session")
_TAIL = 1 << 16
_ATTEMPTS = 20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# Whose work this is, and the session it is done in: what else is written meanwhile, for others, is not theirs.
_ACTING: ContextVar[tuple[str, str]] = ContextVar("acting", default=("", ""))


@contextmanager
def set_audit_actor(name: str, session: str) -> Iterator[None]:
    """Have lines about a session, and those that come of it, say who asked for it."""
    before = _ACTING.set((name, session))
    try:
        yield
    finally:
        _ACTING.reset(before)


# Writes down that a question is put to a person: `again`, where that was written down before.
_NOTE_ASKED: ContextVar[Callable[[bool], None]] = ContextVar("note_asked", default=lambda _again: None)


@contextmanager
def observe_questions(note: Callable[[bool], None]) -> Iterator[None]:
    """Have `note` called when a question is put to a person meanwhile: a flag, or nobody there, is no such thing."""
    before = _NOTE_ASKED.set(note)
    try:
        yield
    finally:
        _NOTE_ASKED.reset(before)


def note_asked(*, again: bool = False) -> None:
    """Note that a person is asked now; call this wherever questions are put to people. `again`: about what they were
    asked before."""
    _NOTE_ASKED.get()(again)


# Who answered the last question about an approval, for its line, where no other rule decided.
_ANSWERED: ContextVar[str] = ContextVar("answered", default="")


def note_answer(by: str) -> None:
    """Name who answers a question about an approval; '' where none was asked."""
    _ANSWERED.set(by)


class AuditFields(TypedDict, total=False):
    """The optional fields of a line."""

    rule: str  # what decided
    skill: str
    digest: str
    session: str
    detail: Mapping[str, Any] | None


class AuditEntry(NamedTuple):
    """A line to be written with others."""

    kind: str
    subject: str
    decision: str
    more: AuditFields


class AuditLog:
    """The log of one user. `mask` takes secrets out of all that a line tells, so that no caller has to think of it.

    `by` is the one that acts, where that is not the user at the machine.
    """

    def __init__(
        self, path: str, seal: Seal, mask: Callable[[Any], Any] = lambda value: value, *, max_bytes: int = MAX_BYTES
    ) -> None:
        self.path = path
        self.head_path = os.path.join(os.path.dirname(path), HEAD_NAME)
        self.seal = seal
        self.mask = mask
        self.max_bytes = max_bytes
        self.by = ""
        self._lost = 0

    @property
    def lost(self) -> int:
        """The number of lines that could not be written; the next line that can be written reports it."""
        return self._lost

    def write(self, kind: str, subject: str, *, decision: str, **more: Unpack[AuditFields]) -> None:
        """Add a line. What gives power is not done when this raises.

        Raises: Refused with code `audit-unwritable`.
        """
        self.write_all([AuditEntry(kind, subject, decision, more)])

    def write_all(self, entries: Sequence[AuditEntry]) -> None:
        """Add several lines: all of them or, unless the process is killed, none. They are forced to the disk together.

        Raises: Refused, as `write` does.
        """
        if not entries:
            return
        try:
            lines = [self._fields(*entry) for entry in entries]
            if self._lost:
                lines.insert(0, _own("lost", f"{self._lost} lines could not be written", {"lines": self._lost}))
            synced = any(entry.kind in SYNCED or entry.decision in SYNCED for entry in entries)
            with self._locked() as descriptor, _Pen(self, descriptor) as pen:
                pen.put_all(lines, synced=synced)
            self._lost = 0
        except OSError as error:
            path = error.filename or self.path
            raise _unwritable(error.strerror or str(error), path, get_hint(error, path)) from error
        except ClawftError as error:
            raise _unwritable(str(error), error.diagnostic.path or self.path, error.hint) from error

    @contextmanager
    def last_step(self, entries: Sequence[AuditEntry], *, must: bool = True) -> Iterator[Callable[[], None]]:
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
                self.tell_all([entry._replace(decision=FAILED) for entry in entries])
            raise

    def tell(self, kind: str, subject: str, *, decision: str, **more: Unpack[AuditFields]) -> bool:
        """Add a line about what gives no power, such as a denial: it stands, whether or not it could be written.

        The next line that can be written says how many are missing.
        """
        return self.tell_all([AuditEntry(kind, subject, decision, more)])

    def record(self, kind: str, subject: str, *, decision: str, **more: Unpack[AuditFields]) -> None:
        """Add a line about a decision: what it allows is not done when this raises, all else stands in any case.

        Raises: Refused, as `write` does.
        """
        if decision == "allow":
            self.write(kind, subject, decision=decision, **more)
        else:
            self.tell(kind, subject, decision=decision, **more)

    def tell_all(self, entries: Sequence[AuditEntry]) -> bool:
        """Add several lines as `tell` does; False if they could not be written."""
        try:
            self.write_all(entries)
        except Refused:
            self._lost += len(entries)
            return False
        return True

    def _fields(self, kind: str, subject: str, decision: str, more: AuditFields) -> dict[str, Any]:
        texts = [str(more.get(name, "")) for name in _TEXTS]
        subject, texts, detail = bound_texts(subject, texts, self._with_name(more), self.mask)
        fields = dict(zip(_TEXTS, texts, strict=True))
        if kind == "approval" and not fields["rule"]:
            fields["rule"] = _ANSWERED.get()
        return {
            "kind": kind,
            "subject": subject,
            "decision": _WORDS.get(decision, decision),
            **fields,
            "detail": detail,
        }

    def _with_name(self, more: AuditFields) -> Mapping[str, Any]:
        """Return the detail of a line with the name of who asked for it, unless it names someone already."""
        name, session = _ACTING.get()
        is_theirs = bool(name) and f"{more.get('session', '')}:".startswith(f"{session}:")
        by, detail = self.by or (name if is_theirs else ""), more.get("detail") or {}
        return {"by": by, **detail} if by else detail

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The head, which one writer holds at a time. Raises: OSError, ClawftError."""
        for _ in range(_ATTEMPTS):
            try:
                descriptor = open_private_file(self.head_path, _FLAGS)
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

    def __init__(self, audit: AuditLog, descriptor: int) -> None:
        self.audit = audit
        self.head_file = descriptor
        self.file = -1

    def __enter__(self) -> "_Pen":
        sealed = read_head(self.head_file, self.audit.seal, self.audit.path)
        self.file = open_private_file(self.audit.path, _FLAGS | os.O_APPEND)
        try:
            size = os.fstat(self.file).st_size
            if sealed and not size:
                sealed = load_rotated_head(self.audit.path, sealed)
            self.head = sealed or AuditHead()
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
        self.head = AuditHead(head.seq + 1, digest, head.size + len(line), head.files)
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

    def _settle(self, sealed: AuditHead | None, size: int) -> None:
        """The file is not as it was sealed: find out why, and go on from there. Nothing of it is changed."""
        extra = os.pread(self.file, _TAIL, sealed.size) if sealed and sealed.size < size <= sealed.size + _TAIL else b""
        found = judge_extra(extra, sealed) if sealed else "foreign"
        if not sealed or found == "foreign":
            self._mark_broken(sealed, size)
            return
        self.head = structs.replace(sealed, size=size)
        self._end_line()
        if found == "own":  # its writer was killed before it could seal it
            self.head = AuditHead(sealed.seq + 1, sealed.next, self.head.size, sealed.files)
        else:  # its writer was killed in the middle; what there is of it stays where it is
            torn = extra.removesuffix(b"\n")
            facts = {"bytes": len(torn), "sha256": hash_bytes(torn)}
            self.put(_own("torn", "A line was not written to its end", facts))

    def _mark_broken(self, sealed: AuditHead | None, size: int) -> None:
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
        self.head = AuditHead(seq, last.hash if last else sealed.hash if sealed else NO_HASH, size, files)
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
        self.file = open_private_file(path, _FLAGS | os.O_APPEND)
        sync_folder(os.path.dirname(path))


def _own(decision: str, subject: str, detail: dict[str, Any]) -> dict[str, Any]:
    """A line of the log about itself."""
    empty = dict.fromkeys(_TEXTS, "")
    return {"kind": OWN, "subject": subject, "decision": decision, "detail": detail, **empty}


def full_path(path: str, number: int) -> str:
    """Return the path of the full file of a number: `audit-000001.jsonl`."""
    stem, end = os.path.splitext(path)
    return f"{stem}-{number:06d}{end}"


def open_private_file(path: str, flags: int) -> int:
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


def make_unreadable_error(error: OSError, audit: AuditLog) -> ClawftError:
    """Return the error for a log that cannot be read."""
    path = error.filename or audit.path
    message = f"The audit log cannot be read: {error.strerror}"
    return ClawftError("audit-unreadable", message, path=path, hint=get_hint(error, path))


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def load_rotated_head(path: str, sealed: AuditHead) -> AuditHead:
    """The end of the log where its writer was killed after it had put the full file aside."""
    try:
        full = sealed.size > 0 and os.lstat(full_path(path, sealed.files + 1)).st_size == sealed.size
    except FileNotFoundError:
        full = False
    return AuditHead(sealed.seq, sealed.hash, 0, sealed.files + 1) if full else sealed


def count_full(path: str) -> int:
    """Count the full files."""
    number = 0
    while os.path.lexists(full_path(path, number + 1)):
        number += 1
    return number


def _find_last(descriptor: int, size: int) -> AuditLogLine | None:
    """The last line of a file that can be read as one."""
    start = max(0, size - _TAIL)
    for raw in reversed(os.pread(descriptor, _TAIL, start).split(b"\n")):
        parsed = parse_line(raw)
        if parsed and parsed[1]:
            return parsed[0]
    return None
