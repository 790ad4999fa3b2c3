"""Test data of a security tool: attacks that it is tested on, and that nothing of the skill runs."""

import re
from collections.abc import Collection, Sequence

from msgspec import structs

from clawft.scan.documents import Document
from clawft.scan.intake import Files
from clawft.scan.lazy import lazy

__all__ = ["mark_fixtures"]

_FOLDER = lazy(
    r"(^|/)(test[-_]?)?(fixtures?|samples|testdata|test[-_]?cases|corpus)(/|[^/]*\.(json|ya?ml|txt|csv|md)$)"
    r"|(^|/)tests?/[^/]+\.(json|ya?ml|txt|csv)$",
    re.IGNORECASE,
)
_TOPIC = lazy(
    r"\b(secur\w+|scan\w*|audit\w*|guard\w*|detect\w*|injection|malware|malicious|threats?|vulnerab\w+|vet\w*)\b",
    re.IGNORECASE,
)


# How a folder is gone into, or all of it used: {} is its name.
_ENTERED = (
    r"\b(?:cd|pushd|bash|sh|source|python3?|node|import|from)\s+[\w./\"'$-]{{0,80}}?\b{0}\b"
    r"|\b{0}/(?:[*?$\"'{{\[]|\S{{1,80}}[*?])|[\"']{0}/?[\"']"
)


def mark_fixtures(files: Files) -> list[Document]:
    """The documents, those that are only test data of a security tool marked as mentions.

    A file that the instructions or a script of the skill name, or whose folder they go into, may well be run, so it
    counts.
    """
    about = f"{files.name} {files.skill.description if files.skill else ''}"
    if not _TOPIC.search(about.replace("-", " ").replace("_", " ")):
        return files.documents
    others = [one for one in files.documents if not _FOLDER.search(one.path)]
    data = {one.path for one in files.documents if _FOLDER.search(one.path)}
    texts, names = [one.text for one in others], {one.path.rpartition("/")[2] for one in others}
    entered = {one for one in _folders_of(data) if _is_entered(one, texts)}
    unused = {one for one in data if entered.isdisjoint(one.split("/")) and not _is_named(one, texts, names)}
    return [structs.replace(one, mention=True) if one.path in unused else one for one in files.documents]


def _folders_of(paths: Collection[str]) -> set[str]:
    """The names of the folders of test data that files lie in."""
    return {one for path in paths for one in path.split("/")[:-1] if _FOLDER.search(f"{one}/")}


def _is_entered(folder: str, texts: Sequence[str]) -> bool:
    entered = re.compile(_ENTERED.format(re.escape(folder)))
    return any(entered.search(text) for text in texts)


def _is_named(path: str, texts: Sequence[str], others: Collection[str]) -> bool:
    """Whether a file is named by its path, or by a name that no other file has."""
    name = path.partition("!")[0].rpartition("/")[2]
    return any(path in text or (name not in others and name in text) for text in texts)
