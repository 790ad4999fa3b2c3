"""The files of a skill as documents: read a folder, a file or an archive once and within bounds."""

import os
import stat
import time
from collections.abc import Collection

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.scanner.facts import Document, Fact, Kind
from clawft.scanner.findings import Gap
from clawft.scanner.intake.bytecode import explain_bytecode, find_source
from clawft.scanner.intake.folder import FolderFile, show_name, walk_folder
from clawft.scanner.intake.formats import (
    ARCHIVES,
    MAX_DEPTH,
    ContentMark,
    EmbeddedFile,
    EmbeddedText,
    Part,
    UnpackBudget,
    UnreadPart,
    find_form,
    find_opener,
)
from clawft.scanner.intake.language import PICTURE_NAMES, find_language, guess_language
from clawft.scanner.intake.text import DecodedText, ReducedText, decode_bytes, reduce_bytes, reduce_file
from clawft.skills.discovery.digest import Content, compute_digest, hash_content
from clawft.skills.parse.model import Skill
from clawft.skills.parse.skill import parse_skill_md

MAX_TEXT = 512 << 10  # larger texts are searched to their end, and analysed where something is marked
MAX_ALL_TEXT = 4 << 20
_DATA = frozenset({"text", "json", "yaml"})
LATE_TEXT = 64 << 10  # the same, once that much has been taken in whole


class IntakeResult(Struct):
    """The documents, facts and gaps that were taken in so far."""

    room: UnpackBudget
    documents: list[Document]
    facts: list[Fact]
    gaps: list[Gap]
    compiled: list[tuple[str, bytes, tuple[str, ...]]]  # .pyc files: they are compared with their sources at the end
    contents: dict[str, Content]  # the files that were read whole, for the digest
    text_bytes: int = 0


def take_bytes(taken: IntakeResult, path: str, data: bytes, origin: tuple[str, ...] = (), *, top: bool = False) -> None:
    """Take in one file, whatever it is; of one at the `top`, the members are files in their own right."""
    form = find_form(data)
    if not form:
        if _take_text(taken, path, data, origin):
            return
    elif form == "pyc":
        taken.compiled.append((path, data, origin))
        return
    if len(origin) >= MAX_DEPTH:
        taken.gaps.append(Gap(path, "It is nested too deeply"))
        return
    try:
        for part in find_opener(form)(data, taken.room):
            if isinstance(part, EmbeddedFile) and part.how == "compressed":  # the same file, unpacked
                take_bytes(taken, path, part.data, origin if top else (*origin, part.how), top=top)
            else:
                take_part(taken, "" if top else path, origin, part)
    except Exception as error:  # whatever an untrusted file does to an opener, the rest is still read
        taken.gaps.append(Gap(path, f"The scanner failed on it: {error!r:.200}", failed=True))


def take_part(taken: IntakeResult, path: str, origin: tuple[str, ...], part: Part) -> None:
    """Take in one thing that a file holds; without a path, it is a file of the skill itself."""
    inner = f"{path}!{part.name}" if part.name and path else part.name or path
    match part:
        case EmbeddedFile():
            take_bytes(taken, inner, part.data, (*origin, part.how) if path else origin)
        case EmbeddedText():
            language = part.language or guess_language(part.text)
            taken.documents.append(Document(inner, part.text, language, flat=True, origin=(*origin, part.how)))
        case ContentMark():
            taken.facts.append(_mark(inner, origin, part))
        case UnreadPart():
            taken.gaps.append(Gap(inner, part.reason, failed=part.failed))


def take_compiled(taken: IntakeResult) -> None:
    """Explain the .pyc files, now that their sources are read."""
    sources = (
        {document.path: document for document in taken.documents if document.path.endswith(".py")}
        if taken.compiled
        else {}
    )
    for path, data, origin in taken.compiled:
        for part in explain_bytecode(data, sources.get(find_source(path))):
            take_part(taken, path, origin, part)


def take_reduced(taken: IntakeResult, path: str, reduced: ReducedText, head: bytes) -> None:
    """Take in what is left of a file that was too large to be read whole."""
    texts = [(line, decode_bytes(piece)) for line, piece in reduced.pieces]
    form = find_form(head)
    if form or any(decoded is None for _, decoded in texts):
        taken.gaps.append(Gap(path, f"Too large to be read ({form or 'binary data'})"))
        joined = b"\n".join(piece for _, piece in reduced.pieces)
        for part in find_opener("")(joined, taken.room):
            take_part(taken, path, (), part)
        return
    language = find_language(path, texts[0][1].text) if texts and texts[0][1] else "text"
    _say_left_out(taken, path, reduced, language)
    _add_pieces(taken, path, language, (), texts)


def _mark(path: str, origin: tuple[str, ...], mark: ContentMark) -> Fact:
    document = Document(path, mark.via, "binary", flat=True, origin=origin)
    return Fact(mark.kind, mark.target, document, 1, mark.via)


def _take_text(taken: IntakeResult, path: str, data: bytes, origin: tuple[str, ...]) -> bool:
    """Take in a file that is text; False if it is none."""
    decoded = decode_bytes(data)
    if decoded is None:
        return False
    text = decoded.text
    language = find_language(path, text)
    if decoded.odd:
        via = "NUL bytes between the letters" if decoded.odd == "nul-padding" else "UTF-16 without a mark"
        taken.facts.append(_mark(path, origin, ContentMark(Kind.HIDDEN, decoded.odd, via)))
    if path.rpartition(".")[2].lower() in PICTURE_NAMES and text.strip():
        via = f"{path} is text ({language}), not what its name says"
        taken.facts.append(_mark(path, origin, ContentMark(Kind.HIDDEN, "wrong-type", via)))
        origin = (*origin, "wrong-type")
    limit = MAX_TEXT if taken.text_bytes < MAX_ALL_TEXT else LATE_TEXT
    if len(text) <= limit:
        taken.text_bytes += len(text)
        taken.documents.append(Document(path, text, language, origin=origin))
        return True
    reduced = reduce_bytes(data if 0 not in data[:4096] else text.encode("utf-8", "replace"))
    _say_left_out(taken, path, reduced, language)
    _add_pieces(taken, path, language, origin, [(line, decode_bytes(piece)) for line, piece in reduced.pieces])
    return True


def _say_left_out(taken: IntakeResult, path: str, reduced: ReducedText, language: str) -> None:
    if reduced.unsearched:
        reason = f"Too large: {reduced.unsearched} bytes were not looked at"
        taken.gaps.append(Gap(path, reason, failed=language not in _DATA))  # a program may do anything there
    elif reduced.left_out:
        reason = f"Analysed in part: {reduced.left_out} bytes were only searched for words that matter"
        taken.gaps.append(Gap(path, reason))


def _add_pieces(
    taken: IntakeResult, path: str, language: str, origin: tuple[str, ...], pieces: list[tuple[int, DecodedText | None]]
) -> None:
    for line, decoded in pieces:
        if decoded is not None:
            taken.text_bytes += len(decoded.text)
            taken.documents.append(Document(path, decoded.text, language, line, origin=origin))


MAX_FILES = 12_000
MAX_FILE = 16 << 20  # a larger file is searched on disk
MAX_READ = 96 << 20  # of all files together
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class ScannedFiles(Struct):
    """The files of a skill, taken in."""

    name: str
    skill: Skill | None  # parsed from SKILL.md, when there is one that can be
    digest: str
    documents: list[Document]
    facts: list[Fact]
    gaps: list[Gap]
    count: int
    size: int


def read_files(path: str, deadline: float, without: Collection[str] = ()) -> ScannedFiles:
    """Take in a folder, a single file or an archive; not the folders `without`, which are taken in by themselves.

    Raises: OSError, when it is missing or cannot be read.
    """
    taken = IntakeResult(UnpackBudget(deadline), [], [], [], [], {})
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
    return ScannedFiles(name, skill, digest, taken.documents, taken.facts, taken.gaps, count, size)


def _take_folder(taken: IntakeResult, folder: str, without: Collection[str]) -> tuple[int, int]:
    listed = walk_folder(folder, taken.room.deadline, without)
    for part in listed.parts:
        take_part(taken, "", (), part)
    total = 0
    for index, found in enumerate(listed.files):
        if index >= MAX_FILES or total > MAX_READ or (index & 63 == 63 and time.monotonic() > taken.room.deadline):
            left = len(listed.files) - index
            reason = f"Too many files: {left} were not read, from this one on"
            failed = index >= MAX_FILES or any(not file.is_data for file in listed.files[index:])
            taken.gaps.append(Gap(show_name(found.name), reason, failed=failed))
            break
        if found.size:
            total += min(found.size, MAX_FILE)
            _take_file(taken, found)
    return len(listed.files), sum(found.size for found in listed.files)


def _take_single(taken: IntakeResult, path: str) -> tuple[int, int]:
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
    _take_file(taken, FolderFile(0, name, path, status.st_size, status.st_mode))
    return 1, status.st_size


def _take_file(taken: IntakeResult, found: FolderFile) -> None:
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
    found = [
        document
        for document in documents
        if document.path.rpartition("/")[2].lower() == "skill.md" and not document.origin
    ]
    if not found:
        return None
    first = min(found, key=lambda one: one.path.count("/"))
    name = first.path.rpartition("/")[0].rpartition("/")[2] or folder.partition(".")[0]
    try:
        return parse_skill_md(first.text, name, path=first.path)
    except (ClawftError, ValueError, RecursionError):
        return None
