"""From the bytes of a file to documents, marks and gaps: by its form, and what it holds in turn."""

from msgspec import Struct

from clawft.discovery.digest import Content
from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.findings import Gap
from clawft.scan.intake import openers
from clawft.scan.intake.compiled import explain_bytecode, find_source
from clawft.scan.intake.forms import find_form
from clawft.scan.intake.kinds import find_language, guess_language
from clawft.scan.intake.large import Reduced, reduce_bytes
from clawft.scan.intake.names import PICTURE_NAMES
from clawft.scan.intake.parts import MAX_DEPTH, Mark, Member, Part, Passage, Room, Unread
from clawft.scan.intake.text import Decoded, decode_bytes

__all__ = ["Taken", "take_bytes", "take_compiled", "take_part", "take_reduced"]

MAX_TEXT = 512 << 10  # larger texts are searched to their end, and analysed where something is marked
MAX_ALL_TEXT = 4 << 20
_DATA = frozenset({"text", "json", "yaml"})
LATE_TEXT = 64 << 10  # the same, once that much has been taken in whole


class Taken(Struct):
    """What has been taken in so far."""

    room: Room
    documents: list[Document]
    facts: list[Fact]
    gaps: list[Gap]
    compiled: list[tuple[str, bytes, tuple[str, ...]]]  # .pyc files: they are compared with their sources at the end
    contents: dict[str, Content]  # the files that were read whole, for the digest
    text_bytes: int = 0


def take_bytes(taken: Taken, path: str, data: bytes, origin: tuple[str, ...] = (), *, top: bool = False) -> None:
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
        for part in openers.find_opener(form)(data, taken.room):
            if isinstance(part, Member) and part.how == "compressed":  # the same file, unpacked
                take_bytes(taken, path, part.data, origin if top else (*origin, part.how), top=top)
            else:
                take_part(taken, "" if top else path, origin, part)
    except Exception as error:  # whatever a stranger's file does to an opener, the rest is still looked at
        taken.gaps.append(Gap(path, f"The scanner failed on it: {error!r:.200}", failed=True))


def take_part(taken: Taken, path: str, origin: tuple[str, ...], part: Part) -> None:
    """Take in one thing that a file holds; without a path, it is a file of the skill itself."""
    inner = f"{path}!{part.name}" if part.name and path else part.name or path
    match part:
        case Member():
            take_bytes(taken, inner, part.data, (*origin, part.how) if path else origin)
        case Passage():
            language = part.language or guess_language(part.text)
            taken.documents.append(Document(inner, part.text, language, flat=True, origin=(*origin, part.how)))
        case Mark():
            taken.facts.append(_mark(inner, origin, part))
        case Unread():
            taken.gaps.append(Gap(inner, part.reason, failed=part.failed))


def take_compiled(taken: Taken) -> None:
    """Explain the .pyc files, now that their sources are read."""
    sources = {one.path: one for one in taken.documents if one.path.endswith(".py")} if taken.compiled else {}
    for path, data, origin in taken.compiled:
        for part in explain_bytecode(data, sources.get(find_source(path))):
            take_part(taken, path, origin, part)


def take_reduced(taken: Taken, path: str, reduced: Reduced, head: bytes) -> None:
    """Take in what is left of a file that was too large to be read whole."""
    texts = [(line, decode_bytes(piece)) for line, piece in reduced.pieces]
    form = find_form(head)
    if form or any(decoded is None for _, decoded in texts):
        taken.gaps.append(Gap(path, f"Too large to be read ({form or 'binary data'})"))
        joined = b"\n".join(piece for _, piece in reduced.pieces)
        for part in openers.find_opener("")(joined, taken.room):
            take_part(taken, path, (), part)
        return
    language = find_language(path, texts[0][1].text) if texts and texts[0][1] else "text"
    _say_left_out(taken, path, reduced, language)
    _add_pieces(taken, path, language, (), texts)


def _mark(path: str, origin: tuple[str, ...], mark: Mark) -> Fact:
    document = Document(path, mark.via, "binary", flat=True, origin=origin)
    return Fact(mark.kind, mark.target, document, 1, mark.via)


def _take_text(taken: Taken, path: str, data: bytes, origin: tuple[str, ...]) -> bool:
    """Take in a file that is text; False if it is none."""
    decoded = decode_bytes(data)
    if decoded is None:
        return False
    text = decoded.text
    language = find_language(path, text)
    if decoded.odd:
        via = "NUL bytes between the letters" if decoded.odd == "nul-padding" else "UTF-16 without a mark"
        taken.facts.append(_mark(path, origin, Mark(Kind.HIDDEN, decoded.odd, via)))
    if path.rpartition(".")[2].lower() in PICTURE_NAMES and text.strip():
        via = f"{path} is text ({language}), not what its name says"
        taken.facts.append(_mark(path, origin, Mark(Kind.HIDDEN, "wrong-type", via)))
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


def _say_left_out(taken: Taken, path: str, reduced: Reduced, language: str) -> None:
    if reduced.unsearched:
        reason = f"Too large: {reduced.unsearched} bytes were not looked at"
        taken.gaps.append(Gap(path, reason, failed=language not in _DATA))  # a program may do anything there
    elif reduced.left_out:
        reason = f"Analysed in part: {reduced.left_out} bytes were only searched for words that matter"
        taken.gaps.append(Gap(path, reason))


def _add_pieces(
    taken: Taken, path: str, language: str, origin: tuple[str, ...], pieces: list[tuple[int, Decoded | None]]
) -> None:
    for line, decoded in pieces:
        if decoded is not None:
            taken.text_bytes += len(decoded.text)
            taken.documents.append(Document(path, decoded.text, language, line, origin=origin))
