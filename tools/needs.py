"""Find the words that the phrases of the scanner need, and write them down for it to look up."""

import json
import re
from functools import cache

from clawft.scanner.instructions import find_orders  # noqa: F401  (brings all grammars)
from clawft.scanner.instructions.index import POOL
from clawft.scanner.instructions.needs import FILE, GROUPS, find_commonness, make_key

ENOUGH = 4  # letters that tell a word well enough
MAX_BEGINNINGS = 80
_TOKEN = re.compile(
    r"<[a-z_]+>|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?::|=|!|<=|<!))?|[?*+]\??|\{\d+(?:,\d*)?\}\??|[a-z]+|.",
    re.DOTALL,
)
_LETTERS = re.compile(r"[a-z]|\\[wSDWB]|\[\^")
_STOP = "\0"  # anything may follow
_EDGE = "\1"  # a word begins or ends here


class _Atom:
    """One piece of a sequence: characters (none when they may be any) or a choice, and how often it comes."""

    __slots__ = ("_starts", "choice", "optional", "repeats", "text")

    def __init__(self, text: str = "", choice: tuple[list["_Atom"], ...] = (), how: str = "") -> None:
        self.text = text
        self.choice = choice
        self.optional = how[:1] in ("?", "*") or how[:2] == "{0"
        self.repeats = how[:1] in ("*", "+", "{")
        self._starts: frozenset[str] | None = None

    @property
    def starts(self) -> frozenset[str]:
        """The beginnings of its matches; found once, since many patterns share a group."""
        if self._starts is None:
            found = {self.text} if not self.choice else set()
            for sequence in self.choice:
                first = sequence[0] if len(sequence) == 1 else None
                if first and not first.choice and not first.optional and not first.repeats:
                    found.add(first.text)
                else:
                    found |= _expand(sequence, 0)
            self._starts = frozenset(word + _STOP for word in found) if self.repeats else frozenset(found)
        return self._starts

    def again(self, how: str) -> "_Atom":
        return _Atom(self.text, self.choice, how)


def find_needs(source: str) -> tuple[frozenset[str], ...]:
    """The needs of a pattern, in which `<name>` is a group of the vocabulary."""
    return tuple(dict.fromkeys(_find([_parse(source)], edge=False)))


def _parse(source: str) -> _Atom:
    return _Atom(choice=_parse_choice(_TOKEN.findall(source), 0)[0])


@cache
def _parse_group(name: str) -> _Atom:
    return _parse(GROUPS[name])


def _parse_choice(tokens: list[str], at: int) -> tuple[tuple[list[_Atom], ...], int]:
    """The alternatives from a token on to the end of their group, and the token after it."""
    sequence: list[_Atom] = []
    choice = [sequence]
    while at < len(tokens):
        token = tokens[at]
        at += 1
        first = token[0]
        if "a" <= first <= "z":
            sequence.append(_Atom(token))
        elif first == "|":
            sequence = []
            choice.append(sequence)
        elif first == ")":
            break
        elif first == "(":
            inner, at = _parse_choice(tokens, at)
            if token in ("(", "(?:"):  # what looks ahead or back has no width
                sequence.append(_Atom(choice=inner))
        elif first in "?*+{":
            _repeat(sequence, token)
        elif first == "<" and token[1:-1] in GROUPS:
            sequence.append(_parse_group(token[1:-1]))
        elif token != "^":
            sequence.append(_Atom(_read(token)))
    return tuple(choice), at


def _read(token: str) -> str:
    """One character, class of characters or place, in letters and blanks."""
    if token == "\\b":
        return _EDGE
    if token in (" ", "\\s") or (token[0] == "[" and not _LETTERS.search(token)):
        return " " + _STOP  # of a run of blanks, one is left for the pattern
    if token in (".", "$") or token[0] == "[" or (token[0] == "\\" and token[1].isalnum()):
        return _STOP
    return " "


def _repeat(sequence: list[_Atom], how: str) -> None:
    """Note how often the last piece comes; of letters, the last one."""
    if not sequence:
        return
    last = sequence.pop()
    if len(last.text) > 1 and _STOP not in last.text:
        sequence.append(_Atom(last.text[:-1]))
        last = _Atom(last.text[-1])
    sequence.append(last.again(how))


def _find(sequence: list[_Atom], *, edge: bool) -> list[frozenset[str]]:
    """The needs of a sequence; `edge` when the character before it is no letter."""
    found: list[frozenset[str]] = []
    for index, atom in enumerate(sequence):
        if not atom.optional and atom.text[:1] not in (_EDGE, _STOP, " "):
            need = _find_beginnings(sequence, index, edge)
            if need:
                found.append(need)
            if len(atom.choice) == 1:
                found.extend(_find(atom.choice[0], edge=edge))
            elif atom.choice and not need and (need := _find_shared(atom.choice, edge)):
                found.append(need)
        edge = _is_edge(atom, edge)
    return found


def _find_shared(choice: tuple[list[_Atom], ...], edge: bool) -> frozenset[str]:
    """Join the needs of alternatives: the rarest need of each."""
    needs = [_find(branch, edge=edge) for branch in choice]
    if not all(needs):
        return frozenset()
    rarest = [min(need, key=find_commonness) for need in needs]
    together = frozenset(word for need in rarest for word in need)
    return together if len(together) <= MAX_BEGINNINGS else frozenset()


def _is_edge(atom: _Atom, edge: bool) -> bool:
    """Return whether the character before the next atom is no letter, whatever this one matched."""
    if atom.text == _EDGE:
        return True
    if not atom.choice:
        return atom.text[:1] == " " and (edge or not atom.optional)
    for sequence in atom.choice:
        after = edge
        for node in sequence:
            after = _is_edge(node, after)
        if not after:
            return False
    return edge or not atom.optional


def _find_beginnings(sequence: list[_Atom], index: int, edge: bool) -> frozenset[str]:
    """Find the beginnings of the text from an atom on, as a need; empty when they say too little."""
    found = set()
    for expanded in _expand(sequence, index):
        start = edge or expanded[:1] == _EDGE
        letters = expanded.lstrip(_EDGE).partition(_STOP)[0]
        if _EDGE in letters:
            letters = letters.partition(_EDGE)[0].rstrip(" ") + " "
        if len(letters) < (3 if start else 4) or letters[0] == " ":
            return frozenset()
        found.add(" " + letters if start else letters)
    return frozenset(found)


def _expand(sequence: list[_Atom], index: int) -> set[str]:
    """The beginnings of what a sequence may match from an atom on; the empty one when nothing is known."""
    if index == len(sequence):
        return {""}
    atom = sequence[index]
    found = set(atom.starts)
    open_ended = [word for word in found if _STOP not in word]
    if not atom.optional:
        if not open_ended:
            return found
        if not _is_plain(sequence, index + 1):  # more would tell little, and cost much
            long = [word for word in open_ended if len(word) >= ENOUGH]
            found.difference_update(long)
            found.update(word + _STOP for word in long)
            open_ended = [word for word in open_ended if len(word) < ENOUGH]
            if not open_ended:
                return found
    rest = _expand(sequence, index + 1)
    found.difference_update(open_ended)
    for word in open_ended:
        if len(word) < ENOUGH or len(rest) == 1:
            found.update([word + more for more in rest])
        else:
            found.add(word + _STOP)
    if atom.optional:
        found |= rest
    return found if len(found) <= MAX_BEGINNINGS else {""}


def _is_plain(sequence: list[_Atom], index: int) -> bool:
    """Return whether fixed characters follow, or nothing."""
    return index == len(sequence) or not (sequence[index].choice or sequence[index].optional)


def render_needs() -> str:
    """All of them, a line for each pattern."""
    sources = {source for one in POOL.things for source in one.sources}
    needs = {make_key(source): [sorted(need) for need in find_needs(source)] for source in sources}
    lines = [f"{json.dumps(key)}: {json.dumps(needs[key])}" for key in sorted(needs)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(render_needs())
