"""Relevance: which programs, statements and lines of a long text can do anything that leaves a fact."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from clawft.scanner.languages.code.lexer import COMMAND, LINE, MIXED, NAME, OPERATOR, STRING, TokenList
from clawft.scanner.languages.code.tables import find_names
from clawft.scanner.regex import words

# Effects that only pass on or take apart what another call gave: alone they leave no fact.
_SILENT = frozenset((
    "wrap", "path", "path-own", "quiet", "chars", "bytes", "range", "ord", "reversed", "map", "zip", "enumerate",
    "maketrans", "int", "home", "is-home", "partial", "thread", "list", "list-own", "promisify", "archive-add",
    "read-env-file", "require", "import", "itself",
))  # fmt: skip
# Effects of methods of things that are not known. Some need a fact that was left before, some an address.
_OWN = frozenset(("http-own", "send-own"))
_WORD = {"python": re.compile(r"\w+"), "javascript": re.compile(r"[\w$]+")}
# What most programs that act have in them: found at once, without a look at every word.
_PLAIN = {
    "python": ("open(", "os.environ", "subprocess.", "requests.", "getattr("),
    "javascript": ("process.env", "fetch(", "readFileSync(", "child_process"),
}
_PART = re.compile(r"[\w$]+")
_SENDS = re.compile(r"\.\s*(?:post|put|patch|urlopen|request|sendto|sendBeacon)\b")
_GETS = re.compile(r"\.\s*get\s*\(\s*(?:url\s*=\s*)?(?![rbu]?(?:\"[^\"/\n]{0,200}\"|'[^'/\n]{0,200}')\s*[,)])")
_ADDRESS = re.compile(r"://|[}\"'`s]/")
# Ways to make a name while running.
_BY_NAME = {
    "python": frozenset(("globals", "locals", "vars", "__dict__", "__builtins__", "builtins", "modules")),
    "javascript": frozenset(("Reflect",)),
}
_ROOTS = frozenset(("globalThis", "window", "global", "self", "frames", "top", "parent"))
_NOT_WRITTEN = r"\s*\(\s*(?!(?:\"[^\"\\\n]{0,200}\"|'[^'\\\n]{0,200}'|`[^`\\$\n]{0,200}`)\s*[,)])"
_LOADED = {
    "python": re.compile(rf"\b(?:__import__|import_module){_NOT_WRITTEN}"),
    "javascript": re.compile(rf"\b(?:require|import){_NOT_WRITTEN}"),
}
_MAKER = re.compile(r"[.\"'`]\s*constructor\b")
_COMPUTED = re.compile(
    r"[\w$)\]][ \t]*(?:\?\.)?\[[ \t]*(?!\d+[ \t]*\]|(?:\"[\w $.-]*\"|'[\w $.-]*')[ \t]*\])[^\]\s]"
    r"|[{,]\s*\[[^\]\n]{1,200}\]\s*:"
)


@cache
def _needs(language: str) -> tuple[dict[str, list[frozenset[str]]], list[frozenset[str]]]:
    """For the last word of each name that does something, the other words of it; and what those names begin with."""
    needs: dict[str, list[frozenset[str]]] = {}
    owners: set[frozenset[str]] = set()
    for name, (effect, _) in find_names(language).items():
        words = _PART.findall(name)
        if effect in _SILENT or effect in _OWN or not words:
            continue
        if words[-1] == "constructor":
            continue  # every class has one; that of a function is reached as a member
        needs.setdefault(words[-1], []).append(frozenset(words[:-1]))
        owners.add(frozenset(words[:-1]))
    return needs, [owner for owner in owners if owner]


def may_act(texts: Iterable[str], language: str) -> bool:
    """Return whether texts of one program, taken together, could do anything that leaves a fact."""
    pattern = _WORD.get(language)
    if pattern is None:
        return True
    texts = list(texts)
    if any(mark in text for text in texts for mark in _PLAIN[language]):
        return True
    words: set[str] = set()
    for text in texts:
        words.update(pattern.findall(text))
    needs, owners = _needs(language)
    for word in needs.keys() & words:
        if any(others <= words for others in needs[word]):
            return True
    if not words.isdisjoint(_BY_NAME[language]):
        return True
    return any(_is_dynamic(text, language, words, owners) for text in texts)


def _is_dynamic(text: str, language: str, words: set[str], owners: list[frozenset[str]]) -> bool:
    """Return whether a text asks for something by an address, or by a name that it makes itself."""
    if _SENDS.search(text) or (_GETS.search(text) and _ADDRESS.search(text)):
        return True
    if _LOADED[language].search(text):
        return True
    if language == "javascript" and _MAKER.search(text):
        return True
    if language != "javascript" or not _COMPUTED.search(text):
        return False
    return not words.isdisjoint(_ROOTS) or any(owner <= words for owner in owners)


OUTPUT_CALLS = frozenset(("print", "console", "logger", "logging"))
_LANGUAGES = frozenset(("python", "javascript"))
# Calls that only change the form of what they are given.
_PURE = words(
    "len str int float round repr sorted list set dict tuple sum min max abs range type bool join format upper"
    " lower strip ljust rjust center replace title items keys values isoformat strftime now today dumps stringify"
    " toString toFixed toUpperCase toLowerCase padEnd padStart slice repeat trim toLocaleString toISOString Date"
    " String Number capitalize count rstrip lstrip total_seconds any all"
)


@cache
def _names_that_act(language: str) -> frozenset[str]:
    """The last words of what does something by being named: the environment, the cookies of a page."""
    found = find_names(language).items()
    return frozenset(
        name.rpartition(".")[2] for name, (effect, _) in found if effect == "environment" or effect.startswith("is-")
    )


def skip_output_statement(tokens: TokenList, at: int, limit: int) -> int:
    """The token after the statement that begins here, if it only tells something; the same token otherwise."""
    kinds, values = tokens.kinds, tokens.values
    if tokens.syntax.name not in _LANGUAGES:
        return at
    name, opened = values[at], at + 1
    if values[opened] == "." and kinds[opened + 1] == NAME:
        name, opened = f"{name}.{values[opened + 1]}", opened + 2
    end = tokens.match.get(opened, limit) + 1
    if values[opened] != "(" or end >= limit or not (kinds[end] == LINE or values[end] in (";", "}")):
        return at
    if find_names(tokens.syntax.name).get(name, ("", ""))[0] != "quiet":
        return at
    return end if _is_idle(tokens, opened + 1, end - 1) else at


def _is_idle(tokens: TokenList, start: int, end: int) -> bool:
    """Return whether no token of a span can have an effect."""
    kinds, values, acting = tokens.kinds, tokens.values, _names_that_act(tokens.syntax.name)
    for at in range(start, end):
        kind, value = kinds[at], values[at]
        if kind == NAME:
            if value in acting or (values[at + 1] == "(" and value not in _PURE):
                return False
        elif kind == OPERATOR:
            if value in (":=", "=>") or (value == "(" and values[at - 1] in (")", "]") and kinds[at - 1] == OPERATOR):
                return False
        elif kind == MIXED:
            if not all(_is_idle_hole(part) for part in value):
                return False
        elif kind == COMMAND or (kind == STRING and values[at + 1] == "("):
            return False
    return True


def _is_idle_hole(part: Any) -> bool:
    return isinstance(part, str) or _is_idle(part, 0, len(part.kinds))


MAX_WHOLE = 150_000
_AROUND = 40  # lines kept on either side of a word that matters
_MAX_SHORTENED = 150_000
_MAX_SIDE = 3000  # characters kept on either side of such a word, in a line that is too long
_WORDS = re.compile(
    r"\b(?:exec\w*|eval|system|popen|Popen|spawn\w*|subprocess|child_process|socket|connect|requests?|urlopen|urllib|fetch|axios"
    r"|https?://|curl\w*|atob|b64decode|base64\w*|fromCharCode|unhexlify|fromhex|pack|inflate|gunzip|environ|getenv|process\.env"
    r"|ENV|readFile\w*|writeFile\w*|open|file_get_contents|__import__|import_module|getattr|Function|loadstring|pickle|marshal"
    r"|id_rsa|\.ssh|\.aws|Command|Process\w*|shell_exec|passthru|assert|cookie|clipboard|crontab|chmod|unlink|rmtree)\b"
)


def is_whole(text: str) -> bool:
    """Return whether a text is short enough to be analysed to its end."""
    return len(text) <= MAX_WHOLE


class ShortenedText(NamedTuple):
    """The parts of a text that are analysed, one below the other, and where each of them stood."""

    text: str
    starts: list[int]  # of each part in the shortened text
    origins: list[int]  # of each part in the whole text

    def place(self, offset: int) -> int:
        """The offset in the whole text of one in the shortened text."""
        index = bisect_right(self.starts, offset) - 1
        return self.origins[index] + offset - self.starts[index] if index >= 0 else offset


def shorten(text: str) -> ShortenedText:
    """The whole of a text of common length; of a long one, the lines around calls that matter."""
    if is_whole(text):
        return ShortenedText(text, [0], [0])
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    total = last = 0
    for found in _WORDS.finditer(text):
        if found.end() < last - _MAX_SIDE // 2:
            continue  # well inside what is kept already
        start, end = _window(text, found.start())
        start = max(start, last)
        if start < end:
            starts.append(total)
            origins.append(start)
            parts.append(text[start:end] + "\n")
            total += end - start + 1
            last = end
        if total > _MAX_SHORTENED:
            break
    return ShortenedText("".join(parts), starts, origins)


def _window(text: str, at: int) -> tuple[int, int]:
    start = end = at
    for _ in range(_AROUND):
        before = text.rfind("\n", max(0, at - _MAX_SIDE), start)
        after = text.find("\n", end + 1, at + _MAX_SIDE)
        start = before if before >= 0 else max(0, at - _MAX_SIDE)
        end = after if after >= 0 else min(len(text), at + _MAX_SIDE)
        if before < 0 and after < 0:
            break
    return start, end
