"""The parts of a long text that are worth analysing: its ends and the lines around marked words."""

from collections.abc import Iterator, Sequence

WHOLE = 120_000  # up to here a text is read as a whole
EDGE = 24_000
AROUND = 1_500
BUDGET = 300_000
MAX_HITS = 4_000  # of one mark


def find_windows(text: str, marks: Sequence[str]) -> list[tuple[int, int]]:
    """The spans of a text to read, in order and apart from each other; marks are plain words."""
    size = len(text)
    if size <= WHOLE:
        return [(0, size)]
    spans = [(0, _line_end(text, EDGE)), (_line_start(text, size - EDGE), size)]
    left = BUDGET - 2 * EDGE
    seen: set[str] = set()
    hits = sorted((list(_find_all(text, mark)) for mark in marks), key=len)
    for places in hits:
        for at in places:
            begin, end = _line_start(text, at), _line_end(text, at)
            line = text[begin : min(end, begin + 400)]
            if line in seen:
                continue
            seen.add(line)
            span = (_line_start(text, max(0, begin - AROUND)), _line_end(text, min(size, end + AROUND)))
            spans.append(span)
            left -= span[1] - span[0]
            if left < 0:
                return _merge(spans)
    return _merge(spans)


def _find_all(text: str, mark: str) -> Iterator[int]:
    at = text.find(mark)
    for _ in range(MAX_HITS):
        if at < 0:
            return
        yield at
        at = text.find(mark, at + len(mark))


def _line_start(text: str, at: int) -> int:
    """The start of a line, or a little before the place when the line is too long."""
    at = max(0, at)
    floor = max(0, at - AROUND)
    return max(floor, text.rfind("\n", floor, at) + 1)


def _line_end(text: str, at: int) -> int:
    ceiling = min(len(text), at + AROUND)
    end = text.find("\n", at, ceiling)
    return ceiling if end < 0 else end


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged
