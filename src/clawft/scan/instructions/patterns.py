"""A small language for patterns over sentences.

`(hide|suppress) ~60 (errors?|failures?)` is one word group, at most 60 characters, another one; `<person>` is a group
of the vocabulary. A phrase is compiled when a text first has the words that it needs.
"""

import re
from functools import cached_property

from msgspec import Struct

from clawft.scan.instructions.known import look_up_needs
from clawft.scan.instructions.vocabulary import GROUPS

__all__ = ["Phrase", "phrase"]

_GAP = re.compile(r" ~(\d+) ")
_NAME = re.compile(r"<([a-z_]+)>")


class Phrase(Struct, frozen=True, dict=True):
    """A pattern as it is written, and what it stands for."""

    text: str
    target: str = ""

    def about(self, target: str) -> "Phrase":
        """The same pattern, to stand for something else."""
        return Phrase(self.text, target)

    @cached_property
    def outline(self) -> str:
        """The regular expression but for the groups of the vocabulary, which it names."""
        parts = _GAP.split(self.text)
        out = [_bound(parts[0])]
        for gap, part in zip(parts[1::2], parts[2::2], strict=True):
            out.append(f".{{0,{gap}}}?{_bound(part)}")
        return "".join(out)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(_NAME.sub(_expand, self.outline))

    @property
    def sources(self) -> tuple[str, ...]:
        """What its needs are read from."""
        return (self.outline,)

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        """The words that a text must have to match."""
        return look_up_needs(self.outline)

    @property
    def mark(self) -> str:
        """The characters that a text must have to match."""
        return "://" if "<url>" in self.text else "/" if "<fixed>" in self.text else ""


def phrase(text: str, target: str = "") -> Phrase:
    """A pattern of the small language."""
    return Phrase(text, target)


def _bound(part: str) -> str:
    """A part that begins and ends at the edge of a word, where it begins and ends with one."""
    head = part.lstrip("(?:")
    if match := _NAME.match(head):
        head = GROUPS[match[1]].lstrip("(?:")
    begin = r"\b" if head[:1].isalnum() else ""
    end = r"\b" if "$" not in part and (part[-1:].isalnum() or part[-1:] in ")?>") else ""
    return f"{begin}(?:{part}){end}"


def _expand(match: re.Match[str]) -> str:
    return GROUPS[match[1]] if match[1] in GROUPS else match[0]
