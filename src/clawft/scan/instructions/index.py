"""Which of many phrases could match, and where: told by one pass over a whole text for the words that they need.

Each phrase is looked for by its rarest need; a sentence that has it is then looked at for all others. Only what is left
is searched by the pattern itself.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from clawft.scan.instructions.common import find_commonness

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

__all__ = ["Index", "Needy", "flatten", "members"]

_LETTERS = bytes(code | 32 if chr(code).isalpha() and code < 128 else 32 for code in range(256))


class Needy(Protocol):
    """What can tell the words that it needs."""

    @property
    def needs(self) -> tuple[frozenset[str], ...]: ...


Thing = TypeVar("Thing", bound=Needy)


def flatten(text: str) -> bytes:
    """A text as needs are told: small letters and blanks, as long as it was, with a blank at each end."""
    if not text.isascii():
        text = text.replace("\u0130", "i").lower()  # the one letter whose small form is two
    return b" " + text.encode("latin-1", "replace").translate(_LETTERS) + b" "


class Index(Generic[Thing]):
    """Things by the words they need. Sets of them are numbers: bit n stands for the n-th."""

    def __init__(self, things: Sequence[Thing]) -> None:
        self._things = things

    @cached_property
    def _needs(self) -> list[tuple[frozenset[str], ...]]:
        return [one.needs for one in self._things]

    @cached_property
    def _rarest(self) -> tuple["BytesAhoCorasick", list[int]]:
        """The rarest need of each thing: its words, and which things each word stands for."""
        words: dict[str, int] = {}
        for number, needs in enumerate(self._needs):
            for word in min(needs, key=find_commonness):
                words[word] = words.get(word, 0) | 1 << number
        return _build(words)

    @cached_property
    def _all(self) -> tuple["BytesAhoCorasick", list[int], list[int]]:
        """Every need: its words, which needs each word meets, and which needs each thing has."""
        numbers: dict[frozenset[str], int] = {}
        words: dict[str, int] = {}
        wanted = []
        for needs in self._needs:
            want = 0
            for need in needs:
                if need not in numbers:
                    numbers[need] = 1 << len(numbers)
                    for word in need:
                        words[word] = words.get(word, 0) | numbers[need]
                want |= numbers[need]
            wanted.append(want)
        return *_build(words), wanted

    def find(self, flat: bytes) -> list[tuple[int, int]]:
        """Where the rarest need of something is met in a flat text: the offset in the text, and the things."""
        automaton, things = self._rarest
        return [(start, things[word]) for word, start, _ in automaton.find_matches_as_indexes(flat, overlapping=True)]

    def narrow(self, flat: bytes, things: int) -> int:
        """Those among things all of whose needs are met by a piece of a flat text."""
        automaton, bits, wanted = self._all
        met = 0
        for word, _, _ in automaton.find_matches_as_indexes(flat, overlapping=True):
            met |= bits[word]
        found = 0
        for number in members(things):
            if wanted[number] & met == wanted[number]:
                found |= 1 << number
        return found

    def select(self, flat: bytes) -> list[Thing]:
        """The things that could match a text, given as a flat one."""
        things = 0
        for _, found in self.find(flat):
            things |= found
        return [self._things[number] for number in members(self.narrow(flat, things))] if things else []


def members(things: int) -> Iterator[int]:
    """The numbers of a set of things, in order."""
    while things:
        low = things & -things
        yield low.bit_length() - 1
        things ^= low


def _build(words: dict[str, int]) -> tuple["BytesAhoCorasick", list[int]]:
    from ahocorasick_rs import BytesAhoCorasick, Implementation

    automaton = BytesAhoCorasick([word.encode() for word in words], implementation=Implementation.DFA)
    return automaton, list(words.values())
