"""JSON documents of background runs, and of how often skills are used."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.app.app import App
from clawft.server.protocol.base import copy_fields
from clawft.server.protocol.records import RunEntry, RunError, RunQuestion, SkillUsage

if TYPE_CHECKING:
    from clawft.jobs.run_state import PendingQuestion, Run
    from clawft.jobs.runs import Runs
    from clawft.jobs.timeline import Timeline


def view_skill_usage(app: App) -> list[SkillUsage]:
    """Every skill that can be used or was, those first that were loaded most. Raises: ClawftError."""
    from clawft.agent.records import SkillUse, load_uses  # a list of skills needs none of what turns need

    here = {skill.name for skill in app.skills if skill.usable}
    uses = {name: SkillUse(name) for name in here} | load_uses(app.user_file("usage.sqlite"))
    return [
        copy_fields(SkillUsage, use, here=use.name in here)
        for use in sorted(uses.values(), key=lambda one: (-one.loaded, one.name))
    ]


def view_run(run: "Run", questions: "Iterable[PendingQuestion]" = ()) -> RunEntry:
    """A run, with those of the questions that are its own."""
    error = run.error
    return copy_fields(
        RunEntry,
        run,
        usage={"input_tokens": run.usage.input_tokens, "output_tokens": run.usage.output_tokens},
        error=copy_fields(RunError, error, hint=error.hint or None) if error else None,
        worker=run.worker or None,
        cancelling=run.cancel and run.status == "running",
        project=run.request.project or run.request.cwd,
        parent=run.parent or None,
        fleet=run.fleet or None,
        line=run.line if run.fleet else None,
        questions=tuple(_describe_question(question) for question in questions if question.run == run.id),
    )


def run_json(run: "Run", questions: "Iterable[PendingQuestion]" = ()) -> dict[str, Any]:
    """Return a run as the fields of a document."""
    fields: dict[str, Any] = msgspec.to_builtins(view_run(run, questions))
    return fields


def whole_json(runs: "Runs", run: "Run") -> dict[str, Any]:
    """A run with all that it did. Raises: ClawftError."""
    from clawft.jobs.run_state import now_text

    timeline = load_timeline(runs, run, now_text())
    entries, totals = msgspec.to_builtins(timeline.entries), msgspec.to_builtins(timeline.totals)
    fields = run_json(run, runs.store.questions(run.id))
    return {**fields, "result": run.result, "timeline": list(entries), "totals": totals}


def load_timeline(runs: "Runs", run: "Run", now: str) -> "Timeline":
    """Load the timeline of a run so far. Raises: ClawftError."""
    from clawft.jobs.events import decode_event
    from clawft.jobs.timeline import make_timeline

    noticed = [decode_event(text) for text in runs.store.notices(run.id, "run-resumed")]
    resumed = [(event.at, getattr(event, "message", "")) for event in noticed if event is not None]
    return make_timeline(run, runs.recorded(run), runs.store.questions(run.id, open_only=False), resumed, now)


def _describe_question(question: "PendingQuestion") -> RunQuestion:
    event = question.event
    return copy_fields(
        RunQuestion,
        question,
        tool=event.tool,
        question=event.question,
        reason=event.reason or None,
        dangerous=event.dangerous,
    )
