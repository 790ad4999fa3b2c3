"""`weft runs watch`: a run as it happens, in the words of a turn in the foreground."""

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import click

from clawft.cli.output import one_line, say
from clawft.cli.runs._open import open_runs_here, run_argument, see_to
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.cli.events import JsonLines, Printer
    from clawft.messages import Event
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Run

__all__ = ["command"]

_LOOK_S = 2.0  # between two looks whether a worker is there


@click.command("watch")
@run_argument
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: one event per line.",
)
def command(run: str, output: str) -> int:
    """Follow a run from its beginning to its end, as if it ran here; at a terminal its questions can be answered.

    Ctrl-C leaves it, and it goes on; it can be watched again at any time.
    """
    import anyio

    from clawft.cli.events import JsonLines, Printer, can_ask

    with open_runs_here() as (_, runs):
        one = runs.store.get(runs.store.resolve(run))
        printer = JsonLines() if output == "json" else Printer()
        if one.status == "queued":
            say("It waits for a worker")
        try:
            return anyio.run(_watch, runs, one.id, printer)
        except KeyboardInterrupt:
            if can_ask():
                say()  # the terminal has written ^C
            printer.note(f"left; it goes on. To see it again: weft runs watch {one.id}")
            return 130


async def _watch(runs: "Runs", run: str, printer: "Printer | JsonLines") -> int:
    import anyio

    ended: list[int] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_keep_served, runs, run)
        try:
            ended.append(await _show(runs, run, printer))
        except Exception as error:  # raised below, as itself and not as one of a group
            failures.append(error)
        group.cancel_scope.cancel()
    for one in failures:
        raise one
    return ended[0]


async def _show(runs: "Runs", run: str, printer: "Printer | JsonLines") -> int:
    """All that happens, to the end; the exit code. Raises: ClawftError."""
    from clawft.cli.runs._desk import Desk
    from clawft.run.durable.follow import follow
    from clawft.run.durable.values import Question, Run

    desk = Desk(runs, printer)
    last: Event | None = None
    async with aclosing(follow(runs.store, run)) as told:
        async for one in told:
            if isinstance(one, Question):
                await desk.take(one)
            elif isinstance(one, Run):
                return _end(one, last, printer)
            else:
                printer.show(one)
                last = one
    raise AssertionError("a run that is followed comes to its end")


async def _keep_served(runs: "Runs", run: str) -> None:
    """See that somebody does it, as long as somebody watches."""
    import anyio
    from anyio import to_thread

    while True:
        with suppress(ClawftError):  # who watches is told of a database that is away
            row = await to_thread.run_sync(runs.store.find, run)
            if row is not None:
                await to_thread.run_sync(see_to, runs, [row])
        await anyio.sleep(_LOOK_S)


def _end(run: "Run", last: "Event | None", printer: "Printer | JsonLines") -> int:
    """Say what the events did not; the exit code of a turn in the foreground."""
    from clawft.cli.events import Printer
    from clawft.messages import TextDelta, TurnFailed, TurnFinished

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
    if isinstance(printer, Printer):
        if run.result and not isinstance(last, TurnFinished):  # a run without an agent has no events
            printer.show(TextDelta(text=f"{run.result.rstrip()}\n"))
        printer.note(f"session: {one_line(run.session)}")
    return int(isinstance(last, TurnFinished) and last.stop == "max_iterations")  # that is no answer
