"""`--background`: a turn that is started as a run, and goes on when the terminal closes."""

import os
from typing import TYPE_CHECKING

import click
from msgspec import json

from clawft.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import say, show_error
from clawft.errors import ClawftError
from clawft.run import TurnRequest

if TYPE_CHECKING:
    from clawft.run.durable.request import RunRequest

__all__ = ["make_request", "start_here"]


def start_here(app: App, options: TurnOptions, turn: TurnRequest, dirs: tuple[str, ...] = ()) -> int:
    """Start a run, and say how it can be followed. Raises: ClawftError."""
    from clawft.working import open_app_runs

    request = make_request(app, options, turn, dirs)
    runs = open_app_runs(app)
    trouble: ClawftError | None = None
    started = False
    try:
        run = runs.start(request, queue=options.queue)
        try:
            started = runs.ensure_worker(options.queue)
        except ClawftError as error:  # it is queued all the same, so its id must be known
            trouble = error
    finally:
        runs.close()
    click.echo(json.encode({"run": run}).decode() if options.output == "json" else run)
    if trouble is not None:
        show_error(trouble)
    elif options.output != "json":
        say(f"It goes on in the background, also when this terminal closes{', with a worker of its own' * started}.")
        say(f"Follow it: weft runs watch {run}")
    return 0


def make_request(app: App, options: TurnOptions, turn: TurnRequest, dirs: tuple[str, ...] = ()) -> "RunRequest":
    """A turn as a run that any worker can do. Raises: ClawftError."""
    from clawft.run.durable.request import RunRequest
    from clawft.working import complete_request

    return complete_request(
        app,
        RunRequest(
            kind="skill" if turn.skill else "agent",
            cwd=app.workspace.cwd,
            text=turn.text,
            skill=turn.skill,
            words=turn.words,
            only=bool(dirs),
            dirs=tuple(os.path.abspath(one) for one in dirs),
            agent=options.agent,
            model=options.model,
            mode=options.mode,
            session=options.session,
            yes=options.yes,
        ),
    )
