"""`weft runs watch`: follow a run as it happens, and answer its questions at the terminal."""

import re
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import anyio
import click
from anyio import to_thread

from clawft.cli.events import JsonLines, TurnPrinter, ask_line, can_ask
from clawft.cli.output import one_line, say
from clawft.cli.root import events_option
from clawft.cli.run_display import ask_lines, follow_up
from clawft.cli.runs import ensure_worker, open_runs_here, run_argument
from clawft.errors import ClawftError
from clawft.jobs.run_state import PendingQuestion, Run
from clawft.messages import TextDelta, TurnFailed, TurnFinished

if TYPE_CHECKING:
    from clawft.jobs.run_state import PendingQuestion, Run
    from clawft.jobs.runs import Runs
    from clawft.messages import Event


_ELSEWHERE_S = 0.5
_YES, _NO, _LATER = {"y": "once", "yes": "once"}, {"n": "no", "no": "no", "": "no"}, {"l": "", "later": ""}
_MORE = {"r": "session", "s": "session", "session": "session", "a": "always", "always": "always"}
_IN_FLIGHT = {"a": "again", "again": "again", "d": "done", "done": "done", "s": "skip", "skip": "skip"}


def choices_of(question: "PendingQuestion") -> tuple[str, dict[str, str]]:
    """Return the choices offered for a question, and the answer that each input means; '' means later."""
    if question.kind == "in-flight":
        return "  do it [a]gain, take it as [d]one, [s]kip it, [l]ater: ", {**_IN_FLIGHT, **_LATER}
    if question.event.dangerous:
        return "  [y]es, this once, [N]o, [l]ater: ", {**_YES, **_NO, **_LATER}
    text = "  [y]es, yes for the [r]est of this run, [a]lways here, [N]o, [l]ater: "
    return text, {**_YES, **_MORE, **_NO, **_LATER}


def render_answer(question: "PendingQuestion") -> str:
    return f"  {question.answer}, said {one_line(question.by) or 'somebody'}"


class RunQuestionPrompt:
    """One person at one terminal, or nobody."""

    def __init__(self, runs: "Runs", printer: TurnPrinter | JsonLines) -> None:
        self._runs = runs
        self._printer = printer
        self._shown: set[str] = set()
        self._own: set[str] = set()

    async def take(self, question: "PendingQuestion") -> None:
        """A question that is asked, or was answered. Raises: ClawftError."""
        if question.answer is not None:
            if question.key not in self._own:
                self._show(question)
                self._printer.note(render_answer(question))
            return
        self._show(question)
        if can_ask():
            answer = await self._ask(question)
            if answer is None:
                return  # the answer given elsewhere is shown next
            if answer:
                await self._give(question, answer)
                return
        self._printer.note(f"  answer it: {follow_up(question, only=False)}")

    def _show(self, question: "PendingQuestion") -> None:
        if question.key not in self._shown:
            self._printer.note("\n".join(ask_lines(question)))
        self._shown.add(question.key)

    async def _ask(self, question: "PendingQuestion") -> str | None:
        """Ask the question and return the answer; '' for later, None if it was answered elsewhere first."""
        text, meanings = choices_of(question)
        answers: list[str] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._wait_elsewhere, question, group.cancel_scope)
            while not answers:
                typed = await ask_line(text)
                if not typed:  # the terminal is gone
                    answers.append("")
                elif (word := typed.strip().lower()) in meanings:
                    answers.append(meanings[word])
                else:
                    letters = re.findall(r"\[(.)\]", text.lower())
                    self._printer.note(f"  Please answer {', '.join(letters)}")
            group.cancel_scope.cancel()
        if not answers:
            click.echo(err=True)  # the line of the question is left
        return answers[0] if answers else None

    async def _wait_elsewhere(self, question: "PendingQuestion", scope: anyio.CancelScope) -> None:
        """End the question here, if it is answered elsewhere or its run is over."""
        store = self._runs.store
        while True:
            await anyio.sleep(_ELSEWHERE_S)
            with suppress(ClawftError):  # a database that is away has no answer
                open_ones = await to_thread.run_sync(store.questions, question.run)
                if all(other.key != question.key for other in open_ones):
                    scope.cancel()
                    return

    async def _give(self, question: "PendingQuestion", answer: str) -> None:
        def give() -> None:
            self._runs.answer(question, answer)
            ensure_worker(self._runs, [self._runs.store.get(question.run)])

        try:
            await to_thread.run_sync(give)
            self._own.add(question.key)
        except ClawftError as error:
            if error.code != "run-answered":
                raise


_LOOK_S = 2.0  # between two looks whether a worker is there


@click.command("watch")
@run_argument
@events_option("json: one event per line.")
def command(run: str, as_json: bool) -> int:
    """Follow a run from its beginning to its end, as if it ran here; at a terminal its questions can be answered.

    Ctrl-C leaves it, and it goes on; it can be watched again at any time.
    """
    with open_runs_here() as (_, runs):
        one = runs.store.get(runs.store.resolve(run))
        printer = JsonLines() if as_json else TurnPrinter()
        if one.status == "queued":
            say("It waits for a worker")
        try:
            return anyio.run(_watch, runs, one.id, printer)
        except KeyboardInterrupt:
            if can_ask():
                say()  # the terminal has written ^C
            printer.note(f"left; it goes on. To see it again: weft runs watch {one.id}")
            return 130


async def _watch(runs: "Runs", run: str, printer: "TurnPrinter | JsonLines") -> int:
    ended: list[int] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_keep_served, runs, run)
        try:
            ended.append(await _show(runs, run, printer))
        except Exception as error:  # raised below, as itself and not as one of a group
            failures.append(error)
        group.cancel_scope.cancel()
    for failure in failures:
        raise failure
    return ended[0]


async def _show(runs: "Runs", run: str, printer: "TurnPrinter | JsonLines") -> int:
    """Print all events of a run to its end, and return the exit code. Raises: ClawftError."""
    from clawft.jobs.events import follow

    prompt = RunQuestionPrompt(runs, printer)
    last: Event | None = None
    async with aclosing(follow(runs.store, run)) as events:
        async for event in events:
            if isinstance(event, PendingQuestion):
                await prompt.take(event)
            elif isinstance(event, Run):
                return _end(event, last, printer)
            else:
                printer.show(event)
                last = event
    raise AssertionError("a run that is followed comes to its end")


async def _keep_served(runs: "Runs", run: str) -> None:
    """Make sure that a worker executes the run while a user watches it."""
    while True:
        with suppress(ClawftError):  # the event loop reports a database that cannot be reached
            row = await to_thread.run_sync(runs.store.find, run)
            if row is not None:
                await to_thread.run_sync(ensure_worker, runs, [row])
        await anyio.sleep(_LOOK_S)


def _end(run: "Run", last: "Event | None", printer: "TurnPrinter | JsonLines") -> int:
    """Say what the events did not; the exit code of a turn in the foreground."""
    if run.error is not None and not isinstance(last, TurnFailed):
        printer.note(f"{click.style(f'error[{run.error.code}]', fg='red')}: {one_line(run.error.message)}")
        if run.error.hint:
            printer.note(f"hint: {one_line(run.error.hint)}")
    if run.status == "cancelled":
        printer.note(f"cancelled. To go on with it: weft runs resume {run.id}")
        return 1
    if run.status == "failed":
        printer.note(f"To try it again, after the steps that are done: weft runs retry {run.id}")
        return last.exit_code if isinstance(last, TurnFailed) else 1
    if isinstance(printer, TurnPrinter):
        if run.result and not isinstance(last, TurnFinished):  # a run without an agent has no events
            printer.show(TextDelta(text=f"{run.result.rstrip()}\n"))
        printer.note(f"session: {one_line(run.session)}")
    return int(isinstance(last, TurnFinished) and last.stop == "max_iterations")  # that is no answer
