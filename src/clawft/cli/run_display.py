"""A timeline in lines: when each step began, how long it took, where it stands, what it was and what it cost."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from clawft.cli.output import fit, one_line, width_of
from clawft.cli.runs._words import time_words, tokens_words

if TYPE_CHECKING:
    from clawft.run.durable.timeline import Entry, Timeline

__all__ = ["timeline_lines", "totals_line"]

_HEADS = ("AFTER", "TOOK", "STEP", "WHAT", "TOKENS", "COST")
_RIGHT = (0, 1, 4, 5)  # columns of numbers
_NARROW = 72
_WIDE_FROM, _BAR = 110, 26
_IDLE_SHARE = 0.12  # of the bar that a wait of any length takes at most
_MARKS = {
    **{"model": "█", "tool": "▓", "command": "▓", "hook": "▒", "stage": "▒"},
    **{"wait": "░", "queued": "░", "resumed": "│"},
}
_BEFORE = {"hook": "hooks ", "stage": "stage "}


def timeline_lines(timeline: "Timeline", now: str, columns: int | None) -> list[str]:
    """The table, and beside it a bar for each line where the terminal is wide."""
    entries = timeline.entries
    if not entries:
        return []
    with_bar = columns is not None and columns >= _WIDE_FROM
    room = (columns or 120) - (_BAR + 2 if with_bar else 0)
    spans = [_span(one, entries[0].started, now) for one in entries]
    rows = [_cells(one, span) for one, span in zip(entries, spans, strict=True)]
    most = 4 if columns is not None and columns < _NARROW else len(_HEADS)  # what a step was comes before its cost
    kept = [at for at in range(most) if at < 4 or any(row[at] for row in rows)]
    widths = [max(width_of(row[at]) for row in (_HEADS, *rows)) for at in kept]
    wide = kept.index(3)
    widths[wide] = max(12, min(widths[wide], room - sum(widths) + widths[wide] - 2 * (len(widths) - 1)))
    lines = [_join([row[at] for at in kept], kept, widths) for row in (_HEADS, *rows)]
    if not with_bar:
        return [line.rstrip() for line in lines]
    scale = _make_scale(entries, spans)
    bars = ["", *(_draw(one, span, scale) for one, span in zip(entries, spans, strict=True))]
    return [f"{line}  {bar}".rstrip() for line, bar in zip(lines, bars, strict=True)]


def totals_line(timeline: "Timeline") -> str:
    """`5 steps in 2 min: 1.2 s models, 0.3 s tools, 1 min waiting; 463 in, 28 out`."""
    totals = timeline.totals
    parts = ((totals.model_ms, "models"), (totals.tool_ms, "tools"), (totals.waited_ms, "waiting for you"))
    spent = ", ".join(f"{time_words(ms)} {what}" for ms, what in parts if ms)
    tokens = tokens_words(totals.usage.input_tokens, totals.usage.output_tokens, totals.cost_usd)
    steps = f"{totals.steps} step{'s' * (totals.steps != 1)} in {time_words(totals.elapsed_ms)}"
    return f"{steps}{f': {spent}' if spent else ''}; {tokens}"


def _span(entry: "Entry", first: str, now: str) -> tuple[float, float]:
    """Begin and end, in ms after the first entry."""
    from clawft.run.durable.timeline import between

    begin = between(first, entry.started)
    return begin, begin + (between(entry.started, now) if entry.ms is None else entry.ms)


def _cells(entry: "Entry", span: tuple[float, float]) -> tuple[str, ...]:
    took = "" if entry.kind == "resumed" else time_words(span[1] - span[0]) + ("…" if entry.ms is None else "")
    usage = entry.usage
    tokens = f"{usage.input_tokens:,} → {usage.output_tokens:,}" if usage else ""
    cost = f"${entry.cost_usd:.4f}" if entry.cost_usd is not None else ""
    what = "  " * entry.depth + _tell(entry)
    after = f"+{time_words(span[0])}" if span[0] else "0"
    return after, took, one_line(entry.place), what, tokens, cost


def _tell(entry: "Entry") -> str:
    match entry.kind:
        case "queued":
            return "waited for a worker" if entry.ms is not None else "waits for a worker"
        case "resumed" if entry.name == "worker-ended":
            return f"── its worker ended; goes on with {one_line(entry.summary) or 'another'}"
        case "resumed":
            return f"── tried again, with {one_line(entry.summary) or 'another worker'}"
        case "wait":
            said = f"{entry.answer}, {one_line(entry.by)}" if entry.answer else "no answer yet"
            return f"? {said}: {one_line(entry.summary)}"
    what = f"{one_line(entry.name)} {one_line(entry.summary)}".strip() or "a model"
    what = f"{_BEFORE.get(entry.kind, '')}{what}"
    mark = {"failed": "✗ ", "running": "… "}.get(entry.status, "")
    return f"{mark}{what}"


def _join(cells: Sequence[str], kept: Sequence[int], widths: Sequence[int]) -> str:
    return "  ".join(
        " " * (width - width_of(cell)) + cell if at in _RIGHT else fit(cell, width)
        for cell, at, width in zip(cells, kept, widths, strict=True)
    )


def _make_scale(entries: "Sequence[Entry]", spans: Sequence[tuple[float, float]]) -> Callable[[float], float]:
    """Times to parts of the bar. Nothing happens while a run waits, be it for days: that is drawn short."""
    changes: dict[float, int] = {}
    for entry, (begin, end) in zip(entries, spans, strict=True):
        works = entry.kind in ("model", "tool", "command", "hook", "stage")
        for at, change in ((begin, works), (end, -works)):
            changes[at] = changes.get(at, 0) + change
    points = sorted(changes)
    active, pieces = 0, []
    for begin, end in pairwise(points):
        active += changes[begin]
        pieces.append((end - begin, active > 0))
    most = _IDLE_SHARE * max(1.0, sum(length for length, busy in pieces if busy))
    places, reached = {points[0]: 0.0}, 0.0
    for end, (length, busy) in zip(points[1:], pieces, strict=True):
        reached += length if busy else min(length, most)
        places[end] = reached
    return lambda at: places[at] / (reached or 1.0)


def _draw(entry: "Entry", span: tuple[float, float], scale: Callable[[float], float]) -> str:
    begin = min(_BAR - 1, int(scale(span[0]) * _BAR))
    cells = 1 if entry.kind == "resumed" else max(1, round((scale(span[1]) - scale(span[0])) * _BAR))
    return " " * begin + _MARKS[entry.kind] * min(cells, _BAR - begin)
