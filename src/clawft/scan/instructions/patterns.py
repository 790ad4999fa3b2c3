"""A small language for patterns over sentences.

`(hide|suppress) ~60 (errors?|failures?)` is one word group, at most 60 characters, another one; `<person>` is a group
of the vocabulary. A phrase knows how the words it needs begin, so that most sentences are dismissed without a search.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from clawft.scan.instructions.vocabulary import GROUPS

__all__ = ["Index", "Phrase", "begins", "either", "phrase"]

_BEGIN = re.compile(r"(?<![a-z])[a-z]{2,3}")
_GAP = re.compile(r" ~(\d+) ")
_NAME = re.compile(r"<([a-z_]+)>")
_HEAD = re.compile(r"[a-z]{3}(?![?*])|[a-z]{2}(?![a-z?*(\[-])")
_BRACKET = re.compile(r"[()]")
_DIVIDER = re.compile(r"[()|]")
_LITERAL = re.compile(r"(?<![a-z\\])[a-z]{2,}(?![\[?*]|-\?)|[a-z]+")


# How the commonest words of English, and of skills, begin.
_COMMON = frozenset(
    {
        *(
            "the",
            "and",
            "for",
            "you",
            "use",
            "with",
            "to",
            "in",
            "of",
            "is",
            "it",
            "on",
            "or",
            "an",
            "if",
            "not",
            "this",
            "thi",
        ),
        *(
            "are",
            "be",
            "by",
            "as",
            "at",
            "from",
            "fro",
            "that",
            "tha",
            "all",
            "any",
            "can",
            "when",
            "whe",
            "will",
            "wil",
            "no",
        ),
        *(
            "add",
            "set",
            "get",
            "run",
            "rea",
            "com",
            "con",
            "pro",
            "pre",
            "res",
            "rep",
            "dat",
            "fil",
            "cod",
            "you",
            "do",
            "mus",
        ),
        *(
            "ins",
            "inc",
            "int",
            "ima",
            "sta",
            "sho",
            "use",
            "cre",
            "tex",
            "mod",
            "too",
            "exa",
            "che",
            "sec",
            "tes",
            "aut",
            "wri",
        ),
    }
)


class Phrase(Struct, frozen=True, dict=True):
    """A pattern, what it stands for, and what a text must have to match: how its words begin, and a mark."""

    source: str
    target: str
    needs: tuple[frozenset[str], ...]
    mark: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when a text turns up that could match: most never do."""
        return re.compile(self.source)


class Index:
    """Phrases by the words they need: which of many could match a text, told by one look at each of its words."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self._phrases = tuple(phrases)
        self._bits: dict[str, int] = {}
        self._keys: dict[str, list[tuple[int, int]]] = {}
        self._free: list[tuple[int, int]] = []  # phrases that need no word
        groups: dict[frozenset[str], int] = {}
        for number, one in enumerate(phrases):
            need = 0
            for group in one.needs:
                if group not in groups:
                    groups[group] = 1 << len(groups)
                    for head in group:
                        self._bits[head] = self._bits.get(head, 0) | groups[group]
                need |= groups[group]
            for head in min(one.needs, key=_commonness, default=()):
                self._keys.setdefault(head, []).append((number, need))
            if not one.needs:
                self._free.append((number, 0))

    def select(self, heads: set[str], text: str) -> list[Phrase]:
        """The phrases that could match a text in lower case whose words begin so, in their order."""
        bits, keys, mask = self._bits.get, self._keys.get, 0
        found = list(self._free)
        for head in heads:
            mask |= bits(head, 0)
            if candidates := keys(head):
                found += candidates
        numbers = {number for number, need in found if mask & need == need}
        chosen = [self._phrases[number] for number in sorted(numbers)]
        return [one for one in chosen if not one.mark or one.mark in text]


def _commonness(group: frozenset[str]) -> int:
    """How often words that begin so turn up, roughly: the rarest group of a phrase is the one to look for."""
    return len(group) + 20 * len(group & _COMMON)


def either(*lines: str) -> str:
    """Alternatives, written over as many lines as they need."""
    return "(?:" + "|".join(lines) + ")"


def begins(text: str) -> set[str]:
    """How the words of a text in lower case begin: three letters each."""
    return set(_BEGIN.findall(text))


def phrase(text: str, target: str = "") -> Phrase:
    """Read a pattern of the small language."""
    parts = _GAP.split(_NAME.sub(lambda match: GROUPS[match[1]], text))
    out = [_bound(parts[0])]
    for gap, part in zip(parts[1::2], parts[2::2], strict=True):
        out.append(f".{{0,{gap}}}?{_bound(part)}")
    needs = {heads for part in parts[::2] for heads in _needs(part)}
    mark = "://" if "<url>" in text else "/" if "<fixed>" in text else ""
    return Phrase("".join(out), target, tuple(needs), mark)


def _bound(part: str) -> str:
    """A part that begins and ends at the edge of a word, where it begins and ends with one."""
    first, last = part.lstrip("(?:")[:1], part[-1:]
    begin = r"\b" if first.isalnum() else ""
    end = r"\b" if "$" not in part and (last.isalnum() or last in ")?") else ""
    return f"{begin}(?:{part}){end}"


def _needs(part: str) -> Iterator[frozenset[str]]:
    """How the words begin that a part cannot do without: of each group and each plain word at its top level."""
    for atom, optional in _atoms(part):
        if not optional and (heads := _heads(atom)):
            yield heads


def _atoms(part: str) -> Iterator[tuple[str, bool]]:
    """The groups and plain words of a part, and whether each may be missing."""
    at = 0
    while at < len(part):
        if part[at] == "(":
            end = _closing(part, at)
            yield part[at : end + 1], part.startswith(("?", "*", "{0"), end + 1)
            at = end + 1
        elif match := _LITERAL.match(part, at):
            yield match[0], part.startswith(("?", "*"), match.end())
            at = match.end()
        else:
            at += 2 if part[at] == "\\" else 1


def _closing(part: str, at: int) -> int:
    if part[at] not in "()":
        return at
    depth = 0
    for match in _BRACKET.finditer(part, at):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    return len(part) - 1


def _heads(atom: str) -> frozenset[str]:
    """How the first word of an atom may begin; nothing when that cannot be told."""
    if atom[0] != "(":
        match = _HEAD.match(atom)
        return frozenset({match[0]}) if match else frozenset()
    if "\\" in atom or atom.startswith(("(?=", "(?!", "(?<")):
        return frozenset()
    found: set[str] = set()
    for one in _alternatives(atom[1:-1].removeprefix("?:")):
        one = one.lstrip(" ")
        heads = _heads(one[: _closing(one, 0) + 1]) if one[:1] == "(" else _heads(one or " ")
        if not heads or (one[:1] == "(" and one.startswith(("?", "*", "{0"), _closing(one, 0) + 1)):
            return frozenset()
        found |= heads
    return frozenset(found)


def _alternatives(inner: str) -> Iterator[str]:
    """The alternatives of a group, split where no group is open."""
    if "(" not in inner and ")" not in inner:
        yield from inner.split("|")
        return
    depth, begin = 0, 0
    for match in _DIVIDER.finditer(inner):
        char = match[0]
        if char == "|" and depth == 0:
            yield inner[begin : match.start()]
            begin = match.end()
        depth += (char == "(") - (char == ")")
    yield inner[begin:]
