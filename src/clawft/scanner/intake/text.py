"""Texts too large to analyse whole: searched to the end, and cut down to where something stands that could matter."""

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

__all__ = ["Reduced", "reduce_bytes", "reduce_file"]

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
    b"frombase64", b"id_rsa", b".ssh/", b".aws/", b"os.system", b"subprocess", b"child_process", b"eval(",
    b"exec(", b"popen", b"__import__", b"urlopen", b"requests.", b"urllib", b"fetch(", b"axios", b"socket",
    b"curl ", b"wget ", b"invoke-", b"downloadstring", b"powershell", b"os.environ", b"process.env", b"getenv",
    b".env", b"crontab", b"launchagents", b"authorized_keys", b".bashrc", b".zshrc", b"rm -rf", b"sudo ",
    b"chmod ", b"postinstall", b"ignore previous", b"ignore all", b"instructions", b"system prompt",
    b"do not tell", b"do not mention", b"without asking", b"api_key", b"password", b"credential",
    b"private key", b"wallet", b"webhook", b"osascript", b"pickle", b"marshal", b"ctypes", b"keychain",
    b"\xf3\xa0\x80", b"\xf3\xa0\x81", b"\xe2\x80\x8b", b"\xe2\x80\xae", b"bash -", b"sh -c", b"nc -",
    b"https://", b"http://",
)  # fmt: skip

Read = Callable[[int, int], bytes]


class Reduced(Struct):
    """The pieces of a text that are analysed, each with its first line, and how much was left out."""

    pieces: list[tuple[int, bytes]]
    left_out: int  # bytes that were searched, but not analysed
    unsearched: int  # bytes that were not even searched


def reduce_bytes(data: bytes) -> Reduced:
    """Cut down a text in memory."""
    return _reduce(lambda start, end: data[start:end], len(data), [(0, len(data))])


def reduce_file(descriptor: int, size: int) -> Reduced:
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
    """Whether a file is one hole."""
    try:
        return os.fstat(descriptor).st_blocks == 0 and size > 0
    except (OSError, AttributeError):
        return False


def _reduce(read: Read, size: int, parts: list[tuple[int, int]]) -> Reduced:
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
    return Reduced(pieces, max(0, searched - fill - analysed), max(0, real - searched))


def _search(chunk: bytes, at: int, hits: dict[bytes, list[int]]) -> None:
    low = chunk.lower()
    for index in {which for which, _, _ in _find_words().find_matches_as_indexes(low, overlapping=True)}:
        word = _WORDS[index]
        places = hits.setdefault(word, [])
        found = low.find(word)
        while found >= 0 and len(places) < _PER_WORD:
            places.append(at + found)
            found = low.find(word, found + AFTER)


@cache
def _find_words() -> "BytesAhoCorasick":
    from ahocorasick_rs import BytesAhoCorasick

    return BytesAhoCorasick(_WORDS)


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
