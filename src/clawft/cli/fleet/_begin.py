"""A fleet that begins: written down, and what is left of old ones removed."""

import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from clawft.cli.output import one_line, say

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.fleets import Fleet
    from clawft.run.durable.runs import Runs

__all__ = ["begin", "lines_path"]


def begin(app: "App", runs: "Runs", fleet: "Fleet") -> "Fleet":
    """Write a fleet down. Raises: ClawftError."""
    from clawft.run.durable.fleets import FleetStore

    store = FleetStore(runs.database)
    before = datetime.now(UTC) - timedelta(days=runs.settings.keep_days)
    for old in store.remove_old(before.isoformat(timespec="milliseconds")):
        with suppress(OSError):
            os.unlink(lines_path(app, old.id))
    store.add(fleet)
    say(one_line(f"fleet {fleet.id}: {fleet.spec.title}, {fleet.total:,} lines"))
    return fleet


def lines_path(app: "App", fleet: str) -> str:
    """Where the lines of a fleet stand that come from no single file."""
    return os.path.join(app.workspace.user_dir, "runs", "fleets", f"{os.path.basename(fleet)}.jsonl")
