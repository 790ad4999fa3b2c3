"""Reading the audit log: the newest lines that somebody wants to see."""

import os
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.trust.audit.head import read_head
from clawft.trust.audit.line import Line, parse_line
from clawft.trust.audit.log import Audit, count_full, full_path, open_own

__all__ = ["Selected", "Wanted", "has_transaction", "select_lines"]

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Wanted(Struct, frozen=True, kw_only=True):
    """Which lines are asked for; '' means any, and `before` 0 means all."""

    kind: str = ""
    skill: str = ""
    session: str = ""
    decision: str = ""
    text: str = ""
    since: datetime | None = None
    before: int = 0

    def has(self, line: Line) -> bool:
        return (
            self.kind in ("", line.kind)
            and self.session in ("", line.session)
            and self.decision in ("", line.decision)
            and (not self.skill or self.skill in line.skill.split(", "))
            and (self.since is None or line.time is None or line.time >= self.since)
            and (not self.before or line.seq < self.before)
            and (not self.text or self._holds_text(line))
        )

    def _holds_text(self, line: Line) -> bool:
        wanted = self.text.casefold()
        return any(wanted in one.casefold() for one in (line.subject, line.rule, line.session, line.skill))


class Selected(Struct, frozen=True):
    """Lines that were asked for, oldest first; how many of the log could not be read.

    `reached` is the number of the oldest line that was looked at where there may be more, else 0.
    """

    lines: tuple[Line, ...]
    unreadable: int = 0
    reached: int = 0


def _check_version(audit: Audit) -> None:
    """Lines are shown whether or not they can be verified, but not those that would be misread."""
    try:
        descriptor = open_own(audit.head_path, _READ)
    except FileNotFoundError:
        return
    try:
        read_head(descriptor, audit.seal, audit.path)
    except ClawftError as error:
        if error.code == "format-newer":
            raise
    finally:
        os.close(descriptor)


def select_lines(audit: Audit, limit: int, wanted: Wanted, *, most: int | None = None) -> Selected:
    """The newest lines that are wanted; at most so many are looked at for them.

    Raises: OSError; ClawftError for a log of a newer version.
    """
    _check_version(audit)
    found: list[Line] = []
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
            return Selected(tuple(reversed(found)), unreadable, last if last > 1 else 0)
    return Selected(tuple(reversed(found)), unreadable)


def has_transaction(audit: Audit, transaction: str) -> bool:
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
            with open(open_own(name, _READ), "rb") as file:
                raws = file.read().split(b"\n")
        except FileNotFoundError:
            continue
        yield from (raw for raw in reversed(raws) if raw)
