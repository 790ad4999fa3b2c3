"""Patterns that are compiled when first used: a skill needs few of them, and compiling costs more than searching.

Each can tell the words that it needs, so that an index finds out where a search is worth it.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from clawft.scan.instructions.known import look_up_needs

__all__ = ["Late", "Together", "Words", "either"]


class Late:
    """A regular expression, compiled at its first search."""

    def __init__(self, source: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.source = source
        self.flags = flags

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.source, self.flags)

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        return look_up_needs(self.source)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.pattern.search(text, start)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.pattern.match(text, start)

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(text, start, len(text) if end is None else end)

    def sub(self, to: str, text: str) -> str:
        return self.pattern.sub(to, text)


class Together:
    """Patterns of which a text must have all."""

    def __init__(self, *patterns: Late) -> None:
        self._patterns = patterns

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(one.source for one in self._patterns)

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        return tuple(need for one in self._patterns for need in one.needs)


class Words:
    """Words of which a text must have one, in small letters."""

    def __init__(self, *words: str) -> None:
        self.sources = ()
        self.needs = (frozenset(words),)


def either(*lines: str) -> str:
    """Alternatives, written over as many lines as they need."""
    return "(?:" + "|".join(lines) + ")"
