"""Runs in words: spans of time, tables of steps at any width, bars."""

import re
from typing import Any

import pytest

from clawft.cli.output import width_of
from clawft.cli.run_display import count_words, time_words, timeline_lines, totals_line
from clawft.cli.run_watch import choices_of
from clawft.jobs.run_state import PendingQuestion
from clawft.jobs.timeline import Timeline, TimelineEntry, TimelineTotals
from clawft.messages import ApprovalNeeded, Usage

NOW = "2026-06-04T08:00:00.000Z"
STEPS = (
    TimelineEntry(kind="queued", started="2026-06-01T08:00:00.000Z", ms=1500),
    TimelineEntry(
        kind="model",
        started="2026-06-01T08:00:02.000Z",
        ms=2000,
        name="a/b",
        place="1",
        usage=Usage(1200, 34),
        cost_usd=0.5,
    ),
    TimelineEntry(
        kind="wait",
        started="2026-06-01T08:00:04.000Z",
        ms=2 * 86_400_000,
        name="approval",
        summary="Run: rm -r build",
        place="1.0",
        depth=1,
        answer="once",
        by="me@here",
    ),
    TimelineEntry(kind="resumed", started="2026-06-03T08:00:04.000Z", ms=0, name="worker-ended", summary="vm-1"),
    TimelineEntry(
        kind="tool",
        started="2026-06-03T08:00:05.000Z",
        ms=2000,
        name="exec_shell",
        summary="rm -r build\x1b[2J",
        place="1.0",
        depth=1,
        status="failed",
    ),
    TimelineEntry(kind="model", started="2026-06-03T08:00:07.000Z", ms=None, place="2", status="running"),
)
TIMELINE = Timeline(STEPS, TimelineTotals(2, 2000, 2000, 2 * 86_400_000, 3 * 86_400_000, Usage(1200, 34), 0.5))


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_949, "59.9 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (90 * 60_000, "1 h 30 min"),
        (49 * 3_600_000, "2 d 1 h"),
    ],
)
def test_a_span_of_time_has_at_most_two_units(ms: int, text: str) -> None:
    assert time_words(ms) == text


def test_runs_are_counted_by_what_matters_first() -> None:
    assert count_words({"done": 2, "waiting": 1}) == "3 runs: 1 waiting, 2 done"
    assert count_words({}, " of this project") == "No runs of this project"


@pytest.mark.parametrize(("kind", "grave"), [("approval", False), ("approval", True), ("in-flight", True)])
def test_all_that_may_be_typed_is_offered_and_is_an_answer(kind: Any, grave: bool) -> None:
    event = ApprovalNeeded(call="c", tool="t", question="?", dangerous=grave)
    question = PendingQuestion("r", "1.0", kind, event, NOW)
    text, meanings = choices_of(question)
    assert set(meanings.values()) - {""} == set(question.choices)
    assert {one.lower() for one in re.findall(r"\[(.)\]", text)} <= set(meanings)
    assert ("" in meanings) == (kind == "approval")  # Enter is no answer to what may be done twice
    assert meanings.get("", "no") == "no"


def test_a_timeline_reads_line_by_line() -> None:
    assert timeline_lines(TIMELINE, NOW, None) == [
        " AFTER          TOOK  STEP  WHAT                                        TOKENS     COST",
        "     0         1.5 s        waited for a worker",
        "+2.0 s         2.0 s  1     a/b                                     1,200 → 34  $0.5000",
        "+4.0 s           2 d  1.0     ? once, me@here: Run: rm -r build",
        "  +2 d                      ── its worker ended; goes on with vm-1",
        "  +2 d         2.0 s  1.0     ✗ exec_shell rm -r build\ufffd[2J",
        "  +2 d  23 h 59 min…  2     … a model",
    ]
    assert totals_line(TIMELINE) == (
        "2 steps in 3 d: 2.0 s models, 2.0 s tools, 2 d waiting for you; 1,200 in, 34 out, $0.5000"
    )


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 110, 200])
def test_a_timeline_fits_and_a_wait_of_days_is_drawn_short(columns: int) -> None:
    lines = timeline_lines(TIMELINE, NOW, columns)
    assert max(map(width_of, lines)) <= columns
    bars = [line.count("░") for line in lines[1:]]
    assert bars[2] in ((0,) if columns < 110 else (1, 2, 3, 4))
