"""A worker that is started on demand: where runs are queued and nobody does them, one process is begun that does."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from clawft.config.runs import is_queue
from clawft.errors import ClawftError
from clawft.files import replace_file
from clawft.programs import start_detached, use_own_python
from clawft.run.durable.lease import is_gone, this_host
from clawft.run.durable.request import settings_of
from clawft.run.durable.store import RunStore
from clawft.run.durable.values import WorkerRow

__all__ = ["is_alive", "is_served", "log_path", "start_more", "start_worker"]

# How old the last sign of a worker on another machine may be. Clocks differ, so this is generous: at worst, one more
# worker is started, or the next command starts it.
_QUIET = timedelta(minutes=5)
_STARTING_S = 10  # that a worker may take until it is known
_MAX_LOG = 4 << 20


def is_served(store: RunStore, queue: str, *, always: bool = False) -> bool:
    """Whether a worker that may be alive takes from a queue; `always`: one that stays when there is nothing to do."""
    return any(_serves(row, queue) and (row.stays or not always) for row in store.roster.workers())


def _serves(row: WorkerRow, queue: str) -> bool:
    return not row.stopping and queue in row.queue.split(",") and is_alive(row)


def is_alive(row: WorkerRow) -> bool:
    """Whether a worker may be alive, as far as can be told at once."""
    if row.host == this_host():
        return not is_gone(row)
    try:
        return abs(datetime.now(UTC) - datetime.fromisoformat(row.seen)) < _QUIET  # a clock may have jumped back
    except (TypeError, ValueError):  # no time that we wrote
        return False


def start_worker(store: RunStore, queue: str, user_dir: str, environ: Mapping[str, str]) -> bool:
    """Start a worker that outlives this process, unless there is one. Raises: ClawftError."""
    if not is_queue(queue) or is_served(store, queue) or _is_starting(store, user_dir, queue):
        return False
    _keep_starting(user_dir, queue, _spawn(queue, "--on-demand", user_dir, environ))
    return True


def start_more(store: RunStore, queue: str, count: int, user_dir: str, environ: Mapping[str, str]) -> int:
    """Start workers until so many of this machine take from a queue; each ends when there is nothing to do.

    How many were started. Raises: ClawftError.
    """
    here = sum(row.host == this_host() and _serves(row, queue) for row in store.roster.workers())
    for _ in range(count - here):
        _spawn(queue, "--until-idle", user_dir, environ)
    return max(0, count - here)


def _spawn(queue: str, how: str, user_dir: str, environ: Mapping[str, str]) -> int:
    """A worker that outlives this process: its number. Raises: ClawftError."""
    # -P: what lies in the folder that it starts in is none of its code.
    words = ("-P", "-m", "clawft", "worker", how, "--queue", queue)
    program = use_own_python(words, {**_common(environ), "CLAWFT_HOME": user_dir}, user_dir)
    try:
        with open(_open_log(user_dir), "ab") as log:
            return start_detached(program, log)
    except OSError as error:
        message = f"No worker could be started: {error.strerror}"
        raise ClawftError("worker-start", message, hint="Start one yourself: weft worker") from error


def _common(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what one run alone takes along: the worker does those of others too."""
    own = settings_of(environ)
    return {name: value for name, value in environ.items() if name not in own}


def _is_starting(store: RunStore, user_dir: str, queue: str) -> bool:
    """Whether a worker was started a moment ago that is not known yet."""
    path = _starting_path(user_dir, queue)
    try:
        if abs(time.time() - os.path.getmtime(path)) > _STARTING_S:
            return False
        with open(path, encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return False
    return all((row.pid, row.host) != (pid, this_host()) for row in store.roster.workers())


def _keep_starting(user_dir: str, queue: str, pid: int) -> None:
    path = _starting_path(user_dir, queue)
    with suppress(OSError):  # at worst, a second one is started, which ends at once
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_file(path, str(pid).encode())


def _starting_path(user_dir: str, queue: str) -> str:
    return os.path.join(user_dir, "runs", f"{queue}.starting")


def log_path(user_dir: str) -> str:
    return os.path.join(user_dir, "logs", "worker.log")


def _open_log(user_dir: str) -> int:
    path = log_path(user_dir)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if os.path.exists(path) and os.path.getsize(path) > _MAX_LOG:
        os.replace(path, f"{path}.old")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
