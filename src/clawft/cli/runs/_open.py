"""What the commands of runs share: opening them, which are meant, and seeing that somebody does them."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from clawft.cli._complete import complete_runs
from clawft.cli.options import open_here
from clawft.cli.output import print_json, say, show_error
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Question, Run

__all__ = ["act_on_all", "find_fleet", "open_runs_here", "print_runs", "run_argument", "run_json", "see_to"]


def run_argument(function: Any) -> Any:
    return click.argument("run", metavar="ID", shell_complete=complete_runs)(function)


@contextmanager
def open_runs_here() -> "Iterator[tuple[App, Runs]]":
    """The user's runs, closed at the end. Raises: ClawftError."""
    from clawft.working import open_app_runs

    app = open_here()
    with closing(open_app_runs(app)) as runs:
        yield app, runs


def find_fleet(runs: "Runs", text: str) -> str:
    """The id of a fleet, from it or its start; '' of nothing. Raises: NotFound."""
    from clawft.run.durable.fleets import FleetStore

    return FleetStore(runs.database).get(text).id if text else ""


def see_to(runs: "Runs", wanted: "Iterable[Run]") -> bool:
    """See that somebody does what is to be done of these runs; True if a worker was started, which is said.

    One that cannot be started is said too, and hinders nothing else. Raises: ClawftError for a database that is away.
    """
    busy = (one for one in wanted if one.status in ("queued", "running"))
    # What was asked for on another machine needs a worker there.
    queues = {one.queue for one in busy if os.path.isdir(one.request.cwd)}
    started = [queue for queue in sorted(queues) if _ensure_worker(runs, queue)]
    if started:
        say(f"No worker was there for {', '.join(started)}, so one was started")
    return bool(started)


def _ensure_worker(runs: "Runs", queue: str) -> bool:
    try:
        return runs.ensure_worker(queue)
    except ClawftError as error:
        if error.code != "worker-start":
            raise
        show_error(error)
        return False


def act_on_all(runs: "Runs", ids: Iterable[str], act: "Callable[[str], Run]") -> "tuple[list[Run], int]":
    """Do something with each run; as they are then, and the exit code. One that cannot be hinders no other."""
    done, code = [], 0
    for text in ids:
        try:
            done.append(act(runs.store.resolve(text)))
        except ClawftError as error:
            if error.code.startswith("runs-"):  # the database, not this run
                raise
            show_error(error)
            code = max(code, error.exit_code)
    return done, code


def print_runs(runs: "Runs", rows: "Iterable[Run]") -> None:
    """Runs as JSON, with the questions that they wait with."""
    listed = list(rows)
    waits = any(one.status in ("waiting", "running") for one in listed)
    questions = runs.store.questions() if waits else ()
    print_json("clawft.runs.v1", runs=[run_json(one, questions) for one in listed])


def run_json(run: "Run", questions: "Iterable[Question]" = ()) -> dict[str, Any]:
    """A run as other programs read it."""
    usage = {"input_tokens": run.usage.input_tokens, "output_tokens": run.usage.output_tokens}
    error = run.error and {"code": run.error.code, "message": run.error.message, "hint": run.error.hint or None}
    return {
        "id": run.id,
        "status": run.status,
        "kind": run.kind,
        "session": run.session,
        "started": run.started,
        "finished": run.finished,
        "steps": run.steps,
        "usage": usage,
        "error": error,
        "title": run.title,
        "queue": run.queue,
        "worker": run.worker or None,
        "attempt": run.attempt,
        "created": run.created,
        "cost_usd": run.cost_usd,
        "worked_ms": run.worked_ms,
        "cancelling": run.cancel and run.status == "running",
        "project": run.request.project or run.request.cwd,
        "parent": run.parent or None,
        "fleet": run.fleet or None,
        "line": run.line if run.fleet else None,
        "questions": [_question_json(one) for one in questions if one.run == run.id],
    }


def _question_json(question: "Question") -> dict[str, Any]:
    return {
        "key": question.key,
        "kind": question.kind,
        "tool": question.event.tool,
        "question": question.event.question,
        "reason": question.event.reason or None,
        "grave": question.event.grave,
        "asked": question.asked,
        "choices": list(question.choices),
    }
