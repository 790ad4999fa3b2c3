"""A worker that is started on demand: where runs are queued and nobody does them, one process is begun that does."""

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from clawft.errors import ClawftError
from clawft.run.durable.lease import is_gone, this_host
from clawft.run.durable.store import RunStore
from clawft.run.durable.values import WorkerRow

__all__ = ["is_served", "log_path", "start_worker"]

# How old the last sign of a worker on another machine may be. Clocks differ, so this is generous: at worst, one more
# worker is started, or the next command starts it.
_QUIET = timedelta(minutes=5)
_MAX_LOG = 4 << 20


def is_served(store: RunStore, queue: str, *, always: bool = False) -> bool:
    """Whether a worker that may be alive takes from a queue; `always`: one that stays when there is nothing to do."""
    return any(_serves(row, queue) and (row.stays or not always) for row in store.workers())


def _serves(row: WorkerRow, queue: str) -> bool:
    if row.stopping or queue not in row.queue.split(","):
        return False
    if row.host == this_host():
        return not is_gone(row)
    return datetime.now(UTC) - datetime.fromisoformat(row.seen) < _QUIET


def start_worker(store: RunStore, queue: str, user_dir: str, environ: Mapping[str, str]) -> bool:
    """Start a worker that outlives this process, unless there is one. Raises: ClawftError."""
    if is_served(store, queue):
        return False
    command = (sys.executable, "-m", "clawft", "worker", "--on-demand", "--queue", queue)
    try:
        with open(_open_log(user_dir), "ab") as log:
            subprocess.Popen(
                command,
                cwd=user_dir,
                env={**environ, "CLAWFT_HOME": user_dir},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        message = f"No worker could be started: {error.strerror}"
        raise ClawftError("worker-start", message, hint="Start one yourself: weft worker") from error
    return True


def log_path(user_dir: str) -> str:
    return os.path.join(user_dir, "logs", "worker.log")


def _open_log(user_dir: str) -> int:
    path = log_path(user_dir)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if os.path.exists(path) and os.path.getsize(path) > _MAX_LOG:
        os.replace(path, f"{path}.old")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
