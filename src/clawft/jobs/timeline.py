"""The timeline of a run: its steps with their start, duration and cost, built from the records, for every front end."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clawft.messages import Usage

if TYPE_CHECKING:
    from clawft.jobs.engine import RecordedStep
    from clawft.jobs.run_state import PendingQuestion, Run


_LATER = "~"  # than any time
_NEEDED = {"kind", "name", "started", "ms"}  # of a step
_ON_WORKER = re.compile(r", on (\S+?)(?:~\w+)?$")  # at the end of what `run-resumed` says


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """One line. A step has a place, as `3.0/1`: the first answer in the fork that call 0 of answer 3 began.

    `ms` is None while it goes on; the time that a step spent waiting for a person is not in it, but in a `wait`.
    """

    kind: Literal["queued", "model", "tool", "command", "hook", "stage", "wait", "resumed"]
    started: str
    ms: int | None
    name: str = ""  # of a model, a tool, a stage or what hooks heard; the kind of a question; why a run was resumed
    summary: str = ""
    place: str = ""
    depth: int = 0
    status: Literal["done", "failed", "running", "waiting"] = "done"
    attempt: int = 0
    usage: Usage | None = None
    cost_usd: float | None = None
    answer: str | None = None
    by: str = ""


class TimelineTotals(Struct, frozen=True):
    """Sums over the timeline. What a fork did counts once."""

    steps: int
    model_ms: int
    tool_ms: int
    waited_ms: int
    elapsed_ms: int
    usage: Usage
    cost_usd: float | None


class Timeline(Struct, frozen=True):
    """The entries in the order in which they began."""

    entries: tuple[TimelineEntry, ...]
    totals: TimelineTotals


def make_timeline(
    run: "Run",
    recorded: "Sequence[RecordedStep]",
    questions: "Sequence[PendingQuestion]",
    resumed: Sequence[tuple[str, str]],
    now: str,
) -> Timeline:
    """A timeline of a run. `resumed` are time and text of each `run-resumed` event; `now` ends what goes on."""
    steps = {
        recorded_step.name: recorded_step
        for recorded_step in recorded
        if isinstance(recorded_step.value, dict) and recorded_step.value.keys() >= _NEEDED
    }
    waits = [_make_wait(question) for question in questions]
    done = [_make_step(place, step, waits) for place, step in steps.items()]
    flying = (
        list(_find_flying(run, {entry.place: entry for entry in done}, steps, waits)) if run.status == "running" else []
    )
    again = list(_find_resumed(run, done, waits, resumed))
    entries = sorted([_make_queued(run), *done, *flying, *waits, *again], key=_order)
    return Timeline(tuple(entries), _add_up(run, entries, now))


def _order(entry: TimelineEntry) -> tuple[str, bool, str]:
    return entry.started, entry.kind != "queued", entry.place


def _make_queued(run: "Run") -> TimelineEntry:
    """The time until a worker took it, or nobody did."""
    until = run.started or run.finished
    ms = elapsed_ms(run.created, until) if until else None
    status: Literal["done", "waiting"] = "done" if until else "waiting"
    return TimelineEntry(kind="queued", started=run.created, ms=ms, summary=run.queue, status=status)


def _make_wait(question: "PendingQuestion") -> TimelineEntry:
    place = re.split(r"[?~]", question.key)[0]
    return TimelineEntry(
        kind="wait",
        started=question.asked,
        ms=elapsed_ms(question.asked, question.answered) if question.answered else None,
        name=question.kind,
        summary=question.event.question,
        place=place,
        depth=_depth(place),
        status="done" if question.answer else "waiting",
        answer=question.answer,
        by=question.by,
    )


def _make_step(place: str, recorded: "RecordedStep", waits: Sequence[TimelineEntry]) -> TimelineEntry:
    value: Mapping[str, Any] = recorded.value
    result = value.get("result")
    failed = isinstance(result, dict) and (result.get("status") == "error" or bool(result.get("problems")))
    usage = value.get("usage")
    return TimelineEntry(
        kind=value["kind"],
        started=value["started"],
        ms=max(0, value["ms"] - _waited(place, value["started"], value["ms"], waits)),
        name=value["name"],
        summary=value.get("summary", ""),
        place=place,
        depth=_depth(place),
        status="failed" if failed else "done",
        attempt=recorded.attempt,
        usage=msgspec.convert(usage, Usage) if usage else None,
        cost_usd=value.get("cost_usd"),
    )


def _depth(place: str) -> int:
    return place.count(".") + place.count("/")


def _waited(place: str, started: str, ms: int, waits: Sequence[TimelineEntry]) -> int:
    """Return how long a step waited for the user, within the time that it took."""
    begun = _read(started)
    spent = 0.0
    for wait in waits:
        if wait.place == place and wait.ms is not None:
            from_s = max(0.0, (_read(wait.started) - begun).total_seconds())
            to_s = min(ms / 1000, (_read(wait.started) - begun).total_seconds() + wait.ms / 1000)
            spent += max(0.0, to_s - from_s)
    return round(spent * 1000)


def _find_flying(
    run: "Run",
    done: Mapping[str, TimelineEntry],
    steps: "Mapping[str, RecordedStep]",
    waits: Sequence[TimelineEntry],
    prefix: str = "",
) -> Iterator[TimelineEntry]:
    """Yield what is running now: the calls of the last answer that have no result, or else the next answer."""
    own = [place for place in done if place.startswith(prefix) and place[len(prefix) :].isdigit()]
    if not own:
        if not prefix:
            started = run.started or run.created
            yield TimelineEntry(
                kind="model", started=started, ms=None, place="1", status="running", attempt=run.attempt
            )
        return
    last = max(own, key=lambda place: int(place[len(prefix) :]))
    calls = (steps[last].value.get("result") or {}).get("calls") or []
    open_calls = [(at, call) for at, call in enumerate(calls) if f"{last}.{at}" not in done]
    below = [place for place in done if place.startswith(f"{last}.")]
    begun = max((_end_of(done[place]) for place in (last, *below)), default="")
    if not open_calls and calls:
        place = f"{prefix}{int(last[len(prefix) :]) + 1}"
        yield TimelineEntry(kind="model", started=begun, ms=None, place=place, depth=_depth(place), status="running")
    for at, call in open_calls:
        place = f"{last}.{at}"
        if any(wait.place == place and wait.status == "waiting" for wait in waits):
            continue  # the question says it
        depth = _depth(place)
        started = _end_of(done[last])
        yield TimelineEntry(
            kind="tool",
            started=started,
            ms=None,
            name=call["name"],
            summary=next((str(argument) for argument in call.get("arguments", {}).values()), ""),
            place=place,
            depth=depth,
            status="running",
        )
        yield from _find_flying(run, done, steps, waits, f"{place}/")


def _find_resumed(
    run: "Run", done: Sequence[TimelineEntry], waits: Sequence[TimelineEntry], resumed: Sequence[tuple[str, str]]
) -> Iterator[TimelineEntry]:
    """Yield the points where a worker ended in the middle, or the run was retried; after an answer it simply
    continues."""
    for at, text in resumed:
        before = max((entry for entry in done if entry.started < at), key=lambda one: one.started, default=None)
        after = min((entry for entry in done if entry.started >= at), key=lambda one: one.started, default=None)
        was, is_now = (before.attempt if before else 1), (after.attempt if after else run.attempt)
        since, until = (_end_of(before) if before else run.created), (after.started if after else _LATER)
        answers = [_end_of(wait) for wait in waits if wait.ms is not None]
        if was != is_now and any(since <= answer <= at for answer in answers):
            continue
        is_same = was == is_now or any(at < answer <= until for answer in answers)  # the answer began the next attempt
        why = "worker-ended" if is_same else "again"
        worker = _ON_WORKER.search(text)
        yield TimelineEntry(
            kind="resumed", started=at, ms=0, name=why, summary=worker[1] if worker else "", attempt=is_now or was
        )


def _add_up(run: "Run", entries: Sequence[TimelineEntry], now: str) -> TimelineTotals:
    places = {entry.place for entry in entries}
    forked = {place.rpartition("/")[0] for place in places if "/" in place}
    usage, cost = Usage(), None
    for entry in entries:
        usage = usage.merge(entry.usage) if entry.usage else usage
        cost = cost if entry.cost_usd is None else (cost or 0.0) + entry.cost_usd
    done = [
        entry
        for entry in entries
        if entry.kind in ("model", "tool", "command", "hook", "stage") and entry.ms is not None
    ]
    waits = [
        elapsed_ms(entry.started, now) if entry.ms is None else entry.ms for entry in entries if entry.kind == "wait"
    ]
    return TimelineTotals(
        steps=len(done),
        model_ms=sum(done_entry.ms or 0 for done_entry in done if done_entry.kind == "model"),
        tool_ms=sum(
            done_entry.ms or 0
            for done_entry in done
            if done_entry.kind in ("tool", "command") and done_entry.place not in forked
        ),
        waited_ms=sum(waits),
        elapsed_ms=elapsed_ms(run.created, run.finished or now),
        usage=usage,
        cost_usd=cost,
    )


def _end_of(entry: TimelineEntry) -> str:
    if not entry.ms:
        return entry.started
    end = datetime.fromtimestamp(_read(entry.started).timestamp() + entry.ms / 1000, tz=_read(entry.started).tzinfo)
    return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def elapsed_ms(started: str, ended: str) -> int:
    """The ms from one time to another; 0 where a clock was set back."""
    return max(0, round((_read(ended) - _read(started)).total_seconds() * 1000))


def _read(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = datetime.fromtimestamp(0, UTC)  # no time that we wrote: the rest is shown all the same
    return at if at.tzinfo else at.replace(tzinfo=UTC)
