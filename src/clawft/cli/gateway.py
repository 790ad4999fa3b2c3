"""`weft gateway`: run the channels of plugins, and show their status."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import anyio
import click
from anyio import to_thread
from msgspec import structs

from clawft.agent.run_request import RunRequest, settings_of
from clawft.app.jobs import open_app_runs
from clawft.app.plugin_host import open_plugins
from clawft.app.plugins import load_plugin_statuses
from clawft.cli import restore_gc_thresholds
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_json, print_table, say, show_diagnostic, show_diagnostics
from clawft.cli.plugins.settings import render_missing_variables
from clawft.cli.worker import WorkerLog, make_plan, make_worker_log, work_here
from clawft.errors import ClawftError, Diagnostic
from clawft.files import lock_file
from clawft.jobs import is_installed, is_used, missing
from clawft.jobs.channels.plugin_channels import PluginChannel, choose_channels
from clawft.server.protocol.base import diagnostic_json

if TYPE_CHECKING:
    from clawft.agent.run_request import RunRequest
    from clawft.app.app import App
    from clawft.config.jobs import GatewaySettings
    from clawft.jobs.channels.plugin_channels import ConfiguredChannel
    from clawft.jobs.worker import RunWorker


_LOCK = "gateway.lock"


def load_gateway_settings(app: "App") -> "GatewaySettings":
    """Return the channel settings of the user's own config."""
    return app.own_config.gateway


def load_channel_choices(app: "App", settings: "GatewaySettings") -> "tuple[ConfiguredChannel, ...]":
    """The channels that are asked for, with what keeps each from running. Raises: ClawftError for none at all."""
    return tuple(
        _check_agent(app, settings, channel) for channel in choose_channels(settings, load_plugin_statuses(app))
    )


def find_notes(app: "App", chosen: Sequence["ConfiguredChannel"]) -> dict[str, list[Diagnostic]]:
    """Return diagnostics about variables without a value, by channel, for the channels that can run."""
    ready = {status.id: status for status in load_plugin_statuses(app, by_digest=False) if status.state == "ready"}
    running = [channel for channel in chosen if channel.problem is None and channel.plugin in ready]
    return {channel.name: render_missing_variables(app, ready[channel.plugin]) for channel in running}


def _check_agent(app: "App", settings: "GatewaySettings", chosen: "ConfiguredChannel") -> "ConfiguredChannel":
    """Check a channel's agent at startup, so that a problem is reported now and not in every answer."""
    if chosen.problem is None:
        try:
            app.choose_agent(settings.channels[chosen.name].agent)
        except ClawftError as error:
            return structs.replace(chosen, problem=error.diagnostic)
    return chosen


def take_lock(app: "App") -> int:
    """Be the only gateway of the user until the descriptor is closed. Raises: ClawftError."""
    descriptor = os.open(app.user_file(_LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not lock_file(descriptor, wait_s=2):
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        message = f"A gateway runs already, as process {holder}" if holder.isdecimal() else "A gateway runs already"
        raise ClawftError("gateway-running", message, hint="Run: weft gateway status")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def find_running_gateway(app: "App") -> str:
    """The process of the gateway that runs; '' if none does."""
    try:
        descriptor = os.open(os.path.join(app.workspace.user_dir, _LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return "" if lock_file(descriptor) else os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)


_FAILURES = 10
_HEADS = ("CHANNEL", "STATE", "WAITING", "ANSWERED", "FAILED", "TO SEND", "SENT", "GIVEN UP", "REFUSED")


@click.command("status")
@format_option
def command() -> CommandResult:
    """Say how the channels are, what waits to be answered or sent, and what went wrong last."""
    if not is_installed():
        raise missing()
    app = open_here()
    pid = find_running_gateway(app)
    used = is_used(app.own_config.runs, app.workspace.user_dir)
    channels, failures = _load(app, is_running=bool(pid)) if used else ([], [])

    def show() -> None:
        say(f"The gateway runs, as process {pid}." if pid else "No gateway runs. Start it: weft gateway")
        if channels:
            print_table(_HEADS, [_row(channel) for channel in channels], wide=1)
        for channel in channels:
            if channel["error"]:
                say(f"{channel['name']}: {one_line(channel['error'])} ({channel['error_at']})")
        for failure in failures:
            say(f"not sent: {failure['key']} by {failure['channel']}: {one_line(failure['error'])} ({failure['at']})")

    return CommandResult(
        "clawft.jobs.channels-status.v1",
        {"running": bool(pid), "pid": int(pid or 0), "channels": channels, "failures": failures},
        show,
    )


def _row(channel: dict[str, Any]) -> tuple[str, ...]:
    names = ("name", "state", "waiting", "answered", "failed", "to_send", "sent", "given_up", "refused")
    return tuple(str(channel[name]) for name in names)


def _load(app: "App", *, is_running: bool) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    from clawft.jobs.channels.inbox import Inbox
    from clawft.jobs.channels.store import ChannelOutbox, ChannelStatuses

    runs = open_app_runs(app)
    try:
        taken = Inbox(runs.store, ()).counts()
        outbox = ChannelOutbox(runs.database)
        sent, failures = outbox.counts(), outbox.failures(_FAILURES)
        rows = ChannelStatuses(runs.database).rows()
    finally:
        runs.close()
    configured = load_gateway_settings(app).channels
    names = sorted({*configured, *rows, *(name for name, _ in (*taken, *sent))})
    channels: list[dict[str, Any]] = []
    for name in names:
        row = rows.get(name)
        state = row.state if row and is_running else "stopped"
        channels.append(
            {
                "name": name,
                "plugin": row.plugin if row else "",
                "configured": name in configured and configured[name].enabled,
                "state": state if name in configured else "not configured",
                "since": row.since if row else "",
                "waiting": taken.get((name, "accepted"), 0) + taken.get((name, "running"), 0),
                "answered": taken.get((name, "answered"), 0),
                "failed": taken.get((name, "failed"), 0),
                "to_send": sent.get((name, "pending"), 0) + sent.get((name, "sending"), 0),
                "sent": sent.get((name, "sent"), 0),
                "given_up": sent.get((name, "failed"), 0),
                "starts": row.starts if row else 0,
                "refused": row.refused if row else 0,
                "error": row.error if row else "",
                "error_at": row.error_at if row else "",
            }
        )
    return channels, [
        {"at": at, "channel": channel, "key": key, "error": error} for at, channel, key, error in failures
    ]


def check_channels(*, as_json: bool) -> int:
    """Say what would run."""
    app = _open()
    settings = load_gateway_settings(app)
    chosen = load_channel_choices(app, settings)
    notes = find_notes(app, chosen)
    if as_json:
        described = [_describe(settings, channel, notes.get(channel.name, [])) for channel in chosen]
        print_json("clawft.jobs.channels-check.v1", channels=described)
    else:
        for channel in chosen:
            _show(settings, channel)
            show_diagnostics(notes.get(channel.name, []), indent="  ")
    return 0 if any(channel.problem is None for channel in chosen) else 1


def _describe(settings: "GatewaySettings", chosen: "ConfiguredChannel", notes: list[Diagnostic]) -> dict[str, object]:
    channel = settings.channels[chosen.name]
    problem = diagnostic_json(chosen.problem) if chosen.problem else None
    return {
        "name": chosen.name,
        "plugin": chosen.plugin,
        "runs": chosen.problem is None,
        "problem": problem,
        "notes": [diagnostic_json(note) for note in notes],
        "allow": list(channel.allow),
        "agent": channel.agent,
        "model": channel.model,
        "mode": channel.mode,
    }


def _show(settings: "GatewaySettings", chosen: "ConfiguredChannel") -> None:
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
    app = _open()
    settings = load_gateway_settings(app)
    chosen = load_channel_choices(app, settings)
    tell = make_worker_log("clawft.gateway.v1" if as_json else "")
    for channel in chosen:
        if channel.problem is not None:
            show_diagnostic(channel.problem, where=channel.problem.where)
        elif not settings.channels[channel.name].allow:
            text = f"{channel.name}  nobody may write: gateway.channels.{channel.name}.allow is empty"
            tell(text, {"channel": channel.name, "event": "nobody-may-write"})
    show_diagnostics(chain.from_iterable(find_notes(app, chosen).values()))
    ready = tuple(channel for channel in chosen if channel.problem is None)
    if not ready:
        message = "None of the channels that are configured can run"
        raise ClawftError("gateway-no-channel", message, hint="See why: weft gateway --check")
    lock = take_lock(app)
    try:
        plan = make_plan(app, (settings.queue,), settings.concurrency)
        open_channels = partial(_open_channels, app, settings, ready, tell)
        restore_gc_thresholds()
        anyio.run(partial(work_here, app, plan, tell, open_extra=open_channels))
    finally:
        os.close(lock)
    return 0


def _open() -> "App":
    if not is_installed():
        raise missing()
    return open_here()


@asynccontextmanager
async def _open_channels(
    app: "App",
    settings: "GatewaySettings",
    chosen: "tuple[ConfiguredChannel, ...]",
    tell: WorkerLog,
    worker: "RunWorker",
) -> AsyncIterator[Callable[[], None]]:
    """The channels, for as long as the worker works. Raises: ClawftError."""
    # Messages of a channel that is not run wait, too.
    from clawft.jobs.channels.gateway import Gateway
    from clawft.jobs.channels.intake import make_gateway_context

    settings = structs.replace(settings, channels={channel.name: settings.channels[channel.name] for channel in chosen})
    make = partial(
        make_gateway_context, settings, worker.store, app.audit, _make_request(app), (tell, worker.warn), worker.id
    )
    context = structs.replace(await to_thread.run_sync(make), mask=app.secrets.mask)
    plugins = open_plugins(app, app.open_sandbox())
    plugins.is_patient = True  # channels are started again for ever, with pauses that grow
    async with plugins:
        channels = [(PluginChannel(channel.name, channel.plugin, plugins), channel.plugin) for channel in chosen]
        gateway = Gateway(context, channels)

        async def look() -> None:
            """Tell what plugins have to say, and follow what the user changed: what was taken back counts."""
            show_diagnostics(plugins.check(), str)
            gateway.follow(await to_thread.run_sync(_load_allowed, app))

        worker.chores.append(look)
        async with gateway.running():
            yield gateway.stop


def _load_allowed(app: "App") -> dict[str, tuple[str, ...]]:
    """Load who may write on each channel that can run, as it is on disk now. Raises: ClawftError."""
    now = app.refresh()
    settings = load_gateway_settings(now)
    statuses = load_plugin_statuses(now, by_digest=False)
    running = (
        choose_channels(settings, statuses) if any(channel.enabled for channel in settings.channels.values()) else ()
    )
    return {channel.name: settings.channels[channel.name].allow for channel in running if channel.problem is None}


def _make_request(app: "App") -> "RunRequest":
    """Return the request that all runs of the gateway share: they see the folder in which it was started."""
    place = app.workspace
    return RunRequest(kind="gateway", cwd=place.cwd, project=place.project, settings=settings_of(app.environ))
