"""Is the audit log as it was written? Every line must hang on the one before, and the last be the sealed one."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import lock_file
from clawft.trust.audit.head import Head, judge_extra, read_head, why_unsealed
from clawft.trust.audit.line import NO_HASH, Line, hash_bytes, parse_line
from clawft.trust.audit.log import LOCK_S, OWN, POLL_S, Audit, count_full, full_path, open_own, turned_over

__all__ = ["Break", "Verdict", "check_end", "verify_log"]

MAX_LINE = 1 << 20  # bytes; ours are much shorter
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Break(Struct, frozen=True):
    """The first place where the log is not what was written; line 0 is the end of the file."""

    path: str
    line: int
    reason: str


class Verdict(Struct, frozen=True):
    """What was found: `held` lines are as they were written, up to the break if there is one."""

    held: int = 0
    torn: int = 0
    files: int = 0
    since: str = ""
    broken: Break | None = None


def verify_log(audit: Audit) -> Verdict:
    """Check every line there is. Raises: OSError, ClawftError."""
    with ExitStack() as stack:
        sealed, file, why = _open(audit, stack)
        if file is None and sealed == Head():
            return Verdict()
        walk = _Walk()
        full = sealed.files if sealed else count_full(audit.path)
        broken = _walk_full(walk, audit.path, full)
        if broken is None:
            broken = _walk_last(walk, audit.path, file, sealed, why)
        return Verdict(walk.held, walk.torn, full + (file is not None), walk.since, broken)


def check_end(audit: Audit) -> str:
    """Whether the log ends as it was sealed; what is wrong, if it does not. Raises: OSError, ClawftError."""
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


def _open(audit: Audit, stack: ExitStack) -> tuple[Head | None, IO[bytes] | None, str]:
    """The sealed end, the file it is of, and why there is no end, as they are at one moment; the lock is not kept."""
    try:
        descriptor = open_own(audit.head_path, _READ)
    except FileNotFoundError:
        file = _open_log(audit.path, stack)
        return (None, file, "audit.head, the seal of its end, is missing") if file else (Head(), None, "")
    try:
        if not lock_file(descriptor, LOCK_S, POLL_S):
            raise ClawftError("audit-busy", "Another program holds the audit log", path=audit.head_path)
        sealed, file = read_head(descriptor, audit.seal, audit.path), _open_log(audit.path, stack)
        is_empty = file is None or not os.fstat(file.fileno()).st_size
        if sealed and is_empty:
            sealed = turned_over(audit.path, sealed)
        is_lost = not os.fstat(descriptor).st_size and (not is_empty or count_full(audit.path) > 0)
        if sealed is None or is_lost:
            return None, file, why_unsealed(descriptor, audit.seal)
        return sealed, file, ""
    finally:
        os.close(descriptor)


def _open_log(path: str, stack: ExitStack) -> IO[bytes] | None:
    try:
        return stack.enter_context(open(open_own(path, _READ), "rb"))
    except FileNotFoundError:
        return None


class _Walk:
    """Goes along the chain."""

    def __init__(self) -> None:
        self.held = 0
        self.torn = 0
        self.since = ""
        self.last: Line | None = None
        self._pending: tuple[bytes, Break] | None = None  # no line of ours; the next one has to explain it

    def take(self, raw: bytes, path: str, number: int) -> Break | None:
        """What is wrong with the next line, if anything is."""
        parsed = parse_line(raw.removesuffix(b"\n"))
        if parsed is None:
            if self._pending:
                return self._pending[1]
            self._pending = raw.removesuffix(b"\n"), Break(path, number, "It is no line of this log")
            return None
        line, fits = parsed
        reason = self._check(line) if fits else "It was changed after it was written: its hash does not fit"
        if reason or not self._explains(line):
            return self._pending[1] if self._pending else Break(path, number, reason)
        self.held += 1
        self.since = self.since or line.at
        self.last = line
        return None

    def finish(self) -> Break | None:
        return self._pending[1] if self._pending else None

    def _check(self, line: Line) -> str:
        if line.kind == OWN and line.decision == "broken":
            return f"{line.subject} when this line was written: {_facts(line)}"
        expected, before = (self.last.seq + 1, self.last.hash) if self.last else (1, NO_HASH)
        if line.seq > expected:
            missing = line.seq - expected
            return f"{missing} line{'s' * (missing > 1)} before it {'are' if missing > 1 else 'is'} not there"
        if line.seq < expected:
            return f"It stands in the wrong place: it is number {line.seq}, and {expected} is next"
        return "" if line.prev == before else "The line before it was replaced: it hangs on another"

    def _explains(self, line: Line) -> bool:
        """Whether what came before was a line of ours; or one that was cut off, as this line says."""
        if self._pending is None:
            return True
        raw = self._pending[0]
        facts = {"bytes": len(raw), "sha256": hash_bytes(raw)}
        if (line.kind, line.decision, line.detail) != (OWN, "torn", facts):
            return False
        self._pending = None
        self.torn += 1
        return True


def _facts(line: Line) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in line.detail.items())


def _walk_full(walk: _Walk, path: str, count: int) -> Break | None:
    for number in range(1, count + 1):
        name = full_path(path, number)
        try:
            descriptor = open_own(name, _READ)
        except FileNotFoundError:
            return Break(name, 0, "This file of the log is missing")
        with open(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if (broken := _walk_file(walk, name, file, size)) is not None:
                return broken
    return None


def _walk_file(walk: _Walk, path: str, file: IO[bytes], size: int) -> Break | None:
    number = 0
    for number, raw in enumerate(_read_lines(file, size), 1):
        if not raw.endswith(b"\n"):
            return Break(path, number, "It is cut off")
        if (broken := walk.take(raw, path, number)) is not None:
            return broken
    return walk.finish()


def _read_lines(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The lines of the first bytes of a file."""
    while size > 0 and (raw := file.readline(min(size, MAX_LINE))):
        size -= len(raw)
        yield raw


def _walk_last(walk: _Walk, path: str, file: IO[bytes] | None, sealed: Head | None, why: str) -> Break | None:
    """The file that is being written, up to its sealed end; and that end, or why there is none."""
    if file is None:
        return Break(path, 0, "This file of the log is missing") if sealed is None or sealed.size else None
    size = os.fstat(file.fileno()).st_size
    broken = _walk_file(walk, path, file, size if sealed is None else min(size, sealed.size))
    if broken is not None or sealed is None:
        return broken or Break(path, 0, why)
    seq = walk.last.seq if walk.last else 0
    if seq < sealed.seq:
        missing = sealed.seq - seq
        return Break(
            path, 0, f"{missing} line{'s' * (missing > 1)} at its end {'are' if missing > 1 else 'is'} missing"
        )
    if (walk.last.hash if walk.last else NO_HASH) != sealed.hash:
        return Break(path, 0, "Its last line is not the one that was sealed")
    reason = _check_extra(walk, file, sealed)
    return Break(path, 0, reason) if reason else None


def _check_extra(walk: _Walk, file: IO[bytes], sealed: Head) -> str:
    """What stands after the sealed end: a line whose writer was killed before the seal, or in the middle of it."""
    extra = os.pread(file.fileno(), MAX_LINE, sealed.size)
    if not extra:
        return ""
    found = judge_extra(extra, sealed)
    walk.held += found == "own"
    walk.torn += found == "torn"
    if found != "foreign":
        return ""
    return f"{len(extra)} bytes stand after its sealed end: added by another hand, or the seal was lost with the power"
