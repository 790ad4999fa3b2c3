"""`weft runs show`: all about one run, with its timeline."""

from typing import TYPE_CHECKING

import click

from clawft.cli.options import format_option
from clawft.cli.output import clean, one_line, print_json, terminal_width
from clawft.cli.runs._open import open_runs_here, run_argument, see_to
from clawft.cli.runs._timeline import timeline_lines, totals_line
from clawft.cli.runs._words import ask_lines, follow_up, long_ago, time_words, tokens_words, when_words
from clawft.describe.runs import load_timeline, whole_json

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Question, Run

__all__ = ["command", "show_lines"]


@click.command("show")
@run_argument
@format_option
def command(run: str, output: str) -> None:
    """Show a run: what came of it, what it waits for, and its timeline."""
    with open_runs_here() as (_, runs):
        one = runs.store.get(runs.store.resolve(run))
        see_to(runs, [one])
        if output == "json":
            return print_json("clawft.runs.v1", runs=[whole_json(runs, one)])
        click.echo("\n".join(show_lines(runs, one, terminal_width())))
    return None


def show_lines(runs: "Runs", run: "Run", columns: int | None, answer: str = "weft runs answer") -> list[str]:
    """All there is to say, what asks for something last; `answer` is the command for that. Raises: ClawftError."""
    from clawft.run.durable.values import now_text

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


def _facts(run: "Run") -> list[tuple[str, str]]:
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


def _question_lines(questions: "tuple[Question, ...]", answer: str) -> list[str]:
    lines = []
    for one in questions:
        lines += ["", *ask_lines(one), f"  asked {long_ago(one.asked)}; answer it:"]
        lines.append(f"  {follow_up(one, only=len(questions) == 1, command=answer)}")
    return lines


def _next_lines(run: "Run") -> list[str]:
    """What can be done about a run that came to nothing."""
    way = {"failed": "try it again, after the steps that are done", "cancelled": "go on with it"}.get(run.status)
    verb = "retry" if run.status == "failed" else "resume"
    return ["", f"To {way}: weft runs {verb} {run.id}"] if way else []
