"""Flows across files: programs of one skill that import each other are analysed again, together."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from clawft.scanner.facts import Analysis, Document, Fact, Kind, trace
from clawft.scanner.regex import lazy

if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick


MAX_FILES = 24  # that are analysed together
MAX_TEXT = 300_000
_FAMILIES = frozenset(("python", "javascript", "ruby", "perl", "php", "lua"))
# The words that imports begin with, and what follows them: at the start of a line, and anywhere.
_WORDS = ("from", "import", "use", "require", "load", "include")
_STATEMENT = lazy(
    r"[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+)|(?:use|require)[ \t]+([\w:]+)"
    r"|(?:require_relative|require|load|include|include_once|require_once)\b[^\n]{0,200})"
)
_CALL = lazy(r"\brequire\s*\(?\s*['\"]([^'\"\n]+)['\"]|\b(?:from|import)\s*\(?\s*['\"]([^'\"\n]+)['\"]")
_ENDS = frozenset((Kind.SEND, Kind.FETCH, Kind.CONNECT, Kind.EVAL, Kind.LOAD))  # where a flow from another file matters
_WORD = lazy(r"\w+")


def join_imports(documents: Sequence[Document], facts: Sequence[Fact]) -> Analysis:
    """Analyse files that use each other together; return what goes beyond the facts of each of them."""
    files: dict[tuple[str, str], Document] = {}
    for document in documents:
        if document.language in _FAMILIES and not document.flat and "fence" not in document.origin:
            files.setdefault((document.language, _stem(document.path)), document)
    joined = Analysis([], [])
    if len(files) < 2:
        return joined
    known = {(fact.kind, fact.target, fact.document.path, fact.line): len(trace(fact)) for fact in facts}
    ends = {fact.document.path for fact in facts if fact.kind in _ENDS or (fact.kind is Kind.EXEC and not fact.target)}
    for group in _groups(files):
        if not 1 < len(group) <= MAX_FILES or sum(len(value.text) for value in group.values()) > MAX_TEXT:
            continue
        if any(value.path in ends for value in group.values()):
            from clawft.scanner.languages.code import analyse_together

            analysis = analyse_together(group)
            joined.children.extend(analysis.children)
            for fact in analysis.facts:
                if len(trace(fact)) > known.get((fact.kind, fact.target, fact.document.path, fact.line), -1):
                    joined.facts.append(fact)
    return joined


def _stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem in ("__init__", "index", "mod"):
        stem = folder.rpartition("/")[2] or stem
    return stem


def _groups(files: dict[tuple[str, str], Document]) -> list[dict[str, Document]]:
    """Files that a chain of imports connects."""
    parent = {key: key for key in files}

    def root(key: tuple[str, str]) -> tuple[str, str]:
        while parent[key] != key:
            key = parent[key]
        return key

    for key, document in files.items():
        for name in _imported(document.text):
            other = (document.language, name)
            if other in files and other != key:
                parent[root(key)] = root(other)
    groups: dict[tuple[str, str], dict[str, Document]] = {}
    for key, document in files.items():
        groups.setdefault(root(key), {})[key[1]] = document
    return list(groups.values())


def _imported(text: str) -> set[str]:
    text = text[:MAX_TEXT]
    names: set[str] = set()
    end = 0
    for _, at, _ in _find_words().find_matches_as_indexes(text):
        if at < end:
            continue
        line = at
        while line > end and text[line - 1] in " \t":
            line -= 1
        match = _STATEMENT.match(text, line) if line == 0 or text[line - 1] == "\n" else None
        match = match or _CALL.match(text, at)
        if match:
            names.update(_WORD.findall(match[0]))
            end = match.end()
    return names


@cache
def _find_words() -> "AhoCorasick":
    from ahocorasick_rs import AhoCorasick

    return AhoCorasick(_WORDS)
