"""Which of many phrases could match, and where: told by one pass over a whole text for the words that they need.

Each phrase is looked for by its rarest need; a sentence that has it is then looked at for all others. Only what is left
is searched by the pattern itself. Phrases of all grammars are in one pool, so that a text is read once for all of them.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from clawft.scan.instructions.common import find_commonness

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

__all__ = ["FREE", "Index", "Needy", "Pool", "flatten", "members"]

MAX_KEPT = 2_000
FREE = (1, 2)  # sets that stand for no thing of any pool: a reader may use them for what is no word
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


class Pool:
    """Things and the words they need. Sets of them are numbers: bit n stands for the n-th."""

    def __init__(self) -> None:
        self._things: dict[int, tuple[int, Needy]] = {}
        self._tables: _Tables | None = None

    def add(self, things: Sequence[Needy]) -> int:
        """Add what is not there yet; the set of these things."""
        added = 0
        for one in things:
            if id(one) not in self._things:
                self._things[id(one)] = (1 << len(FREE) + len(self._things), one)
                self._tables = None
            added |= self._things[id(one)][0]
        return added

    @property
    def tables(self) -> "_Tables":
        """The words to look for, put together when they are first looked for."""
        if self._tables is None:
            self._tables = _Tables([one for _, one in self._things.values()])
        return self._tables


class _Tables:
    """The words of all things of a pool."""

    def __init__(self, things: list[Needy]) -> None:
        self._needs = [*(() for _ in FREE), *(one.needs for one in things)]
        self.could_match = lru_cache(maxsize=64)(self._find_all)

    @cached_property
    def rarest(self) -> tuple["BytesAhoCorasick", list[int]]:
        """The rarest need of each thing: its words, and which things each word stands for."""
        words: dict[str, int] = {}
        for number, needs in enumerate(self._needs):
            for word in min(needs, key=find_commonness, default=()):
                words[word] = words.get(word, 0) | 1 << number
        return _build(words)

    @cached_property
    def all(self) -> tuple["BytesAhoCorasick", list[int], list[int]]:
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

    def narrow(self, flat: bytes, things: int) -> int:
        """Those among things all of whose needs are met by a flat text."""
        automaton, bits, wanted = self.all
        met = 0
        for word, _, _ in automaton.find_matches_as_indexes(flat, overlapping=True):
            met |= bits[word]
        found = 0
        for number in members(things):
            if wanted[number] & met == wanted[number]:
                found |= 1 << number
        return found

    def _find_all(self, flat: bytes) -> int:
        automaton, things = self.rarest
        found = 0
        for word, _, _ in automaton.find_matches_as_indexes(flat, overlapping=True):
            found |= things[word]
        return self.narrow(flat, found) if found else 0


_POOL = Pool()


class Index(Generic[Thing]):
    """Some things of a pool."""

    def __init__(self, things: Sequence[Thing], pool: Pool = _POOL) -> None:
        self._things = things
        self._pool = pool
        self.set = pool.add(things)
        self._by_bit = {pool.add([one]): one for one in things}

    def find(self, flat: bytes, extra: int = 0) -> list[tuple[int, int]]:
        """Where the rarest need of one of these is met in a flat text: the offset in the text, and the things."""
        automaton, things = self._pool.tables.rarest
        wanted = self.set | extra
        found = automaton.find_matches_as_indexes(flat, overlapping=True)
        return [(start, own) for word, start, _ in found if (own := things[word] & wanted)]

    def narrow(self, flat: bytes, things: int) -> int:
        """Those among things all of whose needs are met by a piece of a flat text."""
        return self._pool.tables.narrow(flat, things)

    def could_match(self, flat: bytes) -> int:
        """Those of these that could match a text, given as a flat one."""
        tables = self._pool.tables
        return self.set & (tables.could_match(flat) if len(flat) < MAX_KEPT else tables.could_match.__wrapped__(flat))

    def select(self, flat: bytes) -> list[Thing]:
        """These that could match a text, given as a flat one, in their order."""
        found = self.could_match(flat)
        return [one for bit, one in self._by_bit.items() if bit & found] if found else []


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
