"""What decoded bytes are: a text, something compressed or packed in turn, a program, or nothing of interest."""

import zlib

from clawft.scan.intake.forms import ARCHIVES, PROGRAMS, find_form

__all__ = ["MAX_RESULT", "promises_more", "read_packed", "read_plain"]

MAX_RESULT = 1 << 20
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
    return sum(one.isalnum() or one == " " for one in head) >= 0.25 * len(head)


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
    """Whether the first of some bytes look like an archive, a program or text of two bytes a letter."""
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
        inner = zlib.decompressobj(31 if form else 15).decompress(data, MAX_RESULT)
    except zlib.error:
        return []
    text = read_plain(inner)
    return [(text, "", form or "zlib")] if text else []


def _open(data: bytes) -> list[tuple[str, str, str]]:
    """The texts in an archive that stood in a text."""
    import time

    from clawft.scan.intake.parts import Room
    from clawft.scan.intake.take import Taken, take_bytes, take_compiled

    taken = Taken(Room(time.monotonic() + 1.0), [], [], [], [], {})
    take_bytes(taken, "packed", data)
    take_compiled(taken)
    return [(one.text, one.language, " ".join(one.origin)) for one in taken.documents]
