"""Wildcards over characters, words and names of a path: matched without backtracking, whatever a stranger wrote."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

__all__ = ["Glob", "PatternError", "Sign", "fits", "is_plain", "match_items", "parse_glob"]

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)|\{(baseDir)\}")
Item = TypeVar("Item")
Part = TypeVar("Part")


class PatternError(ValueError):
    """What stands in the brackets of a pattern is not understood; the message says why."""


class Sign(Enum):
    """What stands for others: any number of items, none included, or exactly one."""

    REST = "*"
    ANY = "?"


Glob = tuple[str | Sign, ...]  # single characters and signs


def match_items(pattern: Sequence[Part | Sign], items: Sequence[Item], fit: Callable[[Part, Item], bool]) -> bool:
    """Whether a pattern with signs in it matches all items. It takes the product of both in time, never more."""
    at = here = 0
    back = resume = -1  # the last REST, and how far it has swallowed
    while here < len(items):
        part = pattern[at] if at < len(pattern) else None
        if part is Sign.REST:
            back, resume = at, here
            at += 1
        elif part is Sign.ANY or (part is not None and not isinstance(part, Sign) and fit(part, items[here])):
            at, here = at + 1, here + 1
        elif back >= 0:
            resume += 1
            at, here = back + 1, resume
        else:
            return False
    return all(part is Sign.REST for part in pattern[at:])


def fits(glob: Glob, text: str) -> bool:
    """Whether a glob matches a whole text."""
    return match_items(glob, text, _same)


def is_plain(part: Glob | Sign) -> bool:
    """Whether a glob stands for one text only."""
    return not isinstance(part, Sign) and all(isinstance(one, str) for one in part)


def parse_glob(text: str, folders: Mapping[str, str], signs: str = "*") -> Glob:
    """A text as characters and signs; what a variable stands for is plain. Raises: PatternError."""
    tokens: list[str | Sign] = []
    at = 0
    for match in _VARIABLE.finditer(text):
        tokens += _read(text[at : match.start()], signs)
        folder = folders.get(match[1] or match[2] or match[3])
        if not folder:
            raise PatternError(f"it is not known what '{match[0][:60]}' stands for")
        tokens += folder
        at = match.end()
    return (*tokens, *_read(text[at:], signs))


def _read(text: str, signs: str) -> list[str | Sign]:
    if any(char in "${}" for char in text):
        raise PatternError("of variables only folders such as ${CLAUDE_SKILL_DIR} are understood")
    return [Sign(char) if char in signs else char for char in text]


def _same(one: str, other: str) -> bool:
    return one == other
