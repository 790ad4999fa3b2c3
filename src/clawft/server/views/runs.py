"""Runs in the background as other programs read them: the objects of `clawft.runs.v1`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.protocol.runs import RunEntry, RunError, RunQuestion

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.timeline import Timeline
    from clawft.run.durable.values import Question, Run

__all__ = ["describe_run", "load_timeline", "run_json", "whole_json"]


def describe_run(run: "Run", questions: "Iterable[Question]" = ()) -> RunEntry:
    """A run, with those of the questions that are its own."""
    error = run.error
    return RunEntry(
        id=run.id,
        status=run.status,
        kind=run.kind,
        session=run.session,
        started=run.started,
        finished=run.finished,
        steps=run.steps,
        usage={"input_tokens": run.usage.input_tokens, "output_tokens": run.usage.output_tokens},
        error=RunError(code=error.code, message=error.message, hint=error.hint or None) if error else None,
        title=run.title,
        queue=run.queue,
        worker=run.worker or None,
        attempt=run.attempt,
        created=run.created,
        cost_usd=run.cost_usd,
        worked_ms=run.worked_ms,
        cancelling=run.cancel and run.status == "running",
        project=run.request.project or run.request.cwd,
        parent=run.parent or None,
        fleet=run.fleet or None,
        line=run.line if run.fleet else None,
        questions=tuple(_describe_question(one) for one in questions if one.run == run.id),
    )


def run_json(run: "Run", questions: "Iterable[Question]" = ()) -> dict[str, Any]:
    """The same as the fields of a document."""
    fields: dict[str, Any] = msgspec.to_builtins(describe_run(run, questions))
    return fields


def whole_json(runs: "Runs", run: "Run") -> dict[str, Any]:
    """A run with all that it did. Raises: ClawftError."""
    from clawft.run.durable.values import now_text

    timeline = load_timeline(runs, run, now_text())
    entries, totals = msgspec.to_builtins(timeline.entries), msgspec.to_builtins(timeline.totals)
    fields = run_json(run, runs.store.questions(run.id))
    return {**fields, "result": run.result, "timeline": list(entries), "totals": totals}


def load_timeline(runs: "Runs", run: "Run", now: str) -> "Timeline":
    """What a run did so far. Raises: ClawftError."""
    from clawft.run.durable.follow import decode_event
    from clawft.run.durable.timeline import make_timeline

    noticed = [decode_event(text) for text in runs.store.notices(run.id, "run-resumed")]
    resumed = [(event.at, getattr(event, "message", "")) for event in noticed if event is not None]
    return make_timeline(run, runs.recorded(run), runs.store.questions(run.id, open_only=False), resumed, now)


def _describe_question(question: "Question") -> RunQuestion:
    return RunQuestion(
        key=question.key,
        kind=question.kind,
        tool=question.event.tool,
        question=question.event.question,
        reason=question.event.reason or None,
        grave=question.event.grave,
        asked=question.asked,
        choices=question.choices,
    )
