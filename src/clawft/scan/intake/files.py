"""The files of a skill as documents (a first, simple form)."""

import os
from collections.abc import Collection

from msgspec import Struct

from clawft.format.model import Skill
from clawft.scan.documents import Document
from clawft.scan.facts import Fact
from clawft.scan.findings import Gap
from clawft.scan.intake.kinds import find_language

__all__ = ["Files", "read_files"]


class Files(Struct):
    """What was taken in."""

    name: str
    skill: Skill | None  # parsed from SKILL.md, when there is one that can be
    digest: str
    documents: list[Document]
    facts: list[Fact]
    gaps: list[Gap]
    count: int
    size: int


def read_files(path: str, deadline: float, without: Collection[str] = ()) -> Files:
    """Take in a folder, a single file or an archive; not the folders `without` (absolute), which others take in."""
    documents = []
    count = size = 0
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in without]
        for name in sorted(names):
            full = os.path.join(folder, name)
            if os.path.islink(full):
                continue
            with open(full, "rb") as file:
                data = file.read()
            count, size = count + 1, size + len(data)
            relative = os.path.relpath(full, path)
            documents.append(Document(relative, data.decode("utf-8", "replace"), find_language(relative, data)))
    return Files(os.path.basename(path), None, "", documents, [], [], count, size)
