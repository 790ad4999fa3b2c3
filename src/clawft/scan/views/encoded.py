"""Encoded runs in prose, strings and data: found at the speed of a table look-up, decoded when they hold text."""

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Fact, Kind
from clawft.scan.intake.kinds import guess_language
from clawft.scan.views.signs import Signs
from clawft.scan.views.unpack import MAX_RESULT, promises_more, read_packed, read_plain

__all__ = ["find_encoded"]

MIN_RUN = 20
MAX_RUNS = 1_000
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_IN_RUN = bytes(97 if byte in _ALPHABET else 32 for byte in range(256))
_NEEDLE = b"a" * MIN_RUN
_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEX = re.compile(rb"[0-9A-Fa-f]+")
_BASE32 = re.compile(rb"[A-Z2-7]+")
_BETWEEN = re.compile(rb"""[ \t]*["'`]?[ \t]*[+.,;\\]?[ \t]*(?:\r?\n)?[ \t>#*/|]*["'`]?""")


def _kind_in_chunks(byte: int) -> int:
    """What a byte is where strings are put together: a letter, a quote, a blank, a join, or none of them."""
    for members in (b"+", b"a" + _ALPHABET, b"\"'", b" \t\n", b",.", b"=", b"\\"):
        if byte in members:
            return members[0]
    return 33


_IN_CHUNKS = bytes(map(_kind_in_chunks, range(256)))
_PIECE = rb"""\"[a+]{2,19}={0,2}\" {0,40}[+,][ \\]{0,40}"""
_CHUNKS = re.compile(rb"%b(?:%b){2,399}\"[a+]{1,80}={0,2}\"" % (_PIECE, _PIECE))  # over the kinds of the bytes


_FOLDED = frozenset(  # their analysers put strings together themselves
    {"python", "javascript", "ruby", "perl", "php", "lua", "go", "rust", "r", "java", "csharp", "shell", "powershell"}
)
_CHUNK = re.compile(rb"""["']([A-Za-z0-9+/_-]+={0,2})["']""")
_BASE85 = re.compile(rb"""<~([!-uz\s]{10,200000}+)~>|["']([!#-&(-~]{20,200000}+)["']""")


def find_encoded(document: Document, data: bytes, signs: Signs, facts: list[Fact], children: list[Document]) -> bool:
    """Add a child for every encoded run of a document that holds text, an archive or a script.

    `data`: the text as UTF-8. Returns whether all of it was looked at.
    """
    folded = document.language in _FOLDED
    seen: set[bytes] = set()
    listed = list(_list_runs(data, signs, folded))
    for how, at, runs in listed:
        for run in runs:  # all pieces in one, then each piece
            if run in seen:
                continue
            seen.add(run)
            form, found = _decode(how, run)
            if form or found:
                offset = len(data[:at].decode("utf-8", "replace"))
                if form:
                    line = document.line_at(offset)
                    facts.append(Fact(Kind.BINARY, form, document, line, f"a program ({form}) in a text"))
                children.extend(
                    make_child(document, text, language or guess_language(text), way, offset)
                    for text, language, way in found
                )
                if run is runs[0]:
                    break
    return not folded and len(listed) < MAX_RUNS


def _list_runs(data: bytes, signs: Signs, folded: bool) -> Iterator[tuple[str, int, list[bytes]]]:
    """The encoded runs: how they may be encoded, where they start, and their letters, joined and by piece."""
    table = data.translate(_IN_RUN)
    at = table.find(_NEEDLE)
    count = 0
    while at >= 0 and count < MAX_RUNS:
        start, end, pieces = at, at, []
        while True:
            end = table.find(b" ", at)
            end = len(table) if end < 0 else end
            pieces.append(data[at:end])
            between = _BETWEEN.match(data, end)
            at = between.end() if between else end
            if len(pieces) > 20_000 or at == end or not _goes_on(table, data, at, len(pieces[0])):
                break
        long = [one for one in pieces if len(one) >= MIN_RUN and not _is_name(one)]
        if long:
            count += 1
            yield "run", start, [b"".join(pieces), *long[:MAX_RUNS]] if len(pieces) > 1 else long
        at = table.find(_NEEDLE, end)
    if not folded and (b"64" in signs or b"atob" in signs or b"decode" in signs):
        for one in _CHUNKS.finditer(data.translate(_IN_CHUNKS)):
            yield "run", one.start(), [b"".join(_CHUNK.findall(data, one.start(), one.end()))]
    if b"85decode" in signs or b"ase85" in signs or b"cii85" in signs or b"<~" in signs:
        for one in _BASE85.finditer(data):
            yield "base85" if one[2] else "ascii85", one.start(), [one[1] or one[2]]


def _is_name(run: bytes) -> bool:
    """A path, a slug or a checksum by its looks: no encoding of a text has neither capitals nor digits enough."""
    if run.startswith((b"sha512-", b"sha256-", b"sha384-", b"sha1-")):
        return True
    return run.islower() and (b"-" in run or b"/" in run or b"_" in run or run.isalpha())


def _goes_on(table: bytes, data: bytes, at: int, size: int) -> bool:
    """Whether the run is continued after a line break or a join: by a piece as long, or a shorter last one."""
    if at >= len(table) or table[at] == 32:
        return False
    end = table.find(b" ", at)
    length = (len(table) if end < 0 else end) - at
    if data[at : at + length].isalpha() and length < 12:
        return False  # a word
    return length >= MIN_RUN or 2 <= length <= size


def _decode(how: str, run: bytes) -> tuple[str, list[tuple[str, str, str]]]:
    """What a run holds: the form of a program, or texts with their language and the way each was encoded."""
    if len(run) < 12 or run.count(run[:1]) == len(run) or len(run) > 4 * MAX_RESULT:
        return "", []
    for way, packed in _try_all(how, run):
        if text := read_plain(packed):
            return "", [(text, "", way)]
        form, inner = read_packed(packed)
        if form or inner:
            return form, [(text, language, f"{way}, {kind}") for text, language, kind in inner]
    return "", []


def _try_all(how: str, run: bytes) -> Iterator[tuple[str, bytes]]:
    """The bytes that a run may stand for, the likely encoding first."""
    if how != "run":
        with suppress(ValueError, binascii.Error):
            yield how, base64.b85decode(run) if how == "base85" else base64.a85decode(run)
        return
    if len(run) >= 24 and _HEX.fullmatch(run):
        yield "hex", bytes.fromhex(run[: len(run) & ~1].decode())
    if len(run) >= 24 and _BASE32.fullmatch(run):
        with suppress(ValueError, binascii.Error):
            yield "base32", base64.b32decode(run + b"=" * (-len(run) % 8))
    letters = run.translate(_STANDARD, b"=")
    sample = _from_base64(letters[:20])
    if read_plain(sample) or promises_more(sample):  # most runs are paths and names: the first bytes tell
        yield "base64", _from_base64(letters)


def _from_base64(letters: bytes) -> bytes:
    over = len(letters) % 4
    letters = letters[: len(letters) - 1] if over == 1 else letters
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))
