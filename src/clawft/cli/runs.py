"""`weft runs`: list, show, answer, cancel, resume, retry and prune background runs."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from clawft.app.app import App
from clawft.app.jobs import open_app_runs
from clawft.cli.completion import MAX_OFFERED, completes, open_app_for
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, say, say_lines, show_error, terminal_width
from clawft.cli.prompts import confirm
from clawft.cli.run_display import (
    ask_lines,
    count_words,
    follow_up,
    list_lines,
    long_ago,
    steps_words,
    time_words,
    timeline_lines,
    tokens_words,
    totals_line,
    when_words,
)
from clawft.errors import ClawftError, NotFound
from clawft.jobs import is_installed, is_used
from clawft.jobs.recent_runs import load_recent_runs_of_file
from clawft.jobs.run_state import PendingQuestion, Run, now_text
from clawft.server.views.runs import load_timeline, run_json, whole_json

if TYPE_CHECKING:
    from clawft.jobs.runs import Runs


def run_argument(function: Any) -> Any:
    return click.argument("run", metavar="ID", shell_complete=complete_runs)(function)


@contextmanager
def open_runs_here() -> "Iterator[tuple[App, Runs]]":
    """The user's runs, closed at the end. Raises: ClawftError."""
    app = open_here()
    with closing(open_app_runs(app)) as runs:
        yield app, runs


def find_fleet(runs: "Runs", text: str) -> str:
    """The id of a fleet, from it or its start; '' of nothing. Raises: NotFound."""
    from clawft.jobs.fleets import FleetStore

    return FleetStore(runs.database).get(text).id if text else ""


def ensure_worker(runs: "Runs", wanted: "Iterable[Run]") -> bool:
    """Make sure that a worker executes these runs. Prints and returns True if one was started.

    A worker that cannot be started is reported and stops nothing else. Raises: ClawftError if the database cannot be
    reached.
    """
    started, problems = runs.see_to(wanted)
    for problem in problems:
        show_error(problem)
    if started:
        say(f"No worker was there for {', '.join(started)}, so one was started")
    return bool(started)


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


def list_json(runs: "Runs", rows: "Iterable[Run]") -> dict[str, Any]:
    """Runs for other programs, with the questions that they wait with."""
    listed = list(rows)
    waits = any(run.status in ("waiting", "running") for run in listed)
    questions = runs.store.questions() if waits else ()
    return {"runs": [run_json(run, questions) for run in listed]}


_SCHEMA = "clawft.runs.v1"
_STATUSES = ("queued", "running", "waiting", "done", "failed", "cancelled")
_KINDS = ("agent", "skill", "fork", "cron", "scan", "gateway")
_MAX_ASKED = 5
_SEEN_TO = 200
_NONE = "No runs yet. Start one: weft agent --background -m TEXT"


@completes
def complete_runs(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Complete the IDs of runs that are stored in a file. A database server is not asked: completion must not wait."""
    app = open_app_for(ctx)
    if is_installed() and not app.own_config.runs.database:
        seen = load_recent_runs_of_file(app.workspace.user_dir, MAX_OFFERED)
        yield from ((run.id, f"{run.status}: {run.title}") for run in seen)


@click.command("list")
@click.option("--status", "statuses", multiple=True, type=click.Choice(_STATUSES), help="Only these (repeatable).")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only these (repeatable).")
@click.option("--fleet", default="", metavar="ID", help="Only those of a fleet.")
@click.option("--limit", "-n", default=50, show_default=True, type=click.IntRange(1, 100_000), help="How many to show.")
@format_option
def list_command(statuses: tuple[str, ...], kinds: tuple[str, ...], fleet: str, limit: int) -> CommandResult:
    """List runs, the newest first, and what they wait for."""
    app = open_here()
    settings = app.own_config.runs
    if is_installed() and not is_used(settings, app.workspace.user_dir):
        return CommandResult(_SCHEMA, {"runs": []}, lambda: say(_NONE))
    with open_runs_here() as (_, runs):
        fleet = find_fleet(runs, fleet)
        rows = runs.store.list(statuses=statuses, kinds=kinds, fleet=fleet, limit=limit)
        # Also of those that are not listed: after a reboot this is the command that has all go on.
        ensure_worker(runs, runs.store.list(statuses=("queued", "running"), limit=_SEEN_TO))
        document = list_json(runs, rows)
        questions = [question for question in runs.store.questions() if any(question.run == row.id for row in rows)]
        counts = runs.store.counts(fleet)

    def show() -> None:
        if not rows and not (statuses or kinds or fleet):
            return say(_NONE)
        if rows:
            click.echo("\n".join(list_lines(rows, questions, terminal_width())))
        known = sum(counts[count] for count in counts if not statuses or count in statuses)
        say(_summary(rows, 0 if kinds else known - len(rows), limit))
        return _say_asked(questions)

    return CommandResult(_SCHEMA, document, show)


def _summary(rows: "tuple[Run, ...]", more: int, limit: int) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    return count_words(counts) + (f"; {more} more with --limit {limit + more}" if more > 0 else "")


def _say_asked(questions: "list[PendingQuestion]") -> None:
    """Print the questions that wait for the user, and how to answer them."""
    runs = [question.run for question in questions]
    for question in questions[:_MAX_ASKED]:
        say(f"{click.style('?', fg='yellow')} {one_line(question.event.question)}")
        say(f"  {follow_up(question, only=runs.count(question.run) == 1)}")
    if len(questions) > _MAX_ASKED:
        say(f"and {len(questions) - _MAX_ASKED} more questions; weft runs show ID tells them")


@click.command("show")
@run_argument
@format_option
def show_command(run: str) -> CommandResult:
    """Show a run: what came of it, what it waits for, and its timeline."""
    with open_runs_here() as (_, runs):
        one = runs.store.get(runs.store.resolve(run))
        ensure_worker(runs, [one])
        document, lines = {"runs": [whole_json(runs, one)]}, show_lines(runs, one, terminal_width())
    return CommandResult(_SCHEMA, document, "\n".join(lines))


def show_lines(runs: "Runs", run: Run, columns: int | None, answer: str = "weft runs answer") -> list[str]:
    """All there is to say, what asks for something last; `answer` is the command for that. Raises: ClawftError."""
    now = now_text()
    timeline = load_timeline(runs, run, now)
    lines = [f"{label}: {one_line(value)}" for label, value in _facts(run) if value]
    lines += ["", *timeline_lines(timeline, now, columns), totals_line(timeline)]
    if run.result and run.result.strip():
        lines += ["", clean(run.result.rstrip())]
    if run.error:
        lines += ["", f"{click.style(f'error[{run.error.code}]', fg='red')}: {one_line(run.error.message)}"]
        lines += [f"hint: {one_line(run.error.hint)}"] if run.error.hint else []
    return [*lines, *_question_lines(runs.store.questions(run.id), answer), *_next_lines(run)]


def _facts(run: Run) -> list[tuple[str, str]]:
    status = f"{run.status}, and is to be ended" if run.cancel and run.status == "running" else run.status
    fleet = f"{one_line(run.fleet)}, line {run.line}" if run.fleet else ""
    worked = f"{time_words(run.worked_ms)} of work" if run.worked_ms else ""
    return [
        ("Run", run.id),
        ("What", one_line(run.title)),
        ("Status", status),
        ("Kind", run.kind),
        ("Session", one_line(run.session)),
        ("Project", one_line(run.request.project or run.request.cwd)),
        ("Parent", run.parent),
        ("Fleet", fleet),
        ("Queue", run.queue if run.queue != "default" else ""),
        ("Worker", run.worker),
        ("Attempts", str(run.attempt) if run.attempt > 1 else ""),
        ("Asked for", when_words(run.created)),
        ("Finished", ", ".join(filter(None, [when_words(run.finished), worked])) if run.finished else ""),
        ("Tokens", tokens_words(run.usage.input_tokens, run.usage.output_tokens, run.cost_usd)),
    ]


def _question_lines(questions: "tuple[PendingQuestion, ...]", answer: str) -> list[str]:
    lines = []
    for question in questions:
        lines += ["", *ask_lines(question), f"  asked {long_ago(question.asked)}; answer it:"]
        lines.append(f"  {follow_up(question, only=len(questions) == 1, command=answer)}")
    return lines


def _next_lines(run: Run) -> list[str]:
    """Render what can be done about a run that failed or was cancelled."""
    way = {"failed": "try it again, after the steps that are done", "cancelled": "go on with it"}.get(run.status)
    verb = "retry" if run.status == "failed" else "resume"
    return ["", f"To {way}: weft runs {verb} {run.id}"] if way else []


LETS = ("once", "session", "always", "again")  # answers by which something is done


@click.command("answer")
@run_argument
@click.argument("words", metavar="[KEY] ANSWER", nargs=-1, required=True)
@format_option
def answer_command(run: str, words: tuple[str, ...]) -> CommandResult | int:
    """Answer a run: once, session, always or no; again, done or skip for a step that was in flight.

    Without KEY the oldest question is answered. `weft runs show ID` tells the questions and what can be said.
    """
    if len(words) > 2:
        raise click.UsageError("One answer at a time: weft runs answer ID [KEY] ANSWER")
    with open_runs_here() as (_, runs):
        question = find_question(runs, runs.store.resolve(run), words[0] if len(words) == 2 else "")
        check_answer(question, words[-1])
        say_lines(ask_lines(question))
        if question.event.dangerous and words[-1] in LETS and not _agrees(question, words[-1]):
            say("Nothing was answered")
            return 1
        runs.answer(question, words[-1])
        row = runs.store.get(question.run)
        ensure_worker(runs, [row])
        document = list_json(runs, [row])
    text = f"Answered: {words[-1]}. It goes on; follow it: weft runs watch {row.id}"
    return CommandResult(_SCHEMA, document, lambda: say(text))


def find_question(runs: "Runs", run: str, key: str = "") -> PendingQuestion:
    """The question that is meant: the oldest, unless a key tells. Raises: NotFound."""
    questions = runs.store.questions(run)
    if not questions:
        status = runs.store.get(run).status
        hint = f"Run: weft runs show {run}"
        raise NotFound("run-question-not-found", f"The run {run} is {status} and asks nothing", hint=hint)
    found = next((question for question in questions if question.key == key), None) if key else questions[0]
    if found is None:
        hint = f"Say which: {', '.join(question.key for question in questions)}"
        raise NotFound("run-question-not-found", f"The run {run} asks nothing by the name '{key}'", hint=hint)
    return found


def check_answer(question: PendingQuestion, answer: str) -> None:
    """Raises: ClawftError for what is no answer to a question."""
    if answer not in question.choices:
        hint = f"Say {', '.join(question.choices)}"
        raise ClawftError("run-answer", f"'{answer}' is no answer here", hint=hint)


def _agrees(question: PendingQuestion, answer: str) -> bool:
    """Return whether a user at a terminal confirms: no flag agrees to a dangerous action. Raises: Refused."""
    what = f"To answer '{answer}' here"
    asked = "Do it again?" if question.kind == "in-flight" else "Allow it, this once?"
    return confirm(asked, what, hint="Only a person at a terminal can allow it")


_PATIENCE_S, _POLL_S = 5.0, 0.1
_MAX_CANCELLED_SHOWN = 20
_OPEN = ("queued", "running", "waiting")


@click.command("cancel")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_runs)
@click.option("--all", "every", is_flag=True, help="All that are not over.")
@format_option
def cancel_command(ids: tuple[str, ...], every: bool) -> CommandResult:
    """End runs. What they did so far is kept, and `weft runs resume` goes on with it."""
    if bool(ids) == every:
        raise click.UsageError("Say which: weft runs cancel ID, or --all")
    with open_runs_here() as (_, runs):
        over = {id_: runs.store.find(id_) for id_ in ids}
        rows, code = (_cancel_all(runs), 0) if every else act_on_all(runs, ids, runs.cancel)
        rows = _wait(runs, rows)
        document = list_json(runs, rows)

    def show() -> None:
        for row in rows[:_MAX_CANCELLED_SHOWN]:
            before = over.get(row.id)
            say(_tell(row, was_over=before is not None and before.status not in _OPEN))
        if len(rows) > _MAX_CANCELLED_SHOWN:
            say(f"and {len(rows) - _MAX_CANCELLED_SHOWN} more")
        if every and not rows:
            say("Nothing runs")

    return CommandResult(_SCHEMA, document, show, code)


def _cancel_all(runs: "Runs") -> list[Run]:
    """End everything that is not over, at once; as it is then."""
    wanted = {run.id for run in runs.store.list(statuses=_OPEN)}
    runs.store.cancel_all()
    return [run for run in runs.store.list() if run.id in wanted] if wanted else []


def _wait(runs: "Runs", rows: list[Run]) -> list[Run]:
    """Give workers a moment to end what they do. One that died ends nothing: another is started for it."""
    ensure_worker(runs, rows)
    deadline = time.monotonic() + _PATIENCE_S
    while any(row.status == "running" for row in rows) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        rows = [runs.store.get(row.id) if row.status == "running" else row for row in rows]
    return rows


def _tell(row: Run, *, was_over: bool) -> str:
    if was_over:
        return f"{row.id} was {row.status} already"
    if row.status == "cancelled":
        return f"{row.id} is cancelled"
    if row.status == "running":
        return f"{row.id} is still running; its worker ends it when the step that is being done is over"
    return f"{row.id} is {row.status}: it was over before it could be ended"


@click.command("resume")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_runs)
@format_option
def resume_command(ids: tuple[str, ...]) -> CommandResult:
    """Go on with runs that were cancelled, after the steps that are done."""
    with open_runs_here() as (_, runs):
        rows, code = act_on_all(runs, ids, runs.resume)
        ensure_worker(runs, rows)
        document = list_json(runs, rows)

    def show() -> None:
        for row in rows:
            say(f"{row.id} goes on {steps_words(row.steps)}. Follow it: weft runs watch {row.id}")

    return CommandResult(_SCHEMA, document, show, code)


_MAX_RETRIED_SHOWN = 10


@click.command("retry")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_runs)
@click.option("--failed", is_flag=True, help="All that failed.")
@click.option("--fleet", default="", metavar="ID", help="With --failed: only those of a fleet.")
@click.option("--fresh", is_flag=True, help="From the start, also of a run that is done: its steps are done again.")
@format_option
def retry_command(ids: tuple[str, ...], failed: bool, fleet: str, fresh: bool) -> CommandResult:
    """Try runs again that failed, after the steps that are done."""
    if bool(ids) == failed:
        raise click.UsageError("Say which: weft runs retry ID, or --failed")
    if fleet and not failed:
        raise click.UsageError("--fleet goes with --failed")
    with open_runs_here() as (_, runs):
        failures = runs.store.list(statuses=("failed",), fleet=find_fleet(runs, fleet)) if failed else ()
        wanted = [failure.id for failure in failures] if failed else ids
        rows, code = act_on_all(runs, wanted, partial(runs.retry, fresh=fresh))
        ensure_worker(runs, rows)
        document = list_json(runs, rows)

    def show() -> None:
        for row in rows[:_MAX_RETRIED_SHOWN]:
            after = steps_words(row.steps)
            say(f"{row.id} is tried again, {after}. Follow it: weft runs watch {row.id}")
        if len(rows) > _MAX_RETRIED_SHOWN:
            say(f"and {len(rows) - _MAX_RETRIED_SHOWN} more")
        if failed and not rows:
            say("None failed")

    return CommandResult(_SCHEMA, document, show, code)


_OVER = ("done", "failed", "cancelled")
_MAX_SHOWN = 20


@click.command("prune")
@click.option("--days", type=click.FloatRange(min=0), help="Only what was over that long ago; else runs.keep_days.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(_OVER), help="Only these (repeatable).")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def prune_command(days: float | None, statuses: tuple[str, ...], yes: bool) -> CommandResult | int:
    """Remove runs that are over, with their events and steps. What was said stays in their sessions."""
    with open_runs_here() as (_, runs):
        age = runs.settings.keep_days if days is None else days
        old = runs.find_old(age, statuses or _OVER)
        many = f"{len(old)} run{'s' * (len(old) != 1)}"
        if old and not yes:
            lines = list_lines(old[:_MAX_SHOWN], (), terminal_width())
            lines += [f"and {len(old) - _MAX_SHOWN} more"] * (len(old) > _MAX_SHOWN)
            if not confirm(f"Remove {many} for good?", f"Removing {many}", lines=lines):
                say("Nothing was removed")
                return 0
        runs.remove(old)
        document = list_json(runs, old)
    text = f"Removed {many}" if old else f"No run was over {age:g} days ago"
    return CommandResult(_SCHEMA, document, lambda: say(text))
