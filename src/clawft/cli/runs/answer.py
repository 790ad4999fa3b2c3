"""`weft runs answer`: say what a run waits for."""

from typing import TYPE_CHECKING

import click

from clawft.cli._confirm import confirm
from clawft.cli.options import format_option
from clawft.cli.output import say
from clawft.cli.runs._open import open_runs_here, print_runs, run_argument, see_to
from clawft.cli.runs._words import ask_lines
from clawft.errors import ClawftError, NotFound

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Question

__all__ = ["LETS", "check_answer", "command", "find_question"]

LETS = ("once", "session", "always", "again")  # answers by which something is done


@click.command("answer")
@run_argument
@click.argument("words", metavar="[KEY] ANSWER", nargs=-1, required=True)
@format_option
def command(run: str, words: tuple[str, ...], output: str) -> int:
    """Answer a run: once, session, always or no; again, done or skip for a step that was in flight.

    Without KEY the oldest question is answered. `weft runs show ID` tells the questions and what can be said.
    """
    if len(words) > 2:
        raise click.UsageError("One answer at a time: weft runs answer ID [KEY] ANSWER")
    with open_runs_here() as (_, runs):
        question = find_question(runs, runs.store.resolve(run), words[0] if len(words) == 2 else "")
        check_answer(question, words[-1])
        for line in ask_lines(question):
            say(line)
        if question.event.grave and words[-1] in LETS and not _agrees(question, words[-1]):
            say("Nothing was answered")
            return 1
        runs.answer(question, words[-1])
        row = runs.store.get(question.run)
        see_to(runs, [row])
        if output == "json":
            print_runs(runs, [row])
        else:
            say(f"Answered: {words[-1]}. It goes on; follow it: weft runs watch {row.id}")
    return 0


def find_question(runs: "Runs", run: str, key: str = "") -> "Question":
    """The question that is meant: the oldest, unless a key tells. Raises: NotFound."""
    questions = runs.store.questions(run)
    if not questions:
        status = runs.store.get(run).status
        hint = f"Run: weft runs show {run}"
        raise NotFound("run-question-not-found", f"The run {run} is {status} and asks nothing", hint=hint)
    found = next((one for one in questions if one.key == key), None) if key else questions[0]
    if found is None:
        hint = f"Say which: {', '.join(one.key for one in questions)}"
        raise NotFound("run-question-not-found", f"The run {run} asks nothing by the name '{key}'", hint=hint)
    return found


def check_answer(question: "Question", answer: str) -> None:
    """Raises: ClawftError for what is no answer to a question."""
    if answer not in question.choices:
        hint = f"Say {', '.join(question.choices)}"
        raise ClawftError("run-answer", f"'{answer}' is no answer here", hint=hint)


def _agrees(question: "Question", answer: str) -> bool:
    """Whether a person at a terminal means it: no flag says yes to a grave question. Raises: Refused."""
    what = f"To answer '{answer}' here"
    asked = "Do it again?" if question.kind == "in-flight" else "Allow it, this once?"
    return confirm(asked, what, hint="Only a person at a terminal can allow it")
