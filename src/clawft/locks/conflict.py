"""A lock that git could not merge: both versions of it are there, between markers, and mostly they agree."""

import re

from msgspec import Struct

from clawft.locks.file import parse_lock
from clawft.locks.model import LockedSkill

__all__ = ["Healed", "heal_lock"]

_BEGIN, _BASE, _MIDDLE, _END = (re.compile(rf"{re.escape(char * 7)}(?: .*)?") for char in "<|=>")


class Healed(Struct, frozen=True):
    """What both versions agree on or only one has, and the names about which somebody must decide."""

    skills: dict[str, LockedSkill]
    undecided: tuple[str, ...]
    ours: dict[str, LockedSkill]
    theirs: dict[str, LockedSkill]


def heal_lock(data: bytes, path: str) -> Healed:
    """Both versions as one. Raises: ClawftError where one of them is no lock by itself."""
    ours, theirs = (parse_lock(side, path) for side in _split(data))
    both = {**theirs, **ours}
    undecided = tuple(sorted(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]))
    return Healed({name: skill for name, skill in both.items() if name not in undecided}, undecided, ours, theirs)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The two versions; what was before both, where git shows that, is in neither."""
    sides: tuple[list[str], list[str]] = ([], [])
    within: tuple[int, ...] = (0, 1)
    for line in data.decode(errors="surrogateescape").splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if _BEGIN.fullmatch(bare) and within == (0, 1):
            within = (0,)
        elif _BASE.fullmatch(bare) and within == (0,):
            within = ()
        elif _MIDDLE.fullmatch(bare) and within in ((0,), ()):
            within = (1,)
        elif _END.fullmatch(bare) and within == (1,):
            within = (0, 1)
        else:
            for side in within:
                sides[side].append(line)
    ours, theirs = ("".join(side).encode(errors="surrogateescape") for side in sides)
    return ours, theirs
