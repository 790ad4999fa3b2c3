"""Reading the audit log: select the newest lines, and verify the chain up to the sealed head."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import IO

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import lock_file
from clawft.trust.audit.lines import (
    NO_HASH,
    AuditHead,
    AuditLogLine,
    hash_bytes,
    judge_extra,
    parse_line,
    read_head,
    why_unsealed,
)
from clawft.trust.audit.log import (
    LOCK_S,
    OWN,
    POLL_S,
    AuditLog,
    count_full,
    full_path,
    load_rotated_head,
    open_private_file,
)

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class AuditQuery(Struct, frozen=True, kw_only=True):
    """A query for lines; '' means any, and `before` 0 means all."""

    kind: str = ""
    skill: str = ""
    session: str = ""
    decision: str = ""
    text: str = ""
    since: datetime | None = None
    before: int = 0

    def has(self, line: AuditLogLine) -> bool:
        return (
            self.kind in ("", line.kind)
            and self.session in ("", line.session)
            and self.decision in ("", line.decision)
            and (not self.skill or self.skill in line.skill.split(", "))
            and (self.since is None or line.time is None or line.time >= self.since)
            and (not self.before or line.seq < self.before)
            and (not self.text or self._holds_text(line))
        )

    def _holds_text(self, line: AuditLogLine) -> bool:
        wanted = self.text.casefold()
        return any(wanted in field.casefold() for field in (line.subject, line.rule, line.session, line.skill))


class SelectedLines(Struct, frozen=True):
    """Lines that were asked for, oldest first; how many of the log could not be read.

    `reached` is the number of the oldest line that was looked at where there may be more, else 0.
    """

    lines: tuple[AuditLogLine, ...]
    unreadable: int = 0
    reached: int = 0


def _check_version(audit: AuditLog) -> None:
    """Lines are shown whether or not they can be verified, but not those that would be misread."""
    try:
        descriptor = open_private_file(audit.head_path, _READ)
    except FileNotFoundError:
        return
    try:
        read_head(descriptor, audit.seal, audit.path)
    except ClawftError as error:
        if error.code == "format-newer":
            raise
    finally:
        os.close(descriptor)


def select_lines(audit: AuditLog, limit: int, wanted: AuditQuery, *, most: int | None = None) -> SelectedLines:
    """The newest lines that are wanted; at most so many are looked at for them.

    Raises: OSError; ClawftError for a log of a newer version.
    """
    _check_version(audit)
    found: list[AuditLogLine] = []
    unreadable = seen = last = 0
    for raw in _read_backwards(audit.path):
        parsed = parse_line(raw)
        unreadable += parsed is None
        if parsed is None or (wanted.before and parsed[0].seq >= wanted.before):
            continue
        seen, last = seen + 1, parsed[0].seq
        if wanted.has(parsed[0]):
            found.append(parsed[0])
        if len(found) == limit or seen == most:
            return SelectedLines(tuple(reversed(found)), unreadable, last if last > 1 else 0)
    return SelectedLines(tuple(reversed(found)), unreadable)


def has_transaction(audit: AuditLog, transaction: str) -> bool:
    """Return whether a line says that it belongs to an installation. Raises: OSError."""
    name = transaction.encode()
    for raw in _read_backwards(audit.path):
        parsed = parse_line(raw) if name in raw else None
        if parsed is not None and parsed[0].detail.get("transaction") == transaction:
            return True
    return False


def _read_backwards(path: str) -> Iterator[bytes]:
    numbers = range(count_full(path), 0, -1)
    for name in (path, *(full_path(path, number) for number in numbers)):
        try:
            with open(open_private_file(name, _READ), "rb") as file:
                raws = file.read().split(b"\n")
        except FileNotFoundError:
            continue
        yield from (raw for raw in reversed(raws) if raw)


MAX_LINE = 1 << 20  # bytes; ours are much shorter


class AuditLogBreak(Struct, frozen=True):
    """The first place where the log is not what was written; line 0 is the end of the file."""

    path: str
    line: int
    reason: str


class AuditLogVerdict(Struct, frozen=True):
    """The result of a check: `held` lines are as they were written, up to the break if there is one."""

    held: int = 0
    torn: int = 0
    files: int = 0
    since: str = ""
    broken: AuditLogBreak | None = None


def verify_log(audit: AuditLog) -> AuditLogVerdict:
    """Check every line there is. Raises: OSError, ClawftError."""
    with ExitStack() as stack:
        sealed, file, why = _open(audit, stack)
        if file is None and sealed == AuditHead():
            return AuditLogVerdict()
        walk = _Walk()
        full = sealed.files if sealed else count_full(audit.path)
        broken = _walk_full(walk, audit.path, full)
        if broken is None:
            broken = _walk_last(walk, audit.path, file, sealed, why)
        return AuditLogVerdict(walk.held, walk.torn, full + (file is not None), walk.since, broken)


def check_end(audit: AuditLog) -> str:
    """Return whether the log ends as it was sealed; what is wrong, if it does not. Raises: OSError, ClawftError."""
    with ExitStack() as stack:
        sealed, file, why = _open(audit, stack)
        if sealed is None:
            return why
        size = os.fstat(file.fileno()).st_size if file else 0
        if size < sealed.size:
            return f"{sealed.size - size} bytes are missing from its end"
        walk = _Walk()
        if not sealed.size or file is None:
            return ""
        tail = os.pread(file.fileno(), min(sealed.size, MAX_LINE), max(0, sealed.size - MAX_LINE))
        last = parse_line(tail.rstrip(b"\n").rpartition(b"\n")[2])
        if last is None or not last[1] or last[0].hash != sealed.hash:
            return "Its last line is not the one that was sealed"
        walk.last = last[0]
        return _check_extra(walk, file, sealed)


def _open(audit: AuditLog, stack: ExitStack) -> tuple[AuditHead | None, IO[bytes] | None, str]:
    """The sealed end, the file it is of, and why there is no end, as they are at one moment; the lock is not kept."""
    try:
        descriptor = open_private_file(audit.head_path, _READ)
    except FileNotFoundError:
        file = _open_log(audit.path, stack)
        return (None, file, "audit.head, the seal of its end, is missing") if file else (AuditHead(), None, "")
    try:
        if not lock_file(descriptor, LOCK_S, POLL_S):
            raise ClawftError("audit-busy", "Another program holds the audit log", path=audit.head_path)
        sealed, file = read_head(descriptor, audit.seal, audit.path), _open_log(audit.path, stack)
        is_empty = file is None or not os.fstat(file.fileno()).st_size
        if sealed and is_empty:
            sealed = load_rotated_head(audit.path, sealed)
        is_lost = not os.fstat(descriptor).st_size and (not is_empty or count_full(audit.path) > 0)
        if sealed is None or is_lost:
            return None, file, why_unsealed(descriptor, audit.seal)
        return sealed, file, ""
    finally:
        os.close(descriptor)


def _open_log(path: str, stack: ExitStack) -> IO[bytes] | None:
    try:
        return stack.enter_context(open(open_private_file(path, _READ), "rb"))
    except FileNotFoundError:
        return None


class _Walk:
    """Goes along the chain."""

    def __init__(self) -> None:
        self.held = 0
        self.torn = 0
        self.since = ""
        self.last: AuditLogLine | None = None
        self._pending: tuple[bytes, AuditLogBreak] | None = None  # no line of ours; the next one has to explain it

    def take(self, raw: bytes, path: str, number: int) -> AuditLogBreak | None:
        """Check the next line and return what is wrong with it, if anything is."""
        parsed = parse_line(raw.removesuffix(b"\n"))
        if parsed is None:
            if self._pending:
                return self._pending[1]
            self._pending = raw.removesuffix(b"\n"), AuditLogBreak(path, number, "It is no line of this log")
            return None
        line, fits = parsed
        reason = self._check(line) if fits else "It was changed after it was written: its hash does not fit"
        if reason or not self._explains(line):
            return self._pending[1] if self._pending else AuditLogBreak(path, number, reason)
        self.held += 1
        self.since = self.since or line.at
        self.last = line
        return None

    def finish(self) -> AuditLogBreak | None:
        return self._pending[1] if self._pending else None

    def _check(self, line: AuditLogLine) -> str:
        if line.kind == OWN and line.decision == "broken":
            return f"{line.subject} when this line was written: {_facts(line)}"
        expected, before = (self.last.seq + 1, self.last.hash) if self.last else (1, NO_HASH)
        if line.seq > expected:
            missing = line.seq - expected
            return f"{missing} line{'s' * (missing > 1)} before it {'are' if missing > 1 else 'is'} not there"
        if line.seq < expected:
            return f"It stands in the wrong place: it is number {line.seq}, and {expected} is next"
        return "" if line.prev == before else "The line before it was replaced: it hangs on another"

    def _explains(self, line: AuditLogLine) -> bool:
        """Return whether what came before was a line of ours; or one that was cut off, as this line says."""
        if self._pending is None:
            return True
        raw = self._pending[0]
        facts = {"bytes": len(raw), "sha256": hash_bytes(raw)}
        if (line.kind, line.decision, line.detail) != (OWN, "torn", facts):
            return False
        self._pending = None
        self.torn += 1
        return True


def _facts(line: AuditLogLine) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in line.detail.items())


def _walk_full(walk: _Walk, path: str, count: int) -> AuditLogBreak | None:
    for number in range(1, count + 1):
        name = full_path(path, number)
        try:
            descriptor = open_private_file(name, _READ)
        except FileNotFoundError:
            return AuditLogBreak(name, 0, "This file of the log is missing")
        with open(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if (broken := _walk_file(walk, name, file, size)) is not None:
                return broken
    return None


def _walk_file(walk: _Walk, path: str, file: IO[bytes], size: int) -> AuditLogBreak | None:
    number = 0
    for number, raw in enumerate(_read_lines(file, size), 1):
        if not raw.endswith(b"\n"):
            return AuditLogBreak(path, number, "It is cut off")
        if (broken := walk.take(raw, path, number)) is not None:
            return broken
    return walk.finish()


def _read_lines(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The lines of the first bytes of a file."""
    while size > 0 and (raw := file.readline(min(size, MAX_LINE))):
        size -= len(raw)
        yield raw


def _walk_last(
    walk: _Walk, path: str, file: IO[bytes] | None, sealed: AuditHead | None, why: str
) -> AuditLogBreak | None:
    """The file that is being written, up to its sealed end; and that end, or why there is none."""
    if file is None:
        return AuditLogBreak(path, 0, "This file of the log is missing") if sealed is None or sealed.size else None
    size = os.fstat(file.fileno()).st_size
    broken = _walk_file(walk, path, file, size if sealed is None else min(size, sealed.size))
    if broken is not None or sealed is None:
        return broken or AuditLogBreak(path, 0, why)
    seq = walk.last.seq if walk.last else 0
    if seq < sealed.seq:
        missing = sealed.seq - seq
        return AuditLogBreak(
            path, 0, f"{missing} line{'s' * (missing > 1)} at its end {'are' if missing > 1 else 'is'} missing"
        )
    if (walk.last.hash if walk.last else NO_HASH) != sealed.hash:
        return AuditLogBreak(path, 0, "Its last line is not the one that was sealed")
    reason = _check_extra(walk, file, sealed)
    return AuditLogBreak(path, 0, reason) if reason else None


def _check_extra(walk: _Walk, file: IO[bytes], sealed: AuditHead) -> str:
    """Check what follows the sealed end: a line whose writer was killed before the seal, or in the middle of it."""
    extra = os.pread(file.fileno(), MAX_LINE, sealed.size)
    if not extra:
        return ""
    found = judge_extra(extra, sealed)
    walk.held += found == "own"
    walk.torn += found == "torn"
    if found != "foreign":
        return ""
    return f"{len(extra)} bytes stand after its sealed end: added by another hand, or the seal was lost with the power"
