"""Background runs: list, start, end and answer them."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread
from msgspec import structs

from clawft.agent.run_request import RunRequest
from clawft.app.app import App
from clawft.app.jobs import complete_request
from clawft.errors import ClawftError, NotFound
from clawft.server.callers import DaemonCall
from clawft.server.daemon import Daemon, record_request
from clawft.server.protocol import records as messages
from clawft.server.protocol.base import to_problem
from clawft.server.views.runs import view_run, whole_json

if TYPE_CHECKING:
    from clawft.jobs.run_state import Run
    from clawft.jobs.runs import Runs


MAX_RUN_RESULT_CHARS = 400_000  # characters
MAX_TIMELINE = 2_000  # entries
_CURSOR = re.compile(r"([0-9TZ:.+-]{1,40})/([\w.-]{1,128})")


async def list_runs(daemon: Daemon, _call: DaemonCall, request: messages.ListRuns) -> messages.RunsList:
    """Raises: ClawftError."""
    after = _parse_cursor(request.cursor)
    none = daemon.runs.why_unavailable()
    if none is not None:
        return messages.RunsList(runs=(), counts={}, missing=to_problem(none))

    def load(runs: "Runs") -> messages.RunsList:
        store = runs.store
        found = store.list(statuses=request.statuses, fleet=request.fleet, limit=request.limit + 1, after=after)
        rows, questions = found[: request.limit], store.questions()
        cursor = f"{rows[-1].created}/{rows[-1].id}" if len(found) > len(rows) else ""
        listed = tuple(view_run(row, questions) for row in rows)
        return messages.RunsList(runs=listed, counts=store.counts(request.fleet), cursor=cursor)

    return await daemon.runs.use(load)


def _parse_cursor(text: str) -> tuple[str, str] | None:
    """Raises: ClawftError."""
    found = _CURSOR.fullmatch(text)
    if text and found is None:
        raise ClawftError("cursor-invalid", "This is no cursor of a list of runs", hint="Begin the list anew")
    return (found[1], found[2]) if found else None


async def get_run(daemon: Daemon, call: DaemonCall, request: messages.GetRun) -> messages.RunAnswer:
    """Raises: ClawftError."""
    _need_runs(daemon, request.run)

    def load(runs: "Runs") -> messages.RunDetail:
        return _describe(runs, _find(runs, call, request.run))

    return messages.RunAnswer(run=await daemon.runs.use(load))


async def start_run(daemon: Daemon, call: DaemonCall, request: messages.StartRun) -> messages.RunStarted:
    """Raises: ClawftError."""
    app = daemon.app
    if request.skill:
        await to_thread.run_sync(app.get_skill, request.skill)  # an unknown skill is refused before anything begins
    elif not request.text.strip():
        raise ClawftError("request-invalid", "Name a skill, or say what is to be done")

    def start(runs: "Runs") -> messages.RunStarted:
        asked = _to_request(app, call, request)
        what = f"/{request.skill} {asked.text}" if request.skill else asked.text
        with record_request(app, call, f"start a run: {what}", session=asked.session):
            run = runs.start(asked)
        try:
            runs.ensure_worker()
        except ClawftError as error:  # it is queued all the same, so its id must be known
            return messages.RunStarted(
                run=run, session=asked.session or f"run:{run}", problem=to_problem(error.diagnostic)
            )
        return messages.RunStarted(run=run, session=runs.store.get(run).session)

    started = await daemon.runs.use(start)
    daemon.runs.refresh_soon()
    return started


def _to_request(app: App, call: DaemonCall, request: messages.StartRun) -> RunRequest:
    return complete_request(
        app,
        RunRequest(
            kind="skill" if request.skill else "agent",
            cwd=app.workspace.cwd,
            text=request.text,
            skill=request.skill,
            agent=request.agent,
            model=request.model,
            session=call.caller.session_key(request.session) if request.session else "",
            by=call.caller.name,
        ),
    )


async def cancel_run(daemon: Daemon, call: DaemonCall, request: messages.CancelRun) -> messages.RunAnswer:
    """Raises: ClawftError."""
    _need_runs(daemon, request.run)

    def cancel(runs: "Runs") -> messages.RunDetail:
        run = _find(runs, call, request.run)
        with record_request(daemon.app, call, f"cancel run {run.id}", session=run.session):
            now = runs.cancel(run.id)
        runs.see_to([now])  # one whose worker died is ended by another
        return _describe(runs, runs.store.get(run.id))

    return await _change(daemon, cancel)


async def retry_run(daemon: Daemon, call: DaemonCall, request: messages.RetryRun) -> messages.RunAnswer:
    """Raises: ClawftError."""
    _need_runs(daemon, request.run)

    def retry(runs: "Runs") -> messages.RunDetail:
        run = _find(runs, call, request.run)
        with record_request(daemon.app, call, f"retry run {run.id}", session=run.session):
            again = runs.resume(run.id) if run.status == "cancelled" else runs.retry(run.id)
        runs.see_to([again])
        return _describe(runs, runs.store.get(run.id))

    return await _change(daemon, retry)


async def answer_run(daemon: Daemon, call: DaemonCall, request: messages.AnswerRun) -> messages.RunAnswer:
    """Raises: ClawftError."""
    _need_runs(daemon, request.run)

    def answer(runs: "Runs") -> messages.RunDetail:
        run = runs.store.get(runs.store.resolve(request.run))
        question = next((question for question in runs.store.questions(run.id) if question.key == request.key), None)
        if question is None:
            message = f"The run {run.id} is {run.status} and asks nothing by that name"
            raise NotFound("run-question-not-found", message, hint="It was answered, or is over")
        subject = f"answer run {run.id}: {request.answer}, {question.event.question}"
        decision = "deny" if request.answer == "no" else "allow"
        with record_request(daemon.app, call, subject, decision=decision, session=run.session):
            runs.answer(question, request.answer, call.caller.described)
        runs.see_to([runs.store.get(run.id)])
        detail = _describe(runs, runs.store.get(run.id))
        return detail if call.caller.owns(run.request.by) else _only_asked(detail)

    return await _change(daemon, answer)


async def _change(daemon: Daemon, work: "Callable[[Runs], messages.RunDetail]") -> messages.RunAnswer:
    detail = await daemon.runs.use(work)
    daemon.runs.refresh_soon()
    return messages.RunAnswer(run=detail)


def _need_runs(daemon: Daemon, run: str) -> None:
    """To look for a run makes no database where there is none. Raises: ClawftError."""
    none = daemon.runs.why_unavailable()
    if none is not None and none.severity == "error":
        raise ClawftError(none.code, none.message, hint=none.hint)
    if none is not None:
        raise NotFound("run-not-found", f"There is no run '{run}'", hint=none.hint)


def _find(runs: "Runs", call: DaemonCall, text: str) -> "Run":
    """The run that is meant: one's own, or with the scope `admin` anybody's. Raises: NotFound."""
    run = runs.store.get(runs.store.resolve(text) if call.caller.may("admin") else text)
    if not call.caller.owns(run.request.by):
        raise NotFound("run-not-found", f"There is no run '{text}'", hint="It is another's, or was removed")
    return run


def _describe(runs: "Runs", run: "Run") -> messages.RunDetail:
    whole = whole_json(runs, run)
    timeline = whole["timeline"]
    return messages.RunDetail(
        summary=msgspec.convert(whole, messages.RunEntry),
        result=whole["result"] and whole["result"][:MAX_RUN_RESULT_CHARS],
        timeline=tuple(timeline[-MAX_TIMELINE:]),
        totals=whole["totals"],
        left_out=max(0, len(timeline) - MAX_TIMELINE),
    )


def _only_asked(detail: messages.RunDetail) -> messages.RunDetail:
    """Return only the questions of a run: a caller who may answer them but does not own the run sees nothing else of
    it."""
    asked = tuple(entry for entry in detail.timeline if entry["kind"] == "wait")
    return structs.replace(detail, result=None, timeline=asked, left_out=0)
