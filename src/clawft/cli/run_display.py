"""Runs as text: tables, questions, durations and the timeline, for commands and the REPL."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from clawft.cli.output import clean, fit, one_line, table_lines, width_of
from clawft.jobs.timeline import elapsed_ms

if TYPE_CHECKING:
    from clawft.jobs.run_state import PendingQuestion, Run
    from clawft.jobs.timeline import Timeline, TimelineEntry


HEADS = ("RUN", "STATUS", "KIND", "STEPS", "WHEN", "WHAT")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_STATUSES = ("waiting", "running", "queued", "done", "failed", "cancelled")


def list_lines(runs: "Sequence[Run]", questions: "Iterable[PendingQuestion]", columns: int | None) -> list[str]:
    """A table of runs; under each what it waits for, or why it failed."""
    asked: dict[str, str] = {}
    for question in questions:
        asked.setdefault(question.run, f"asks: {question.event.question}")
    rows = [(run.id, _status(run), run.kind, str(run.steps), long_ago(run.created), run.title or "-") for run in runs]
    after = [asked.get(run.id, "") or _tell_trouble(run) for run in runs]
    return table_lines(HEADS, rows, wide=5, columns=columns, after=after)


def _tell_trouble(run: "Run") -> str:
    if run.is_foreign:
        return "waits for a worker of the version that began it"
    return run.error.message if run.error else ""


def _status(run: "Run") -> str:
    return "ending" if run.cancel and run.status == "running" else run.status


def count_words(counts: dict[str, int], whose: str = "") -> str:
    """`3 runs: 1 waiting, 2 done`."""
    total = sum(counts.values())
    parts = [f"{counts[status]} {status}" for status in _STATUSES if counts.get(status)]
    return f"{total} run{'s' * (total != 1)}{whose}: {', '.join(parts)}" if total else f"No runs{whose}"


def ask_lines(question: "PendingQuestion") -> list[str]:
    """A question, and why it is asked."""
    first, *more = clean(question.event.question).splitlines() or [""]
    reason = clean(question.event.reason).splitlines()
    return [f"{click.style('?', fg='yellow')} {first}", *(f"  {line}" for line in (*more, *reason))]


def follow_up(question: "PendingQuestion", *, only: bool, command: str = "weft runs answer") -> str:
    """The command that answers a question; its key is named where there are several."""
    key = "" if only else f" {_quote(question.key)}"
    return f"{command} {question.run}{key} {'|'.join(question.choices)}"


def _quote(key: str) -> str:
    return f"'{one_line(key)}'"  # a shell would take `?` and `~` for its own


def long_ago(at: str) -> str:
    """Return how long ago something was, in one unit."""
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    except (TypeError, ValueError):  # no time that we wrote
        return one_line(at)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"


def when_words(at: str | None) -> str:
    """A time, and how long ago that is."""
    return f"{at[:19].replace('T', ' ')} UTC, {long_ago(at)}" if at else ""


def time_words(ms: float) -> str:
    """A span of time, in at most two units."""
    if ms < 1_000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    for (size, unit), (below, small) in pairwise(_UNITS):
        if seconds >= size:
            rest = seconds % size // below
            return f"{seconds // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{seconds} s"


def steps_words(steps: int) -> str:
    """Render the point from which a run continues."""
    return f"after {steps} step{'s' * (steps != 1)}" if steps else "from its start"


def tokens_words(input_tokens: int, output_tokens: int, cost_usd: float | None) -> str:
    cost = f", ${cost_usd:.4f}" if cost_usd is not None else ""
    return f"{input_tokens:,} in, {output_tokens:,} out{cost}"


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
    spans = [_span(entry, entries[0].started, now) for entry in entries]
    rows = [_cells(entry, span) for entry, span in zip(entries, spans, strict=True)]
    most = 4 if columns is not None and columns < _NARROW else len(_HEADS)  # what a step was comes before its cost
    columns_shown = [at for at in range(most) if at < 4 or any(row[at] for row in rows)]
    widths = [max(width_of(row[at]) for row in (_HEADS, *rows)) for at in columns_shown]
    wide = columns_shown.index(3)
    widths[wide] = max(12, min(widths[wide], room - sum(widths) + widths[wide] - 2 * (len(widths) - 1)))
    lines = [_join([row[at] for at in columns_shown], columns_shown, widths) for row in (_HEADS, *rows)]
    if not with_bar:
        return [line.rstrip() for line in lines]
    scale = _make_scale(entries, spans)
    bars = ["", *(_draw(entry, span, scale) for entry, span in zip(entries, spans, strict=True))]
    return [f"{line}  {bar}".rstrip() for line, bar in zip(lines, bars, strict=True)]


def totals_line(timeline: "Timeline") -> str:
    """`5 steps in 2 min: 1.2 s models, 0.3 s tools, 1 min waiting; 463 in, 28 out`."""
    totals = timeline.totals
    parts = ((totals.model_ms, "models"), (totals.tool_ms, "tools"), (totals.waited_ms, "waiting for you"))
    spent = ", ".join(f"{time_words(ms)} {what}" for ms, what in parts if ms)
    tokens = tokens_words(totals.usage.input_tokens, totals.usage.output_tokens, totals.cost_usd)
    steps = f"{totals.steps} step{'s' * (totals.steps != 1)} in {time_words(totals.elapsed_ms)}"
    return f"{steps}{f': {spent}' if spent else ''}; {tokens}"


def _span(entry: "TimelineEntry", first: str, now: str) -> tuple[float, float]:
    """Begin and end, in ms after the first entry."""
    begin = elapsed_ms(first, entry.started)
    return begin, begin + (elapsed_ms(entry.started, now) if entry.ms is None else entry.ms)


def _cells(entry: "TimelineEntry", span: tuple[float, float]) -> tuple[str, ...]:
    took = "" if entry.kind == "resumed" else time_words(span[1] - span[0]) + ("…" if entry.ms is None else "")
    usage = entry.usage
    tokens = f"{usage.input_tokens:,} → {usage.output_tokens:,}" if usage else ""
    cost = f"${entry.cost_usd:.4f}" if entry.cost_usd is not None else ""
    what = "  " * entry.depth + _tell(entry)
    after = f"+{time_words(span[0])}" if span[0] else "0"
    return after, took, one_line(entry.place), what, tokens, cost


def _tell(entry: "TimelineEntry") -> str:
    match entry.kind:
        case "queued":
            return "waited for a worker" if entry.ms is not None else "waits for a worker"
        case "resumed" if entry.name == "worker-ended":
            return f"── its worker ended; goes on with {one_line(entry.summary) or 'another'}"
        case "resumed":
            return f"── tried again, with {one_line(entry.summary) or 'another worker'}"
        case "wait":
            answer = f"{entry.answer}, {one_line(entry.by)}" if entry.answer else "no answer yet"
            return f"? {answer}: {one_line(entry.summary)}"
    what = f"{one_line(entry.name)} {one_line(entry.summary)}".strip() or "a model"
    what = f"{_BEFORE.get(entry.kind, '')}{what}"
    mark = {"failed": "✗ ", "running": "… "}.get(entry.status, "")
    return f"{mark}{what}"


def _join(cells: Sequence[str], columns: Sequence[int], widths: Sequence[int]) -> str:
    return "  ".join(
        " " * (width - width_of(cell)) + cell if at in _RIGHT else fit(cell, width)
        for cell, at, width in zip(cells, columns, widths, strict=True)
    )


def _make_scale(entries: "Sequence[TimelineEntry]", spans: Sequence[tuple[float, float]]) -> Callable[[float], float]:
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


def _draw(entry: "TimelineEntry", span: tuple[float, float], scale: Callable[[float], float]) -> str:
    begin = min(_BAR - 1, int(scale(span[0]) * _BAR))
    cells = 1 if entry.kind == "resumed" else max(1, round((scale(span[1]) - scale(span[0])) * _BAR))
    return " " * begin + _MARKS[entry.kind] * min(cells, _BAR - begin)
