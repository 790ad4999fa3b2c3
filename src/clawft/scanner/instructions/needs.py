"""The words that a pattern cannot match without, so that most texts are dismissed without a search."""

import os
import re
from functools import cache
from hashlib import sha256

import msgspec

# How often a word turns up among ten thousand, at least.
_OFTEN = {
    40: """
    and api bash for from https id in is json key name or the to use with your
    """,
    20: """
    agent ai all by check com content create data description file get if it list md no not of on py python
    scripts search skill text this token type user what when you
    """,
    10: """
    action add agents an analysis app are as at auth be before can claude cli client code command config const
    context curl current date default do email error example examples export files first format full github
    how import install message model my new only output page path patterns post project query read response
    return run session set setup sh skills specific start state status step string task test that time title
    true update url usage value
    """,
    6: """
    about access account address after any application authorization auto available await base based best
    browser build but call class color commands common complete configuration custom delete design details dev
    div docs document documentation don each env environment event events false find free function generate
    git have help high html image index input integration issues item items js just level limit local log main
    management markdown market max mcp memory messages metadata mode more multiple must need next node notes
    npx number one open optional options order pattern per phase plan price process product prompt quick rate
    re reference references request required requires research result results review risk script security see
    self send server service should show size source structure style summary support system target tasks
    template tokens tool tools total typescript up users using verify version via video voice wallet web why
    without work workflow
    """,
    4: """
    across actions active always amount analyze ask assets async audio authentication automatically azure
    balance basedir bearer block body bot button category chain change changes chat clear company console
    control core count credentials critical daily database day days def different directory does domain echo
    end endpoint errors etc every execution extract feature features fetch field filter fix flow focus form
    found good google group guide handling has here history hours http human images implementation include
    info information into issue javascript jq keep keys label language last let license like line link load
    location login logs long low make me media medium method metrics min multi needed network never news note
    now npm null oauth openai operations option org other out over password pdf performance platform position
    practices print private production profile projects public px quality react real recommended repo report
    requests requirements returns role save schema score secret section select sessions settings single src
    stop strategy success table tags team testing then these they top track ts tsx types uses validation view
    vs want where will works write yes
    """,
}


def find_commonness(need: frozenset[str]) -> int:
    """Estimate how often the words of a need occur."""
    often = _count_beginnings()
    return sum(often.get(word.lstrip(" "), 1) for word in need)


@cache
def _count_beginnings() -> dict[str, int]:
    """Count, for each beginning of a common word, how often words begin with it."""
    counts: dict[str, int] = {}
    for often, text in _OFTEN.items():
        for word in text.split():
            whole = word + " "
            for end in range(2, len(whole) + 1):
                counts[whole[:end]] = counts.get(whole[:end], 0) + often
    return counts


_INFORMED = (
    "(?:instructions?|prompts?|rules?|guidelines?|directives?|constraints?|polic(?:y|ies)|guardrails?|restrictions?"
    "|commands?"
    "|orders?|context|training|programming|messages?|safeguards?|safety (?:rules|measures|protocols|guidelines))"
)
_BEFORE = (
    "(?:previous|prior|above|earlier|preceding|existing|former|past|foregoing|original|initial|system|safety|security"
    "|developer|your|content|ethical|usual|normal|default|operational|other|standing|core|built[- ]in)"
)
_PERSON = (
    "(?:users?|humans?|operators?|owners?|people|persons?|customers?|clients?|reviewers?|auditors?|admins?|them|anyone"
    "|authors?|teams?|readers?|recipients?|patients?|managers?|anybody|him|her)"
)
_CHECK = (
    "(?:confirmations?|approvals?|permissions?|consent|authori[sz]ation|verification|review|validation|preview|prompts?"
    "|warnings?|dialogs?|questions?|(?:safety |security )?checks?|human(?:[- ]in[- ]the[- ]loop)?)"
)
_NOT = (
    "(?:do not|don't|never|must not|mustn't|should not|shouldn't|does not|doesn't|will not|won't|cannot|avoid"
    "|refrain from)"
)
_RESULT = (
    "(?:results?|findings?|errors?|failures?|warnings?|issues?|vulnerabilit(?:y|ies)|packages?|rows?|records?|tests?"
    "|alerts?|risks?|problems?|evidence|(?:stack )?traces?|details|limitations|negative (?:results|reviews)|failure "
    "modes|discrepancies)"
)
_EVEN = "(?:even (?:if|when|though)|regardless|whether or not|no matter|irrespective)"
_AGENT_FILES = (
    r"(?:(?:claude|agents|soul|memory|identity|heartbeat|tools|user|gemini)\.md|\.(?:cursor|cline|windsurf)rules"
    r"|copilot-instructions\.md|\.(?:claude|codex|cursor|openclaw|gemini|hermes)/[\w./-]+|settings(?:\.local)?\.json"
    r"|openclaw\.json|claude_desktop_config\.json|\.?mcp(?:_config)?\.json|(?:the|your|its) system prompt|(?:the |your "
    r"|its )?(?:agent(?:'s)?|long[- ]term|persistent) (?:memory|instructions|configuration|settings|permissions))"
)
# A file at a fixed place of the machine, outside of the skill and of the user's project.
_FIXED = r"((?:/(?:root|app|opt|home|srv|mnt|var|etc|usr|tmp|data|private|users)/|c:\\)[\w./\\<>{}*-]{2,160})"
_URL = r"(https?://[^\s)\]>`<|,\"']+)"

GROUPS = {
    "told": _INFORMED, "before": _BEFORE, "person": _PERSON, "check": _CHECK, "not": _NOT, "result": _RESULT,
    "even": _EVEN, "agent_files": _AGENT_FILES, "fixed": _FIXED, "url": _URL,
}  # fmt: skip


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


FILE = os.path.join(os.path.dirname(__file__), "needs.json")


def look_up_needs(source: str) -> tuple[frozenset[str], ...]:
    """Return the result of `find_needs`, from needs.json when it is there."""
    known = _load().get(make_key(source))
    return find_needs(source) if known is None else known


def make_key(source: str) -> str:
    """Return the key of a pattern in needs.json."""
    return sha256(_vocabulary() + source.encode()).hexdigest()[:24]


@cache
def _vocabulary() -> bytes:
    return sha256(repr(GROUPS).encode()).digest()


@cache
def _load() -> dict[str, tuple[frozenset[str], ...]]:
    with open(FILE, "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, tuple[frozenset[str], ...]])
