"""Whether a program names anything that could leave a fact: one look at its words, before it is read.

Most programs and nearly all examples in documents only compute and print. What a call does is found by its name, so a
text that lacks every name that does something has no facts, unless it makes names while it runs; then it is read.
"""

import re
from collections.abc import Iterable
from functools import cache

from clawft.scan.languages.code.tables import find_names

__all__ = ["may_act"]

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
    return needs, [one for one in owners if one]


def may_act(texts: Iterable[str], language: str) -> bool:
    """Whether texts of one program, taken together, could do anything that leaves a fact."""
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
    """Whether a text asks for something by an address, or by a name that it makes itself."""
    if _SENDS.search(text) or (_GETS.search(text) and _ADDRESS.search(text)):
        return True
    if _LOADED[language].search(text):
        return True
    if language == "javascript" and _MAKER.search(text):
        return True
    if language != "javascript" or not _COMPUTED.search(text):
        return False
    return not words.isdisjoint(_ROOTS) or any(one <= words for one in owners)
