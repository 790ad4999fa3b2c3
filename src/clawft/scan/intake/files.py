"""The files of a skill as documents: a folder, a single file or an archive, read once and within bounds."""

import os
import stat
import time
from collections.abc import Collection

from msgspec import Struct

from clawft.discovery.digest import compute_digest, hash_content
from clawft.errors import ClawftError
from clawft.format import Skill, parse_skill_md
from clawft.scan.documents import Document
from clawft.scan.facts import Fact
from clawft.scan.findings import Gap
from clawft.scan.intake.forms import ARCHIVES, find_form
from clawft.scan.intake.large import reduce_file
from clawft.scan.intake.parts import Room
from clawft.scan.intake.take import Taken, take_bytes, take_compiled, take_part, take_reduced
from clawft.scan.intake.walk import Found, show_name, walk_folder

__all__ = ["Files", "read_files"]

MAX_FILES = 12_000
MAX_FILE = 16 << 20  # a larger file is searched on disk
MAX_READ = 96 << 20  # of all files together
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


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
    """Take in a folder, a single file or an archive; not the folders `without`, which are taken in by themselves.

    Raises: OSError, when it is missing or cannot be read.
    """
    taken = Taken(Room(deadline), [], [], [], [], {})
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):  # the caller named it: that one link is followed
        path = os.path.realpath(path)
        status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        count, size = _take_folder(taken, path, frozenset(without))
    else:
        count, size = _take_single(taken, path)
    take_compiled(taken)
    skill = _parse_skill(taken.documents, os.path.basename(path))
    name = (skill.name if skill else "") or show_name(os.path.basename(path))
    digest = "" if without else compute_digest(path, taken.contents).value  # what is left of a folder has none
    return Files(name, skill, digest, taken.documents, taken.facts, taken.gaps, count, size)


def _take_folder(taken: Taken, folder: str, without: Collection[str]) -> tuple[int, int]:
    listed = walk_folder(folder, taken.room.deadline, without)
    for part in listed.parts:
        take_part(taken, "", (), part)
    total = 0
    for index, found in enumerate(listed.files):
        if index >= MAX_FILES or total > MAX_READ or (index & 63 == 63 and time.monotonic() > taken.room.deadline):
            left = len(listed.files) - index
            reason = f"Too many files: {left} were not read, from this one on"
            failed = index >= MAX_FILES or any(not one.is_data for one in listed.files[index:])
            taken.gaps.append(Gap(show_name(found.name), reason, failed=failed))
            break
        if found.size:
            total += min(found.size, MAX_FILE)
            _take_file(taken, found)
    return len(listed.files), sum(found.size for found in listed.files)


def _take_single(taken: Taken, path: str) -> tuple[int, int]:
    """A file alone; of an archive, the members are the files. Raises: OSError."""
    status = os.lstat(path)
    name = os.path.basename(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is neither a folder nor a regular file")
    descriptor = os.open(path, _FLAGS)
    try:
        data = os.read(descriptor, 512)
    finally:
        os.close(descriptor)
    if find_form(data) in ARCHIVES and status.st_size <= MAX_FILE:
        before = len(taken.documents)
        with open(os.open(path, _FLAGS), "rb") as file:
            take_bytes(taken, show_name(name), file.read(MAX_FILE), top=True)
        return len(taken.documents) - before, status.st_size
    _take_file(taken, Found(0, name, path, status.st_size, status.st_mode))
    return 1, status.st_size


def _take_file(taken: Taken, found: Found) -> None:
    """Read one file; what cannot be read is a gap."""
    name = show_name(found.name)
    try:
        descriptor = os.open(found.path, _FLAGS)
    except OSError as error:
        taken.gaps.append(Gap(name, f"It cannot be read: {error.strerror}", failed=True))
        return
    try:
        if found.size > MAX_FILE:
            take_reduced(taken, name, reduce_file(descriptor, found.size), os.pread(descriptor, 512, 0))
            return
        data = os.read(descriptor, found.size + 1)
        while len(data) < found.size and (more := os.read(descriptor, found.size - len(data))):
            data += more
    except OSError as error:
        taken.gaps.append(Gap(name, f"It cannot be read: {error.strerror}", failed=True))
        return
    finally:
        os.close(descriptor)
    if len(data) == found.size:
        taken.contents[found.path] = hash_content(data)
    take_bytes(taken, name, data)


def _parse_skill(documents: list[Document], folder: str) -> Skill | None:
    """The skill by its SKILL.md, the one nearest to the top; None where there is none that can be parsed."""
    found = [one for one in documents if one.path.rpartition("/")[2].lower() == "skill.md" and not one.origin]
    if not found:
        return None
    first = min(found, key=lambda one: one.path.count("/"))
    name = first.path.rpartition("/")[0].rpartition("/")[2] or folder.partition(".")[0]
    try:
        return parse_skill_md(first.text, name, path=first.path)
    except (ClawftError, ValueError, RecursionError):
        return None
