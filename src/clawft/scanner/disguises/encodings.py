"""Encoded runs and escapes: found, decoded, and what the decoded bytes are."""

import base64
import binascii
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from clawft.scanner.facts import Document, Fact, Kind, make_child
from clawft.scanner.intake.files import IntakeResult, take_bytes, take_compiled
from clawft.scanner.intake.formats import ARCHIVES, PROGRAMS, UnpackBudget, find_form
from clawft.scanner.intake.language import guess_language
from clawft.scanner.regex import lazy, make_automaton

# A few words in rot13: a command or an order in rot13 can hardly do without one of them.
ROTATED = (b"uggc", b"phey ", b"onfu", b"vafgehp", b"gur ")
REVERSED = (b"ptth", b"lruc", b"hsab", b"curtsni", b" eht ")
_WORDS = (
    *ROTATED, *REVERSED, b"64", b"atob", b"decode", b"85decode", b"ase85", b"cii85", b"<~",
    b"hr(", b"har]", b"\\x", b"\\u", b"&#", b"\\1",
)  # fmt: skip

Signs = Counter[bytes]


def find_signs(low: bytes) -> Signs:
    """Count how often each of the words occurs in a text in lower case."""
    found = make_automaton(_WORDS).find_matches_as_indexes(low, overlapping=True)
    return Counter([_WORDS[which] for which, _, _ in found]) if found else Counter()


MAX_DECODED_BYTES = 1 << 20
_PRINTABLE = bytes({9, 10, 13, 27, *range(32, 127)})
_TOLERATED = 0.03
_ZLIB = (b"\x78\x9c", b"\x78\xda", b"\x78\x01", b"\x78\x5e")
_WORTH_IT = ARCHIVES | PROGRAMS | {"pickle", "pyc"}


def read_plain(data: bytes) -> str:
    """The text of some bytes when nearly all of them are printable; empty otherwise."""
    if len(data) < 6:
        return ""
    if 0 in data[:64] and len(data) >= 8:
        return _read_wide(data)
    foreign = len(data.translate(None, _PRINTABLE))
    if foreign > _TOLERATED * len(data):
        return _read_utf8(data)
    text = data.decode("utf-8", "replace")
    return text if _has_letters(text) else ""


def _has_letters(text: str) -> bool:
    head = text[:400]
    return sum(char.isalnum() or char == " " for char in head) >= 0.25 * len(head)


def _read_wide(data: bytes) -> str:
    """UTF-16, as PowerShell takes its encoded commands."""
    if data[1:64:2].count(0) < 0.9 * len(data[1:64:2]):
        return ""
    text = data[: len(data) & ~1].decode("utf-16-le", "replace")
    return text if text.isprintable() or "\n" in text else ""


def _read_utf8(data: bytes) -> str:
    """Text of another script; a chance result does not decode."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # The sample may have been cut inside a character.
        text = data[: len(data) - 3].decode("utf-8", "ignore") if len(data) < 24 else ""
        if len(text.encode()) < len(data) - 3:
            return ""
    good = len(text) if text.isprintable() else sum(map(str.isprintable, text)) + sum(map(text.count, "\n\t\r"))
    return text if text and good >= 0.97 * len(text) and len(data) >= 12 else ""


def promises_more(data: bytes) -> bool:
    """Return whether the first of some bytes look like an archive, a program or text of two bytes a letter."""
    return 0 in data or data[:2] in _ZLIB or find_form(data) in _WORTH_IT


def read_packed(data: bytes) -> tuple[str, list[tuple[str, str, str]]]:
    """The form of a program among decoded bytes, and the texts in compressed or packed ones with language and way."""
    form = find_form(data)
    if form in PROGRAMS and len(data) > 200:
        return form, []
    if form == "gzip" or (not form and data[:2] in _ZLIB):
        return "", _inflate(data, form)
    return "", _open(data) if form in _WORTH_IT and form not in PROGRAMS else []


def _inflate(data: bytes, form: str) -> list[tuple[str, str, str]]:
    try:
        inner = zlib.decompressobj(31 if form else 15).decompress(data, MAX_DECODED_BYTES)
    except zlib.error:
        return []
    text = read_plain(inner)
    return [(text, "", form or "zlib")] if text else []


def _open(data: bytes) -> list[tuple[str, str, str]]:
    """The texts in an archive that stood in a text."""
    taken = IntakeResult(UnpackBudget(time.monotonic() + 1.0), [], [], [], [], {})
    take_bytes(taken, "packed", data)
    take_compiled(taken)
    return [(document.text, document.language, " ".join(document.origin)) for document in taken.documents]


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
    """Classify a byte where strings are put together: a letter, a quote, a blank, a join, or none of them."""
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
        long = [piece for piece in pieces if len(piece) >= MIN_RUN and not _is_name(piece)]
        if long:
            count += 1
            yield "run", start, [b"".join(pieces), *long[:MAX_RUNS]] if len(pieces) > 1 else long
        at = table.find(_NEEDLE, end)
    if not folded and (b"64" in signs or b"atob" in signs or b"decode" in signs):
        for match in _CHUNKS.finditer(data.translate(_IN_CHUNKS)):
            yield "run", match.start(), [b"".join(_CHUNK.findall(data, match.start(), match.end()))]
    if b"85decode" in signs or b"ase85" in signs or b"cii85" in signs or b"<~" in signs:
        for match in _BASE85.finditer(data):
            yield "base85" if match[2] else "ascii85", match.start(), [match[1] or match[2]]


def _is_name(run: bytes) -> bool:
    """A path, a slug or a checksum by its looks: no encoding of a text has neither capitals nor digits enough."""
    if run.startswith((b"sha512-", b"sha256-", b"sha384-", b"sha1-")):
        return True
    return run.islower() and (b"-" in run or b"/" in run or b"_" in run or run.isalpha())


def _goes_on(table: bytes, data: bytes, at: int, size: int) -> bool:
    """Return whether the run is continued after a line break or a join: by a piece as long, or a shorter last one."""
    if at >= len(table) or table[at] == 32:
        return False
    end = table.find(b" ", at)
    length = (len(table) if end < 0 else end) - at
    if data[at : at + length].isalpha() and length < 12:
        return False  # a word
    return length >= MIN_RUN or 2 <= length <= size


def _decode(how: str, run: bytes) -> tuple[str, list[tuple[str, str, str]]]:
    """Decode a run: the form of a program, or texts with their language and the encoding of each."""
    if len(run) < 12 or run.count(run[:1]) == len(run) or len(run) > 4 * MAX_DECODED_BYTES:
        return "", []
    for way, packed in _try_all(how, run):
        if text := read_plain(packed):
            return "", [(text, "", way)]
        form, inner = read_packed(packed)
        if form or inner:
            return form, [(text, language, f"{way}, {kind}") for text, language, kind in inner]
    return "", []


def _try_all(how: str, run: bytes) -> Iterator[tuple[str, bytes]]:
    """The possible decodings of a run, the likely encoding first."""
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


_MAX_FOUND = 200
_MIN_LETTERS = 6
_MANY = 4  # escapes close to each other
_APART = 120
_MAX_ESCAPES = 50_000
_IN_LIST = bytes(48 if byte in b"0123456789abcdefABCDEFxX,:; \n\t" else 32 for byte in range(256))


def _hex_code(match: re.Match[str]) -> str:
    return _letter(int(match[1], 16))


def _markup_code(match: re.Match[str]) -> str:
    digits = match[1]
    return _letter(int(digits[1:], 16) if digits[0] in "xX" else int(digits))


def _letter(code: int) -> str:
    return chr(code) if code < 0xD800 or 0xE000 <= code < 0x110000 else "\ufffd"


# What gives an escape away, the way it is called, one escape, and its letter.
_Escape = tuple[bytes, str, re.Pattern[str], Callable[[re.Match[str]], str]]
_ESCAPES: tuple[_Escape, ...] = (
    (b"\\x", "hex-escapes", lazy(r"\\+x([0-9A-Fa-f]{2})"), _hex_code),
    (b"\\u", "unicode-escapes", lazy(r"\\+u\{?([0-9A-Fa-f]{4,6})\}?"), _hex_code),
    (b"%", "percent", lazy(r"%([0-9A-Fa-f]{2})"), _hex_code),
    (b"&#", "character-references", lazy(r"&#([xX][0-9A-Fa-f]{1,6}|[0-9]{1,7});?"), _markup_code),
    (b"\\1", "octal-escapes", lazy(r"\\([0-3][0-7]{2})"), lambda match: _letter(int(match[1], 8))),
)
_SEP = r"(?::|[ ,;\t\n]{1,6})"
_LISTS: tuple[tuple[str, re.Pattern[str], int], ...] = (
    ("hex-list", lazy(rf"(?:\b0x[0-9A-Fa-f]{{2}}{_SEP}){{6,9999}}0x[0-9A-Fa-f]{{2}}\b"), 16),
    ("hex-list", lazy(rf"(?:\b[0-9A-Fa-f]{{2}}{_SEP}){{9,9999}}[0-9A-Fa-f]{{2}}\b"), 16),
    ("character-codes", lazy(rf"(?:\b[0-9]{{2,3}}{_SEP}){{8,9999}}[0-9]{{2,3}}\b"), 10),
    ("bits", lazy(rf"(?:\b[01]{{8}}{_SEP}){{5,9999}}[01]{{8}}\b"), 2),
)
_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("chr", lazy(r"(?i)(?:\bchrw?\$?\(\s*(?:&h[0-9a-f]{2}|0x[0-9a-f]{2}|\d{2,3})\s*\)\s*[&+.,]?\s*){4,5000}")),
    ("[char]", lazy(r"(?i)(?:\[char\]\s*\(?(?:0x[0-9a-f]{2}|\d{2,3})\)?\s*[+,]?\s*){4,5000}")),
)
_CODE = lazy(r"(?i)(?:(?:&h|0x)([0-9a-f]{2})|(\d{2,3}))(?![0-9a-z])")
_ESCAPES_NEEDLE = b"0" * 28
_NUMBER = lazy(r"(?:0x)?([0-9A-Fa-f]+)")


def find_escapes(document: Document, data: bytes, signs: Signs, children: list[Document]) -> bool:
    """Add a child for each stretch that is written in escapes or in character codes.

    `data`: the text as UTF-8. Returns whether all of it was looked at.
    """
    everything = True
    kinds = [kind for kind in _ESCAPES if (data.count(b"%") if kind[0] == b"%" else signs[kind[0]]) >= _MANY]
    if kinds:
        everything = _find_stretches(document, kinds, children)
    if b"hr(" in signs or b"har]" in signs:
        _find_calls(document, children)
    table = data.translate(_IN_LIST)
    at, found = table.find(_ESCAPES_NEEDLE), 0
    while at >= 0 and found < _MAX_FOUND:
        end = table.find(b" ", at)
        end = len(table) if end < 0 else end
        if end - at - len(data[at:end].translate(None, b"0123456789")) >= 12:  # indentation is no list
            found += 1
            _find_lists(document, data, at, end, children)
        at = table.find(_ESCAPES_NEEDLE, end)
    return everything and found < _MAX_FOUND


def _find_stretches(document: Document, kinds: list[_Escape], children: list[Document]) -> bool:
    """Decode every kind of escape at once: a child for each kind would be decoded again in every order.

    Returns whether all of them were looked at.
    """
    text = document.text
    places: list[tuple[int, int, str]] = []
    for _, how, pattern, _ in kinds:
        places.extend((match.start(), match.end(), how) for match in islice(pattern.finditer(text), _MAX_ESCAPES))
    places.sort()
    at = 0
    for _ in range(_MAX_FOUND):
        if at >= len(places):
            break
        last = at
        while last + 1 < len(places) and places[last + 1][0] - places[last][1] <= _APART:
            last += 1
        if last - at + 1 >= _MANY:
            first = max(0, places[at][0] - _APART)
            start = max(first, text.rfind("\n", first, places[at][0]) + 1)
            end = text.find("\n", places[last][1], places[last][1] + _APART)
            piece = text[start : end if end >= 0 else places[last][1] + _APART]
            for _, _, pattern, letter in kinds:
                piece = pattern.sub(letter, piece)
            if read_plain(piece.encode("utf-8", "replace")):
                children.append(make_child(document, piece, guess_language(piece), places[at][2], start))
        at = last + 1
    return at >= len(places) and len(places) < _MAX_ESCAPES


def _find_calls(document: Document, children: list[Document]) -> None:
    """Texts put together letter by letter by a function that makes letters of numbers."""
    for mark, pattern in _CALLS:
        for match in _match_at(mark, pattern, document.text):
            codes = [int(name[0], 16) if name[0] else int(name[1]) for name in _CODE.findall(match[0])]
            clear = read_plain(bytes(code for code in codes if code < 256))
            if clear:
                children.append(make_child(document, clear, guess_language(clear), "character-codes", match.start()))


def _match_at(mark: str, pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begins with a word: the word is quick to look for."""
    lower = text.lower()
    if lower.count(mark) < _MANY:
        return
    if len(lower) != len(text):
        yield from pattern.finditer(text)
        return
    at = lower.find(mark)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match
        at = lower.find(mark, match.end() if match else at + 1)


def _find_lists(document: Document, data: bytes, start: int, end: int, children: list[Document]) -> None:
    """Lists of character codes in a stretch of digits."""
    text = data[start:end].decode()
    for how, pattern, base in _LISTS:
        for match in pattern.finditer(text):
            values = [int(name, base) for name in _NUMBER.findall(match[0])]
            if len(values) < _MIN_LETTERS or max(values) > 255:
                continue
            clear = read_plain(bytes(values))
            if clear and len(set(clear)) > 4:
                offset = len(data[: start + match.start()].decode("utf-8", "replace"))
                children.append(make_child(document, clear, guess_language(clear), how, offset))
