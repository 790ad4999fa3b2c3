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
from clawft.sessions import encode_key

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
    from clawft.run.durable.request import RunRequest, settings_of

    def write(text: str) -> str:
        """A text as it may be written down: what is sent from here has no halves of characters either."""
        return app.secrets.mask(text).encode("utf-8", "replace").decode()

    if options.session:
        encode_key(options.session)
    agent = app.choose_agent(options.agent)  # what cannot be is said now, not by a worker later
    return RunRequest(
        kind="skill" if turn.skill else "agent",
        cwd=app.workspace.cwd,
        project=app.workspace.project,
        text=write(turn.text),
        skill=turn.skill,
        words=tuple(map(write, turn.words)),
        only=bool(dirs),
        dirs=tuple(os.path.abspath(one) for one in dirs),
        agent=options.agent and agent.name,
        model=options.model,
        mode=options.mode,
        session=options.session,
        yes=options.yes,
        trusted=_trusted(app),
        settings=settings_of(app.environ),
    )


def _trusted(app: App) -> dict[str, str]:
    """The strangers' skills that were approved for this run, as they are now."""
    if app.run_trust.project:
        for standing in app.skills:  # the first look at each binds it
            app.strangers.object_to_use(standing.found)
    return dict(app.run_trust.digests)
