"""Bytes to text in any encoding, and large texts reduced to the parts that matter."""

import os
from collections.abc import Callable

from msgspec import Struct

from clawft.scanner.regex import make_automaton

_BOMS = (
    (b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be"), (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"),
)  # fmt: skip
_TEXT_BYTES = bytes({9, 10, 12, 13, 27, *range(32, 256)} - {127})
_SAMPLE = 8192
_MAX_CONTROL = 0.02  # of the bytes: text has next to none, compressed or machine code has one in eight


class DecodedText(Struct, frozen=True):
    """A text, and what stood out in the way it was written."""

    text: str
    odd: str = ""  # "nul-padding": it was interspersed with NUL bytes


def decode_bytes(data: bytes) -> DecodedText | None:
    """The text of some bytes with `\\n` line ends, or None if they are not text."""
    if 0 not in data and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return DecodedText(_unify(data.decode("utf-8", "replace"))) if is_mostly_text(data) else None
        if len(data) > 64 and not is_mostly_text(data):
            return None
        return DecodedText(_unify(text) if 13 in data else text)
    return _decode_odd(data)


def is_mostly_text(data: bytes) -> bool:
    """Return whether hardly any byte is a control character, and no more than half lie outside ASCII."""
    sample = data if len(data) <= 2 * _SAMPLE else data[:_SAMPLE] + data[-_SAMPLE:]
    return len(sample.translate(None, _TEXT_BYTES)) <= _MAX_CONTROL * len(sample) and (
        sample.isascii() or _is_wide_text(sample)
    )


def _is_wide_text(sample: bytes) -> bool:
    """Return whether bytes outside ASCII read as UTF-8, but for a few, or as the letters of an old 8-bit code."""
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return broken <= 0.05 * len(sample) or sum(byte > 127 for byte in sample) <= 0.3 * len(sample)


def _decode_odd(data: bytes) -> DecodedText | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            if text.count("\ufffd") > 0.05 * len(text) + 1:
                return None
            return _without_nul(text)
    if encoding := _find_wide(data):
        text = data.decode(encoding, "replace")
        if is_mostly_text(text.encode("utf-8", "replace")):
            return DecodedText(_unify(text), "utf-16")
    rest = data.replace(b"\0", b"")
    if rest and is_mostly_text(rest):
        return DecodedText(_unify(rest.decode("utf-8", "replace")), "nul-padding")
    return None


def _without_nul(text: str) -> DecodedText | None:
    if "\0" not in text:
        return DecodedText(_unify(text)) if is_mostly_text(text.encode("utf-8", "replace")) or len(text) < 64 else None
    rest = text.replace("\0", "")
    return (
        DecodedText(_unify(rest), "nul-padding") if rest and is_mostly_text(rest.encode("utf-8", "replace")) else None
    )


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


HEAD, TAIL = 96 << 10, 48 << 10
BEFORE, AFTER = 1536, 3072
MAX_WINDOWS = 320 << 10
MAX_SEARCHED = 96 << 20
_CHUNK = 1 << 20
_OVERLAP = 64
_PER_WORD = 40  # windows for one word; what repeats more often is the matter of the text
_JOINED_LINES = 4_000  # a longer leap between two windows starts a text of its own
# Words without which hardly an attack can do: the telling ones first, since the room for windows may run out.
_WORDS = (
    b"| bash", b"|bash", b"| sh", b"|sh\n", b"/dev/tcp", b"base64 -d", b"b64decode", b"atob(", b"fromcharcode",
    b"frombase64", b"id_rsa", b".ssh/", b".aws/", b"os.system", b"subprocess", b"child_process", b"eval(", b"exec(",
    b"popen", b"__import__", b"urlopen", b"requests.", b"urllib", b"fetch(", b"axios", b"socket", b"curl ", b"wget ",
    b"invoke-", b"downloadstring", b"powershell", b"os.environ", b"process.env", b"getenv", b".env", b"crontab",
    b"launchagents", b"authorized_keys", b".bashrc", b".zshrc", b"rm -rf", b"sudo ", b"chmod ", b"postinstall",
    b"ignore previous", b"ignore all", b"instructions", b"system prompt", b"do not tell", b"do not mention",
    b"without asking", b"api_key", b"password", b"credential", b"private key", b"wallet", b"webhook", b"osascript",
    b"pickle", b"marshal", b"ctypes", b"keychain", b"\xf3\xa0\x80", b"\xf3\xa0\x81", b"\xe2\x80\x8b", b"\xe2\x80\xae",
    b"bash -", b"sh -c", b"nc -", b"https://", b"http://",
)  # fmt: skip

Read = Callable[[int, int], bytes]


class ReducedText(Struct):
    """The pieces of a text that are analysed, each with its first line, and how much was left out."""

    pieces: list[tuple[int, bytes]]
    left_out: int  # bytes that were searched, but not analysed
    unsearched: int  # bytes that were not even searched


def reduce_bytes(data: bytes) -> ReducedText:
    """Cut down a text in memory."""
    return _reduce(lambda start, end: data[start:end], len(data), [(0, len(data))])


def reduce_file(descriptor: int, size: int) -> ReducedText:
    """Cut down an open file; holes of a sparse one are not read."""
    return _reduce(lambda start, end: os.pread(descriptor, end - start, start), size, _find_data(descriptor, size))


def _find_data(descriptor: int, size: int) -> list[tuple[int, int]]:
    """The parts of a file that are no holes."""
    parts: list[tuple[int, int]] = []
    at = 0
    try:
        while at < size and len(parts) < 256:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
            at = os.lseek(descriptor, start, os.SEEK_HOLE)
            parts.append((start, at))
    except (OSError, AttributeError):  # ENXIO: no data any more
        return parts if at else [(0, size)] if not _ends(descriptor, size) else []
    return parts if at >= size else [*parts, (at, size)]


def _ends(descriptor: int, size: int) -> bool:
    """Return whether a file is one hole."""
    try:
        return os.fstat(descriptor).st_blocks == 0 and size > 0
    except (OSError, AttributeError):
        return False


def _reduce(read: Read, size: int, parts: list[tuple[int, int]]) -> ReducedText:
    hits: dict[bytes, list[int]] = {}
    fill = searched = 0
    solid: list[tuple[int, int]] = []
    for start, end in parts:
        at = start
        while at < end and searched < MAX_SEARCHED:
            chunk = read(at, min(end, at + _CHUNK + _OVERLAP))
            if not chunk:
                break
            step = min(len(chunk), _CHUNK)
            searched += step
            if chunk.count(chunk[:1]) == len(chunk) or chunk.isspace():
                fill += step
            else:
                solid.append((at, at + step))
                _search(chunk, at, hits)
            at += step
    real = sum(end - start for start, end in parts)
    spans = _choose(hits, solid)
    pieces, analysed = _cut(read, spans, size)
    return ReducedText(pieces, max(0, searched - fill - analysed), max(0, real - searched))


def _search(chunk: bytes, at: int, hits: dict[bytes, list[int]]) -> None:
    low = chunk.lower()
    for index in {which for which, _, _ in make_automaton(_WORDS).find_matches_as_indexes(low, overlapping=True)}:
        word = _WORDS[index]
        places = hits.setdefault(word, [])
        found = low.find(word)
        while found >= 0 and len(places) < _PER_WORD:
            places.append(at + found)
            found = low.find(word, found + AFTER)


def _choose(hits: dict[bytes, list[int]], solid: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans to analyse: the beginning, the end, and the surroundings of words, the telling ones first."""
    if not solid:
        return []
    first, last = solid[0][0], solid[-1][1]
    spans = [(first, min(last, first + HEAD)), (max(first, last - TAIL), last)]
    room = MAX_WINDOWS
    for word in _WORDS:
        for place in hits.get(word, ()):
            if room <= 0:
                break
            if not any(start <= place - BEFORE and place + AFTER <= end for start, end in spans[:2]):
                spans.append((max(first, place - BEFORE), min(last, place + AFTER)))
                room -= BEFORE + AFTER
    spans.sort()
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _cut(read: Read, spans: list[tuple[int, int]], size: int) -> tuple[list[tuple[int, bytes]], int]:
    """The text of the spans with the lines it stands on: short leaps become empty lines, long ones a new piece."""
    pieces: list[tuple[int, bytes]] = []
    current: list[bytes] = []
    line = first_line = 1
    at = analysed = 0
    for start, end in spans:
        lines = _count_lines(read, at, min(start, size)) if start - at < MAX_SEARCHED else 0
        if current and lines > _JOINED_LINES:
            pieces.append((first_line, b"".join(current)))
            current = []
        line += lines
        if current:
            current.append(b"\n" * lines if lines else b" ")
        else:
            first_line = line
        text = read(start, end)
        current.append(text)
        line += text.count(b"\n")
        analysed += len(text)
        at = end
    if current:
        pieces.append((first_line, b"".join(current)))
    return pieces, analysed


def _count_lines(read: Read, start: int, end: int) -> int:
    lines = 0
    while start < end:
        chunk = read(start, min(end, start + _CHUNK))
        if not chunk:
            break
        lines += chunk.count(b"\n")
        start += len(chunk)
    return lines
