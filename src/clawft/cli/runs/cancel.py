"""`weft runs cancel`: end runs."""

import time
from typing import TYPE_CHECKING

import click

from clawft.cli._complete import complete_runs
from clawft.cli.options import format_option
from clawft.cli.output import say
from clawft.cli.runs._open import act_on_all, open_runs_here, print_runs, see_to

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Run

__all__ = ["command"]

_PATIENCE_S, _POLL_S = 5.0, 0.1
_MAX_SAID = 20
_OPEN = ("queued", "running", "waiting")


@click.command("cancel")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_runs)
@click.option("--all", "every", is_flag=True, help="All that are not over.")
@format_option
def command(ids: tuple[str, ...], every: bool, output: str) -> int:
    """End runs. What they did so far is kept, and `weft runs resume` goes on with it."""
    if bool(ids) == every:
        raise click.UsageError("Say which: weft runs cancel ID, or --all")
    with open_runs_here() as (_, runs):
        over = {one: runs.store.find(one) for one in ids}
        rows, code = (_cancel_all(runs), 0) if every else act_on_all(runs, ids, runs.cancel)
        rows = _wait(runs, rows)
        if output == "json":
            print_runs(runs, rows)
            return code
        for row in rows[:_MAX_SAID]:
            before = over.get(row.id)
            say(_tell(row, was_over=before is not None and before.status not in _OPEN))
        if len(rows) > _MAX_SAID:
            say(f"and {len(rows) - _MAX_SAID} more")
        if every and not rows:
            say("Nothing runs")
    return code


def _cancel_all(runs: "Runs") -> "list[Run]":
    """End everything that is not over, at once; as it is then."""
    wanted = {one.id for one in runs.store.list(statuses=_OPEN)}
    runs.store.cancel_all()
    return [one for one in runs.store.list() if one.id in wanted] if wanted else []


def _wait(runs: "Runs", rows: "list[Run]") -> "list[Run]":
    """Give workers a moment to end what they do. One that died ends nothing: another is started for it."""
    see_to(runs, rows)
    deadline = time.monotonic() + _PATIENCE_S
    while any(row.status == "running" for row in rows) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        rows = [runs.store.get(row.id) if row.status == "running" else row for row in rows]
    return rows


def _tell(row: "Run", *, was_over: bool) -> str:
    if was_over:
        return f"{row.id} was {row.status} already"
    if row.status == "cancelled":
        return f"{row.id} is cancelled"
    if row.status == "running":
        return f"{row.id} is still running; its worker ends it when the step that is being done is over"
    return f"{row.id} is {row.status}: it was over before it could be ended"
