"""Code that a program takes from a data file of the skill: what stands there is read as what runs it would read it."""

import posixpath
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Fact, Kind, trace

__all__ = ["find_carried"]

MAX_RUNS = 40
MAX_STRINGS = 400
MAX_PAIRS = 100
MAX_TEXT = 60_000
_DATA = frozenset(("json", "yaml", "toml", "ini", "text", "markdown", "html", "clojure"))


def find_carried(documents: Sequence[Document], facts: Sequence[Fact]) -> list[Document]:
    """The texts of data files that something runs, each in the language that it is run in."""
    runs = [
        one for one in facts
        if one.kind in (Kind.EXEC, Kind.EVAL) and one.sources and (not one.target.strip("{} ") or "{}" in one.target)
    ]  # fmt: skip
    if not runs:
        return []
    files: dict[str, Document] = {}
    for document in documents:
        if not document.origin and document.language in _DATA and document.path != "SKILL.md":
            files.setdefault(posixpath.basename(document.path), document)
    found: list[Document] = []
    for run in runs[:MAX_RUNS] if files else ():
        language = run.document.language if run.kind is Kind.EVAL else "shell"
        for source in trace(run):
            held = files.get(posixpath.basename(source.target)) if source.kind is Kind.READ else None
            if held is not None:
                found.extend(make_child(held, text, language, "exec", 0) for text in _texts(held))
    return found


def _texts(document: Document) -> Iterator[str]:
    """The strings of a file of data and all of them joined; or its whole text."""
    if document.language != "json":
        yield document.text[:MAX_TEXT]
        return
    try:
        parsed = msgspec.json.decode(document.text)
    except (msgspec.DecodeError, RecursionError):
        return
    strings = list(_strings(parsed))
    yield from strings
    yield from (first + second for first, second in pairwise(strings[:MAX_PAIRS]))
    if len(strings) > 1:
        yield "".join(strings)[:MAX_TEXT]


def _strings(value: object) -> Iterator[str]:
    pending, count = [value], 0
    while pending and count < MAX_STRINGS:
        one = pending.pop()
        if isinstance(one, str):
            count += 1
            yield one[:MAX_TEXT]
        elif isinstance(one, dict):
            pending.extend(reversed(one.values()))
        elif isinstance(one, list):
            pending.extend(reversed(one))
