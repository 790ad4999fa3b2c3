"""Test data of a security tool: attacks that it is tested on, and that nothing of the skill runs."""

import re

from msgspec import structs

from clawft.scan.documents import Document
from clawft.scan.intake import Files

__all__ = ["mark_fixtures"]

_FOLDER = re.compile(
    r"(^|/)(test[-_]?)?(fixtures?|samples|testdata|test[-_]?cases|corpus)(/|[^/]*\.(json|ya?ml|txt|csv|md)$)"
    r"|(^|/)tests?/[^/]+\.(json|ya?ml|txt|csv)$",
    re.IGNORECASE,
)
_TOPIC = re.compile(
    r"\b(secur\w+|scan\w*|audit\w*|guard\w*|detect\w*|injection|malware|malicious|threats?|vulnerab\w+|vet\w*)\b",
    re.IGNORECASE,
)


def mark_fixtures(files: Files) -> list[Document]:
    """The documents, those that are only test data of a security tool marked as mentions.

    A file that the instructions or a script of the skill name by its path may well be run, so it counts.
    """
    about = f"{files.name} {files.skill.description if files.skill else ''}"
    if not _TOPIC.search(about.replace("-", " ").replace("_", " ")):
        return files.documents
    others = [one.text for one in files.documents if not _FOLDER.search(one.path)]
    return [
        structs.replace(one, mention=True) if _FOLDER.search(one.path) and not _is_named(one.path, others) else one
        for one in files.documents
    ]


def _is_named(path: str, texts: list[str]) -> bool:
    return any(path in text for text in texts)
