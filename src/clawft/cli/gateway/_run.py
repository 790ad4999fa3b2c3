"""Runs the gateway here: a worker for its runs, and beside it the channels."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from clawft.cli import stay
from clawft.cli.gateway._open import choose_here, find_notes, settings_here, take_lock
from clawft.cli.options import open_here
from clawft.cli.output import print_json, say, show_diagnostic
from clawft.cli.worker import Tell, make_plan, make_tell, work_here
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.config.gateway import GatewaySettings
    from clawft.gateway.channels import Chosen
    from clawft.run.durable.request import RunRequest
    from clawft.run.durable.worker import RunWorker

__all__ = ["check_channels", "run_channels"]


def check_channels(*, as_json: bool) -> int:
    """Say what would run."""
    app = _open()
    settings = settings_here(app)
    chosen = choose_here(app, settings)
    notes = find_notes(app, chosen)
    if as_json:
        described = [_describe(settings, one, notes.get(one.name, [])) for one in chosen]
        print_json("clawft.gateway-check.v1", channels=described)
    else:
        for one in chosen:
            _show(settings, one)
            for note in notes.get(one.name, []):
                show_diagnostic(note, where="", indent="  ")
    return 0 if any(one.problem is None for one in chosen) else 1


def _describe(settings: "GatewaySettings", chosen: "Chosen", notes: list[Diagnostic]) -> dict[str, object]:
    channel = settings.channels[chosen.name]
    problem = to_json(chosen.problem) if chosen.problem else None
    return {
        "name": chosen.name,
        "plugin": chosen.plugin,
        "runs": chosen.problem is None,
        "problem": problem,
        "notes": [to_json(one) for one in notes],
        "allow": list(channel.allow),
        "agent": channel.agent,
        "model": channel.model,
        "mode": channel.mode,
    }


def _show(settings: "GatewaySettings", chosen: "Chosen") -> None:
    channel = settings.channels[chosen.name]
    if chosen.problem is not None:
        say(f"{chosen.name}  is not run")
        show_diagnostic(chosen.problem, where=chosen.problem.where, indent="  ")
        return
    limit = channel.rate_limit or settings.rate_limit
    click.echo(f"{chosen.name}  runs, by the plugin {chosen.plugin}")
    allowed = ", ".join(channel.allow) or f"nobody: gateway.channels.{chosen.name}.allow is empty"
    click.echo(f"  may write   {allowed}")
    click.echo(f"  at most     {limit.max_requests} messages of one sender in {limit.window_s:g} s ({limit.strategy})")
    click.echo(f"  answered by {channel.agent or 'the default agent'}, in the mode {channel.mode or 'of the agent'}")


def run_channels(*, as_json: bool) -> int:
    """Run until it is stopped. Raises: ClawftError."""
    import anyio

    app = _open()
    settings = settings_here(app)
    chosen = choose_here(app, settings)
    tell = make_tell("clawft.gateway.v1" if as_json else "")
    for one in chosen:
        if one.problem is not None:
            show_diagnostic(one.problem, where=one.problem.where)
        elif not settings.channels[one.name].allow:
            text = f"{one.name}  nobody may write: gateway.channels.{one.name}.allow is empty"
            tell(text, {"channel": one.name, "event": "nobody-may-write"})
    for note in chain.from_iterable(find_notes(app, chosen).values()):
        show_diagnostic(note, where="")
    ready = tuple(one for one in chosen if one.problem is None)
    if not ready:
        message = "None of the channels that are configured can run"
        raise ClawftError("gateway-no-channel", message, hint="See why: weft gateway --check")
    lock = take_lock(app)
    try:
        plan = make_plan(app, (settings.queue,), settings.concurrency)
        beside = partial(_open_channels, app, settings, ready, tell)
        stay()
        anyio.run(partial(work_here, app, plan, tell, beside=beside))
    finally:
        os.close(lock)
    return 0


def _open() -> "App":
    from clawft.run.durable import is_installed, missing

    if not is_installed():
        raise missing()
    return open_here()


@asynccontextmanager
async def _open_channels(
    app: "App",
    settings: "GatewaySettings",
    chosen: "tuple[Chosen, ...]",
    tell: Tell,
    worker: "RunWorker",
) -> AsyncIterator[Callable[[], None]]:
    """The channels, for as long as the worker works. Raises: ClawftError."""
    from anyio import to_thread
    from msgspec import structs

    from clawft.gateway.channels import PluginChannel
    from clawft.gateway.gateway import Gateway
    from clawft.gateway.means import make_means
    from clawft.plugging import open_plugins

    # Messages of a channel that is not run wait, too.
    settings = structs.replace(settings, channels={one.name: settings.channels[one.name] for one in chosen})
    make = partial(make_means, settings, worker.store, app.audit, _make_request(app), (tell, worker.warn), worker.id)
    means = structs.replace(await to_thread.run_sync(make), mask=app.secrets.mask)
    plugins = open_plugins(app, app.open_sandbox())
    plugins.is_patient = True  # channels are started again for ever, with pauses that grow
    async with plugins:
        channels = [(PluginChannel(one.name, one.plugin, plugins), one.plugin) for one in chosen]
        gateway = Gateway(means, channels)

        async def look() -> None:
            """Tell what plugins have to say, and follow what the user changed: what was taken back counts."""
            for news in plugins.check():
                show_diagnostic(news, where=news.where)
            gateway.follow(await to_thread.run_sync(_load_allowed, app))

        worker.chores.append(look)
        async with gateway.running():
            yield gateway.stop


def _load_allowed(app: "App") -> dict[str, tuple[str, ...]]:
    """Who may write by the channels that can be run, as it is on disk now. Raises: ClawftError."""
    from clawft.gateway.channels import choose_channels
    from clawft.plugging import load_plugin_standings

    now = app.reopen()
    settings = settings_here(now)
    standings = load_plugin_standings(now, by_digest=False)
    running = choose_channels(settings, standings) if any(one.enabled for one in settings.channels.values()) else ()
    return {one.name: settings.channels[one.name].allow for one in running if one.problem is None}


def _make_request(app: "App") -> "RunRequest":
    """What all runs of the gateway have in common: they see the folder it was started in."""
    from clawft.run.durable.request import RunRequest, settings_of

    place = app.workspace
    return RunRequest(kind="gateway", cwd=place.cwd, project=place.project, settings=settings_of(app.environ))
