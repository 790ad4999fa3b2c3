"""What a run did, when, for how long and at what cost: one value, made of what is recorded, for every front end."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clawft.messages import Usage

if TYPE_CHECKING:
    from clawft.run.durable.engine import Recorded
    from clawft.run.durable.values import Question, Run

__all__ = ["Entry", "Timeline", "Totals", "between", "make_timeline"]

_LATER = "~"  # than any time
_NEEDED = {"kind", "name", "started", "ms"}  # of a step
_ON_WORKER = re.compile(r", on (\S+?)(?:~\w+)?$")  # at the end of what `run-resumed` says


class Entry(Struct, frozen=True, kw_only=True):
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


class Totals(Struct, frozen=True):
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

    entries: tuple[Entry, ...]
    totals: Totals


def make_timeline(
    run: "Run",
    recorded: "Sequence[Recorded]",
    questions: "Sequence[Question]",
    resumed: Sequence[tuple[str, str]],
    now: str,
) -> Timeline:
    """A timeline of a run. `resumed` are time and text of each `run-resumed` event; `now` ends what goes on."""
    steps = {one.name: one for one in recorded if isinstance(one.value, dict) and one.value.keys() >= _NEEDED}
    waits = [_make_wait(one) for one in questions]
    done = [_make_step(place, one, waits) for place, one in steps.items()]
    flying = list(_find_flying(run, {entry.place: entry for entry in done}, steps, waits)) if _works(run) else []
    again = list(_find_resumed(run, done, waits, resumed))
    entries = sorted([_make_queued(run), *done, *flying, *waits, *again], key=_order)
    return Timeline(tuple(entries), _add_up(run, entries, now))


def _works(run: "Run") -> bool:
    return run.status == "running"


def _order(entry: Entry) -> tuple[str, bool, str]:
    return entry.started, entry.kind != "queued", entry.place


def _make_queued(run: "Run") -> Entry:
    """The time until a worker took it, or nobody did."""
    until = run.started or run.finished
    ms = between(run.created, until) if until else None
    status: Literal["done", "waiting"] = "done" if until else "waiting"
    return Entry(kind="queued", started=run.created, ms=ms, summary=run.queue, status=status)


def _make_wait(question: "Question") -> Entry:
    place = re.split(r"[?~]", question.key)[0]
    return Entry(
        kind="wait",
        started=question.asked,
        ms=between(question.asked, question.answered) if question.answered else None,
        name=question.kind,
        summary=question.event.question,
        place=place,
        depth=_depth(place),
        status="done" if question.answer else "waiting",
        answer=question.answer,
        by=question.by,
    )


def _make_step(place: str, recorded: "Recorded", waits: Sequence[Entry]) -> Entry:
    value: Mapping[str, Any] = recorded.value
    result = value.get("result")
    failed = isinstance(result, dict) and (result.get("status") == "error" or bool(result.get("problems")))
    usage = value.get("usage")
    return Entry(
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


def _waited(place: str, started: str, ms: int, waits: Sequence[Entry]) -> int:
    """How long a step waited for a person, as far as that lies in the time that it took."""
    begun = _read(started)
    spent = 0.0
    for wait in waits:
        if wait.place == place and wait.ms is not None:
            from_s = max(0.0, (_read(wait.started) - begun).total_seconds())
            to_s = min(ms / 1000, (_read(wait.started) - begun).total_seconds() + wait.ms / 1000)
            spent += max(0.0, to_s - from_s)
    return round(spent * 1000)


def _find_flying(
    run: "Run", done: Mapping[str, Entry], steps: "Mapping[str, Recorded]", waits: Sequence[Entry], prefix: str = ""
) -> Iterator[Entry]:
    """What is being done now: the calls of the last answer that have no result, or else the next answer."""
    own = [place for place in done if place.startswith(prefix) and place[len(prefix) :].isdigit()]
    if not own:
        if not prefix:
            started = run.started or run.created
            yield Entry(kind="model", started=started, ms=None, place="1", status="running", attempt=run.attempt)
        return
    last = max(own, key=lambda place: int(place[len(prefix) :]))
    calls = (steps[last].value.get("result") or {}).get("calls") or []
    open_calls = [(at, call) for at, call in enumerate(calls) if f"{last}.{at}" not in done]
    below = [place for place in done if place.startswith(f"{last}.")]
    begun = max((_end_of(done[place]) for place in (last, *below)), default="")
    if not open_calls and calls:
        place = f"{prefix}{int(last[len(prefix) :]) + 1}"
        yield Entry(kind="model", started=begun, ms=None, place=place, depth=_depth(place), status="running")
    for at, call in open_calls:
        place = f"{last}.{at}"
        if any(wait.place == place and wait.status == "waiting" for wait in waits):
            continue  # the question says it
        depth = _depth(place)
        started = _end_of(done[last])
        yield Entry(
            kind="tool",
            started=started,
            ms=None,
            name=call["name"],
            summary=next((str(one) for one in call.get("arguments", {}).values()), ""),
            place=place,
            depth=depth,
            status="running",
        )
        yield from _find_flying(run, done, steps, waits, f"{place}/")


def _find_resumed(
    run: "Run", done: Sequence[Entry], waits: Sequence[Entry], resumed: Sequence[tuple[str, str]]
) -> Iterator[Entry]:
    """Where a worker ended in the middle, or somebody had the run tried again; after an answer it simply goes on."""
    for at, text in resumed:
        before = max((one for one in done if one.started < at), key=lambda one: one.started, default=None)
        after = min((one for one in done if one.started >= at), key=lambda one: one.started, default=None)
        was, is_now = (before.attempt if before else 1), (after.attempt if after else run.attempt)
        since, until = (_end_of(before) if before else run.created), (after.started if after else _LATER)
        answers = [_end_of(one) for one in waits if one.ms is not None]
        if was != is_now and any(since <= one <= at for one in answers):
            continue
        is_same = was == is_now or any(at < one <= until for one in answers)  # the answer began the next attempt
        why = "worker-ended" if is_same else "again"
        worker = _ON_WORKER.search(text)
        yield Entry(
            kind="resumed", started=at, ms=0, name=why, summary=worker[1] if worker else "", attempt=is_now or was
        )


def _add_up(run: "Run", entries: Sequence[Entry], now: str) -> Totals:
    places = {one.place for one in entries}
    forked = {place.rpartition("/")[0] for place in places if "/" in place}
    usage, cost = Usage(), None
    for one in entries:
        usage = usage.merge(one.usage) if one.usage else usage
        cost = cost if one.cost_usd is None else (cost or 0.0) + one.cost_usd
    done = [one for one in entries if one.kind in ("model", "tool", "command", "hook", "stage") and one.ms is not None]
    waits = [between(one.started, now) if one.ms is None else one.ms for one in entries if one.kind == "wait"]
    return Totals(
        steps=len(done),
        model_ms=sum(one.ms or 0 for one in done if one.kind == "model"),
        tool_ms=sum(one.ms or 0 for one in done if one.kind in ("tool", "command") and one.place not in forked),
        waited_ms=sum(waits),
        elapsed_ms=between(run.created, run.finished or now),
        usage=usage,
        cost_usd=cost,
    )


def _end_of(entry: Entry) -> str:
    if not entry.ms:
        return entry.started
    end = datetime.fromtimestamp(_read(entry.started).timestamp() + entry.ms / 1000, tz=_read(entry.started).tzinfo)
    return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def between(started: str, ended: str) -> int:
    """The ms from one time to another; 0 where a clock was set back."""
    return max(0, round((_read(ended) - _read(started)).total_seconds() * 1000))


def _read(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = datetime.fromtimestamp(0, UTC)  # no time that we wrote: the rest is shown all the same
    return at if at.tzinfo else at.replace(tzinfo=UTC)
