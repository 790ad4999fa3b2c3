"""`--background`: a turn that is started as a run, and goes on when the terminal closes."""

import os
from typing import TYPE_CHECKING

import click
from msgspec import json

from clawft.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import say
from clawft.run import TurnRequest

if TYPE_CHECKING:
    from clawft.run.durable.request import RunRequest

__all__ = ["make_request", "start_here"]


def start_here(app: App, options: TurnOptions, turn: TurnRequest, dirs: tuple[str, ...] = ()) -> int:
    """Start a run, and say how it can be followed. Raises: ClawftError."""
    from clawft.working import open_app_runs

    request = make_request(app, options, turn, dirs)
    runs = open_app_runs(app)
    try:
        run = runs.start(request, queue=options.queue)
        started = runs.ensure_worker(options.queue)
    finally:
        runs.close()
    if options.output == "json":
        click.echo(json.encode({"run": run}).decode())
        return 0
    click.echo(run)
    say(f"It goes on in the background, also when this terminal closes{', with a worker of its own' * started}.")
    say(f"Follow it: weft runs watch {run}")
    return 0


def make_request(app: App, options: TurnOptions, turn: TurnRequest, dirs: tuple[str, ...] = ()) -> "RunRequest":
    """A turn as a run that any worker can do. Raises: ClawftError."""
    from clawft.run.durable.request import RunRequest, settings_of

    def write(text: str) -> str:
        """A text as it may be written down: what is sent from here has no halves of characters either."""
        return app.secrets.mask(text).encode("utf-8", "replace").decode()

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
