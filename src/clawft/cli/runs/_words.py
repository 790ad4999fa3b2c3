"""How runs and their questions are put into words: the same for commands and at the prompt of a session."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from clawft.cli.output import clean, one_line, table_lines

if TYPE_CHECKING:
    from clawft.run.durable.values import Question, Run

__all__ = [
    "ask_lines",
    "count_words",
    "follow_up",
    "list_lines",
    "long_ago",
    "steps_words",
    "time_words",
    "tokens_words",
    "when_words",
]

HEADS = ("RUN", "STATUS", "KIND", "STEPS", "WHEN", "WHAT")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_STATUSES = ("waiting", "running", "queued", "done", "failed", "cancelled")


def list_lines(runs: "Sequence[Run]", questions: "Iterable[Question]", columns: int | None) -> list[str]:
    """A table of runs; under each what it waits for, or why it failed."""
    asked: dict[str, str] = {}
    for one in questions:
        asked.setdefault(one.run, f"asks: {one.event.question}")
    rows = [(one.id, _status(one), one.kind, str(one.steps), long_ago(one.created), one.title or "-") for one in runs]
    after = [asked.get(one.id, "") or _tell_trouble(one) for one in runs]
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
    parts = [f"{counts[one]} {one}" for one in _STATUSES if counts.get(one)]
    return f"{total} run{'s' * (total != 1)}{whose}: {', '.join(parts)}" if total else f"No runs{whose}"


def ask_lines(question: "Question", indent: str = "") -> list[str]:
    """A question, and why it is asked."""
    first, *more = clean(question.event.question).splitlines() or [""]
    reason = clean(question.event.reason).splitlines()
    return [f"{indent}{click.style('?', fg='yellow')} {first}", *(f"{indent}  {line}" for line in (*more, *reason))]


def follow_up(question: "Question", *, only: bool, command: str = "weft runs answer") -> str:
    """The command that answers a question; its key is named where there are several."""
    key = "" if only else f" {_quote(question.key)}"
    return f"{command} {question.run}{key} {'|'.join(question.choices)}"


def _quote(key: str) -> str:
    return f"'{one_line(key)}'"  # a shell would take `?` and `~` for its own


def long_ago(at: str, now: datetime | None = None) -> str:
    """How long ago something was, in one unit."""
    try:
        seconds = ((now or datetime.now(UTC)) - datetime.fromisoformat(at)).total_seconds()
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
    """Where a run goes on that was not begun for the first time."""
    return f"after {steps} step{'s' * (steps != 1)}" if steps else "from its start"


def tokens_words(input_tokens: int, output_tokens: int, cost_usd: float | None) -> str:
    cost = f", ${cost_usd:.4f}" if cost_usd is not None else ""
    return f"{input_tokens:,} in, {output_tokens:,} out{cost}"
