"""`weft runs list`."""

from typing import TYPE_CHECKING

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say, terminal_width
from clawft.cli.runs._open import find_fleet, open_runs_here, print_runs, see_to
from clawft.cli.runs._words import count_words, follow_up, list_lines

if TYPE_CHECKING:
    from clawft.run.durable.values import Question, Run

__all__ = ["command"]

_STATUSES = ("queued", "running", "waiting", "done", "failed", "cancelled")
_KINDS = ("agent", "skill", "fork", "cron", "scan", "gateway")
_MAX_ASKED = 5
_SEEN_TO = 200
_NONE = "No runs yet. Start one: weft agent --background -m TEXT"


@click.command("list")
@click.option("--status", "statuses", multiple=True, type=click.Choice(_STATUSES), help="Only these (repeatable).")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only these (repeatable).")
@click.option("--fleet", default="", metavar="ID", help="Only those of a fleet.")
@click.option("--limit", "-n", default=50, show_default=True, type=click.IntRange(1, 100_000), help="How many to show.")
@format_option
def command(statuses: tuple[str, ...], kinds: tuple[str, ...], fleet: str, limit: int, output: str) -> None:
    """List runs, the newest first, and what they wait for."""
    from clawft.config.runs import own_runs
    from clawft.run.durable import is_installed, is_used

    app = open_here()
    settings = own_runs(app.config, app.workspace.user_dir, app.environ)
    if is_installed() and not is_used(settings, app.workspace.user_dir):
        if output == "json":
            return print_json("clawft.runs.v1", runs=[])
        return say(_NONE)
    with open_runs_here() as (_, runs):
        fleet = find_fleet(runs, fleet)
        rows = runs.store.list(statuses=statuses, kinds=kinds, fleet=fleet, limit=limit)
        # Also of those that are not listed: after a reboot this is the command that has all go on.
        see_to(runs, runs.store.list(statuses=("queued", "running"), limit=_SEEN_TO))
        if output == "json":
            return print_runs(runs, rows)
        questions = [one for one in runs.store.questions() if any(one.run == row.id for row in rows)]
        if not rows and not (statuses or kinds or fleet):
            return say(_NONE)
        if rows:
            click.echo("\n".join(list_lines(rows, questions, terminal_width())))
        counts = runs.store.counts(fleet)
        known = sum(counts[one] for one in counts if not statuses or one in statuses)
        say(_summary(rows, 0 if kinds else known - len(rows), limit))
        _say_asked(questions)
    return None


def _summary(rows: "tuple[Run, ...]", more: int, limit: int) -> str:
    counts: dict[str, int] = {}
    for one in rows:
        counts[one.status] = counts.get(one.status, 0) + 1
    return count_words(counts) + (f"; {more} more with --limit {limit + more}" if more > 0 else "")


def _say_asked(questions: "list[Question]") -> None:
    """What waits for a person, and how to answer it."""
    runs = [one.run for one in questions]
    for one in questions[:_MAX_ASKED]:
        say(f"{click.style('?', fg='yellow')} {one_line(one.event.question)}")
        say(f"  {follow_up(one, only=runs.count(one.run) == 1)}")
    if len(questions) > _MAX_ASKED:
        say(f"and {len(questions) - _MAX_ASKED} more questions; weft runs show ID tells them")
