"""What an opener finds in a file that is more than text, and how much may be unpacked in all."""

import time

from msgspec import Struct

from clawft.scan.facts import Kind

__all__ = ["Mark", "Member", "Part", "Passage", "Room", "Unread"]

MAX_MEMBERS = 5_000
MAX_UNPACKED = 24 << 20
MAX_DEPTH = 5


class Member(Struct, frozen=True):
    """A file inside a file, to be looked at like any other."""

    name: str
    data: bytes
    how: str = "archive"


class Passage(Struct, frozen=True):
    """A text inside a file, of a known language; "" for one to be guessed."""

    text: str
    language: str
    how: str
    name: str = ""


class Mark(Struct, frozen=True):
    """Something about the material that a rule may object to."""

    kind: Kind
    target: str
    via: str
    name: str = ""


class Unread(Struct, frozen=True):
    """Something that was not read, and why."""

    reason: str
    name: str = ""
    failed: bool = False  # it is there to be used, and nobody could look at it


Part = Member | Passage | Mark | Unread


class Room(Struct):
    """How much may still be unpacked: bombs meet its end, not the end of the memory."""

    deadline: float
    unpacked: int = 0
    members: int = 0

    @property
    def left(self) -> int:
        """The bytes that may still be unpacked; none after the deadline."""
        return max(0, MAX_UNPACKED - self.unpacked) if time.monotonic() < self.deadline else 0

    def admit(self) -> bool:
        """Count one more member; False when there were too many."""
        self.members += 1
        return self.members <= MAX_MEMBERS and self.left > 0

    def spend(self, size: int) -> None:
        self.unpacked += size
