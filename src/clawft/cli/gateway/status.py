"""`weft gateway status`."""

from typing import TYPE_CHECKING, Any

import click

from clawft.cli.gateway._open import is_held, settings_here
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say

if TYPE_CHECKING:
    from clawft.app import App

__all__ = ["command"]

_FAILURES = 10
_HEADS = ("CHANNEL", "STATE", "WAITING", "ANSWERED", "FAILED", "TO SEND", "SENT", "GIVEN UP", "REFUSED")


@click.command("status")
@format_option
def command(output: str) -> None:
    """Say how the channels are, what waits to be answered or sent, and what went wrong last."""
    from clawft.run.durable import is_installed, is_used, missing
    from clawft.working import run_settings

    if not is_installed():
        raise missing()
    app = open_here()
    pid = is_held(app)
    used = is_used(run_settings(app), app.workspace.user_dir)
    channels, failures = _load(app, is_running=bool(pid)) if used else ([], [])
    if output == "json":
        return print_json(
            "clawft.gateway-status.v1", running=bool(pid), pid=int(pid or 0), channels=channels, failures=failures
        )
    say(f"The gateway runs, as process {pid}." if pid else "No gateway runs. Start it: weft gateway")
    if channels:
        print_table(_HEADS, [_row(one) for one in channels], wide=1)
    for one in channels:
        if one["error"]:
            say(f"{one['name']}: {one_line(one['error'])} ({one['error_at']})")
    for failure in failures:
        say(f"not sent: {failure['key']} by {failure['channel']}: {one_line(failure['error'])} ({failure['at']})")
    return None


def _row(channel: dict[str, Any]) -> tuple[str, ...]:
    names = ("name", "state", "waiting", "answered", "failed", "to_send", "sent", "given_up", "refused")
    return tuple(str(channel[name]) for name in names)


def _load(app: "App", *, is_running: bool) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    from clawft.gateway.board import Board
    from clawft.gateway.inbox import Inbox
    from clawft.gateway.outbox import Outbox
    from clawft.working import open_app_runs

    runs = open_app_runs(app)
    try:
        taken = Inbox(runs.store, ()).counts()
        outbox = Outbox(runs.database)
        sent, failures = outbox.counts(), outbox.failures(_FAILURES)
        rows = Board(runs.database).rows()
    finally:
        runs.close()
    configured = settings_here(app).channels
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
