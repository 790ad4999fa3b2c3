"""Bytes to text, whatever the encoding; None where there is no text."""

from msgspec import Struct

__all__ = ["Decoded", "decode_bytes", "is_mostly_text"]

_BOMS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)
_TEXT_BYTES = bytes({9, 10, 12, 13, 27, *range(32, 256)} - {127})
_SAMPLE = 8192
_MAX_CONTROL = 0.02  # of the bytes: text has next to none, compressed or machine code has one in eight


class Decoded(Struct, frozen=True):
    """A text, and what stood out in the way it was written."""

    text: str
    odd: str = ""  # "nul-padding": it was interspersed with NUL bytes


def decode_bytes(data: bytes) -> Decoded | None:
    """The text of some bytes with `\\n` line ends, or None if they are not text."""
    if 0 not in data and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return Decoded(_unify(data.decode("utf-8", "replace"))) if is_mostly_text(data) else None
        if len(data) > 64 and not is_mostly_text(data):
            return None
        return Decoded(_unify(text) if 13 in data else text)
    return _decode_odd(data)


def is_mostly_text(data: bytes) -> bool:
    """Whether hardly any byte is a control character, and no more than half lie outside ASCII."""
    sample = data if len(data) <= 2 * _SAMPLE else data[:_SAMPLE] + data[-_SAMPLE:]
    return len(sample.translate(None, _TEXT_BYTES)) <= _MAX_CONTROL * len(sample) and (
        sample.isascii() or _is_wide_text(sample)
    )


def _is_wide_text(sample: bytes) -> bool:
    """Whether bytes outside ASCII read as UTF-8, but for a few, or as the letters of an old 8-bit code."""
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return broken <= 0.05 * len(sample) or sum(byte > 127 for byte in sample) <= 0.3 * len(sample)


def _decode_odd(data: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            if text.count("\ufffd") > 0.05 * len(text) + 1:
                return None
            return _without_nul(text)
    if encoding := _find_wide(data):
        text = data.decode(encoding, "replace")
        if is_mostly_text(text.encode("utf-8", "replace")):
            return Decoded(_unify(text), "utf-16")
    rest = data.replace(b"\0", b"")
    if rest and is_mostly_text(rest):
        return Decoded(_unify(rest.decode("utf-8", "replace")), "nul-padding")
    return None


def _without_nul(text: str) -> Decoded | None:
    if "\0" not in text:
        return Decoded(_unify(text)) if is_mostly_text(text.encode("utf-8", "replace")) or len(text) < 64 else None
    rest = text.replace("\0", "")
    return Decoded(_unify(rest), "nul-padding") if rest and is_mostly_text(rest.encode("utf-8", "replace")) else None


def _find_wide(data: bytes) -> str:
    """UTF-16 or UTF-32 without a byte order mark: NUL bytes stand at every second place, or at three of four."""
    sample = data[: _SAMPLE - _SAMPLE % 4]
    size = len(sample)
    if size < 4:
        return ""
    nul = [sample[place::4].count(0) / (size / 4) for place in range(4)]
    if all(nul[place] > 0.9 for place in (1, 2, 3)) and nul[0] < 0.1:
        return "utf-32-le"
    if all(nul[place] > 0.9 for place in (0, 1, 2)) and nul[3] < 0.1:
        return "utf-32-be"
    even, odd = (nul[0] + nul[2]) / 2, (nul[1] + nul[3]) / 2
    if odd > 0.6 and even < 0.1:
        return "utf-16-le"
    return "utf-16-be" if even > 0.6 and odd < 0.1 else ""


def _unify(text: str) -> str:
    """Lines end in `\\n`; a lone carriage return among such lines stays: it hides what is before it."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if "\n" not in text else text
