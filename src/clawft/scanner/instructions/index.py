"""The phrase index: one pass over a text for the words that phrases need shows which could match, and where.

Each phrase is looked for by its rarest need; a sentence that has it is then looked at for all others. Only what is left
is searched by the pattern itself. Phrases of all grammars are in one pool, so that a text is read once for all of them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Generic, Protocol, TypeVar

from clawft.scanner.instructions.needs import find_commonness
from clawft.scanner.regex import make_automaton

MAX_CACHED = 2_000
MAX_WORD = 64
CHUNK = 1 << 17
FREE = (1, 2)  # sets that are no thing of any pool: a reader may use them for what is no word
_LETTERS = bytes(code | 32 if chr(code).isalpha() and code < 128 else 32 for code in range(256))


class HasNeeds(Protocol):
    """A thing that knows the words it needs, and the patterns they come from."""

    @property
    def sources(self) -> tuple[str, ...]: ...

    @property
    def needs(self) -> tuple[frozenset[str], ...]: ...


Thing = TypeVar("Thing", bound=HasNeeds)


def flatten(text: str) -> bytes:
    """A text as needs are looked up in it: small letters and blanks, as long as it was, with a blank at each end."""
    if not text.isascii():
        text = text.replace("\u0130", "i").lower()  # the one letter whose small form is two
    return b" " + text.encode("latin-1", "replace").translate(_LETTERS) + b" "


class PhrasePool:
    """Things and the words they need. Sets of them are numbers: bit n is the n-th."""

    def __init__(self) -> None:
        self._things: dict[int, tuple[int, HasNeeds]] = {}
        self._tables: _Tables | None = None

    def add(self, things: Sequence[HasNeeds]) -> int:
        """Add what is not there yet; the set of these things."""
        added = 0
        for thing in things:
            if id(thing) not in self._things:
                self._things[id(thing)] = (1 << len(FREE) + len(self._things), thing)
                self._tables = None
            added |= self._things[id(thing)][0]
        return added

    @property
    def tables(self) -> "_Tables":
        """The words to look for, put together when they are first looked for."""
        if self._tables is None:
            self._tables = _Tables(self.things)
        return self._tables

    @property
    def things(self) -> list[HasNeeds]:
        """All of them, in their order."""
        return [thing for _, thing in self._things.values()]


class _Tables:
    """The words of all things of a pool: which needs each meets, for which things it stands, what each thing needs."""

    def __init__(self, things: list[HasNeeds]) -> None:
        numbers: dict[frozenset[str], int] = {}
        meets: dict[str, int] = {}
        stands: dict[str, int] = {}  # for those things whose rarest need it meets
        self.wanted = [0 for _ in FREE]
        for number, thing in enumerate(things, len(FREE)):
            needs = thing.needs
            for need in needs:
                if need not in numbers:
                    numbers[need] = 1 << len(numbers)
                    for word in need:
                        meets[word] = meets.get(word, 0) | numbers[need]
            self.wanted.append(reduce(or_, (numbers[need] for need in needs)))
            for word in min(needs, key=find_commonness):
                stands[word] = stands.get(word, 0) | 1 << number
        self.automaton = make_automaton(tuple(word.encode() for word in meets))
        self.meets = list(meets.values())
        self.stands = [stands.get(word, 0) for word in meets]
        self.things = [[(1 << number, self.wanted[number]) for number in members(own)] for own in self.stands]
        self.could_match = lru_cache(maxsize=64)(self._find_in)
        self.stand_for = lru_cache(maxsize=4)(self._stand_for)

    def narrow(self, words: Iterable[int]) -> int:
        """The things all of whose needs are met by some words."""
        met = found = 0
        known = set(words)
        for word in known:
            met |= self.meets[word]
        for word in known:
            for thing, wanted in self.things[word]:
                if wanted & met == wanted:
                    found |= thing
        return found

    def _stand_for(self, wanted: int) -> list[int]:
        """Return, for each word, the wanted things that need it."""
        return [own & wanted for own in self.stands]

    def _find_in(self, flat: bytes) -> int:
        return self.narrow([word for word, _, _ in self.automaton.find_matches_as_indexes(flat, overlapping=True)])


POOL = PhrasePool()


class PhraseSearch:
    """A text that was read once for the words of a pool: what could match in any piece of it."""

    def __init__(self, text: str, end: int | None = None, pool: PhrasePool = POOL) -> None:
        self._tables = pool.tables
        self._ends = array("I")  # the last character of each word, or the blank after it
        self._words = array("I")
        self._known: dict[tuple[int, int], int] = {}
        flat = flatten(text if end is None else text[:end])
        find = self._tables.automaton.find_matches_as_indexes
        for start in range(0, len(flat), CHUNK):
            begin = max(0, start - MAX_WORD)
            found = find(flat[begin : start + CHUNK], overlapping=True)
            found = [hit for hit in found if begin + hit[2] > start] if begin else found
            self._words.extend([word for word, _, _ in found])
            self._ends.extend([begin + end - 2 if begin + end > 2 else 0 for _, _, end in found])

    def find(self, wanted: int) -> list[tuple[int, int]]:
        """Find where the rarest need of any of some things is met, and of which, from left to right."""
        stands = self._tables.stand_for(wanted)
        return [(end, own) for end, word in zip(self._ends, self._words, strict=True) if (own := stands[word])]

    def could_match(self, start: int, end: int) -> int:
        """The things all of whose needs are met between two places of the text."""
        known = self._known.get((start, end))
        if known is None:
            first = bisect_left(self._ends, start)
            known = self._tables.narrow(self._words[first : bisect_right(self._ends, end, first)])
            self._known[start, end] = known
        return known


class PhraseIndex(Generic[Thing]):
    """Some things of a pool."""

    def __init__(self, things: Sequence[Thing], pool: PhrasePool = POOL) -> None:
        self._things = things
        self._pool = pool
        self.set = pool.add(things)
        self._ranks = {pool.add([thing]).bit_length() - 1: rank for rank, thing in enumerate(things)}

    def could_match(self, flat: bytes) -> int:
        """Those of these that could match a text, given as a flat one."""
        tables = self._pool.tables
        return self.set & (tables.could_match(flat) if len(flat) < MAX_CACHED else tables.could_match.__wrapped__(flat))

    def select(self, flat: bytes) -> list[Thing]:
        """These that could match a text, given as a flat one, in their order."""
        return self.among(self.could_match(flat))

    def among(self, found: int) -> list[Thing]:
        """These that are in a set, in their order."""
        found &= self.set
        ranks = sorted(self._ranks[number] for number in members(found)) if found else ()
        return [self._things[rank] for rank in ranks]


def members(things: int) -> Iterator[int]:
    """The numbers of a set of things, in order."""
    while things:
        low = things & -things
        yield low.bit_length() - 1
        things ^= low
