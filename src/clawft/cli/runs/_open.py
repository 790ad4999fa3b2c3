"""What the commands of runs share: opening them, which are meant, and seeing that somebody does them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from clawft.cli._complete import complete_runs
from clawft.cli.options import open_here
from clawft.cli.output import print_json, say, show_error
from clawft.describe.runs import run_json
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Run

__all__ = ["act_on_all", "find_fleet", "open_runs_here", "print_runs", "run_argument", "see_to"]


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
    started, problems = runs.see_to(wanted)
    for one in problems:
        show_error(one)
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


def print_runs(runs: "Runs", rows: "Iterable[Run]") -> None:
    """Runs as JSON, with the questions that they wait with."""
    listed = list(rows)
    waits = any(one.status in ("waiting", "running") for one in listed)
    questions = runs.store.questions() if waits else ()
    print_json("clawft.runs.v1", runs=[run_json(one, questions) for one in listed])
