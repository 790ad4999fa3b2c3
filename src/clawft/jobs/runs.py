"""Runs, for callers that start, watch, answer or cancel them; starts a worker process where none is alive."""

import getpass
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import structs

from clawft.agent.run_request import RunRequest, settings_of
from clawft.config.jobs import RunsSettings, is_queue
from clawft.errors import ClawftError, Refused
from clawft.files import replace_file
from clawft.jobs.database import make_url, open_engine
from clawft.jobs.run_state import OVER, PendingQuestion, Run, WorkerRow, new_run_id
from clawft.jobs.schedule.jobs import find_zone
from clawft.jobs.schedule.store import ScheduleStore
from clawft.jobs.store import RunStore
from clawft.jobs.worker_registry import is_dead, this_host
from clawft.trust.programs import start_detached, use_own_python

if TYPE_CHECKING:
    from clawft.jobs.engine import RecordedStep, RunEngine


# How old the last sign of a worker on another machine may be. Clocks differ, so this is generous: at worst, one more
# worker is started, or the next command starts it.
_QUIET = timedelta(minutes=5)
_STARTING_S = 10  # that a worker may take until it is known
_MAX_LOG = 4 << 20


def is_served(store: RunStore, queue: str, *, always: bool = False) -> bool:
    """Return whether a worker that may be alive takes from a queue; `always`: one that stays when there is nothing to
    do."""
    return any(_serves(row, queue) and (row.stays or not always) for row in store.roster.workers())


def _serves(row: WorkerRow, queue: str) -> bool:
    return not row.stopping and queue in row.queue.split(",") and is_alive(row)


def is_alive(row: WorkerRow) -> bool:
    """Return whether a worker may be alive, as far as can be checked without waiting."""
    if row.host == this_host():
        return not is_dead(row)
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
    """Return whether a worker was started a moment ago that is not known yet."""
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


_CHUNK = 200  # runs that are written down at once


class Runs:
    """The runs of a database. Every method raises a ClawftError where that cannot be used."""

    def __init__(self, settings: RunsSettings, user_dir: str, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self._user_dir = user_dir
        self._environ = environ
        self.database = open_engine(make_url(settings, user_dir, environ))
        self.store = RunStore(self.database, lambda *due: self.engine.enqueue(*due))

    @cached_property
    def engine(self) -> "RunEngine":
        """Opened when it is first needed: who only looks at runs waits for none of it."""
        from clawft.jobs.engine import RunEngine

        return RunEngine(self.database)

    @cached_property
    def jobs(self) -> ScheduleStore:
        """The schedules that start runs."""
        return ScheduleStore(self.store, find_zone(self._environ), self._prepare)

    def start(self, request: RunRequest, *, queue: str = "") -> str:
        """Have something done in the background; the id of the run. A session of a fork has one run, however often."""
        if request.kind == "fork" and (known := self.store.find_by_session(request.session, "fork")):
            return known.id
        run = new_run_id()
        self._prepare()
        self.store.add([(run, self._complete(request))], queue or self.settings.queue, parent=request.parent)
        return run

    def start_fleet(self, fleet: str, requests: Sequence[tuple[int, RunRequest]], *, queue: str = "") -> list[str]:
        """One run for each line of a fleet's input; the ids follow from the lines, so that none is started twice."""
        self._prepare()
        named = [(f"{fleet}.{line:06}", line, self._complete(request)) for line, request in requests]
        for start in range(0, len(named), _CHUNK):
            self.store.add_fleet(fleet, named[start : start + _CHUNK], queue or self.settings.queue)
        return [run for run, _, _ in named]

    def _complete(self, request: RunRequest) -> RunRequest:
        return request if request.deadline_s else structs.replace(request, deadline_s=self.settings.deadline_s)

    def _prepare(self) -> None:
        """Have the engine's tables there before a transaction that writes to them."""
        _ = self.engine

    def answer(self, question: PendingQuestion, answer: str, by: str = "") -> None:
        """Answer a run's question, under the name in `by` or as the user of this process; the run continues with the
        answer."""
        if answer not in question.choices:
            raise ClawftError("run-answer", f"'{answer}' is no answer here", hint=f"Say {', '.join(question.choices)}")
        self.store.answer(question.run, question.key, answer, by or _who(), question.asked)

    def cancel(self, run: str) -> Run:
        """Have a run ended; as it is now."""
        self.store.ask_to_cancel(run)
        return self.store.get(run)

    def resume(self, run: str) -> Run:
        """Go on with a run that was cancelled, after the steps that are done. Raises: Refused for any other."""
        if self.store.requeue(run, only=("cancelled",)) is None:
            raise self._refuse(
                run, "resumed", {"waiting": f"Run: weft runs show {run}", "failed": f"Run: weft runs retry {run}"}
            )
        return self.store.get(run)

    def retry(self, run: str, *, fresh: bool = False) -> Run:
        """Try a run again that failed, after the steps that are done; `fresh` from its start. Raises: Refused."""
        only = OVER if fresh else ("failed",)
        self._prepare()
        if self.store.requeue(run, only=only, discard=self.engine.discard if fresh else None) is None:
            hints = {
                "cancelled": f"Run: weft runs resume {run}",
                "done": f"To do it all again: weft runs retry --fresh {run}",
            }
            raise self._refuse(run, "retried", {**hints, "waiting": f"Run: weft runs show {run}"})
        return self.store.get(run)

    def _refuse(self, run: str, what: str, hints: Mapping[str, str]) -> Refused:
        status = self.store.get(run).status
        return Refused("run-status", f"The run {run} is {status}, so it cannot be {what}", hint=hints.get(status, ""))

    def find_old(self, days: float, statuses: Iterable[str] = OVER) -> list[Run]:
        """Runs that were over that many days ago."""
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return [run for run in self.store.list(statuses=statuses) if run.finished and run.finished <= before]

    def remove(self, runs: Sequence[Run]) -> None:
        """Forget runs that are over, with all that is recorded of them."""
        for start in range(0, len(runs), _CHUNK):
            self.store.remove([run.id for run in runs[start : start + _CHUNK]], self.engine.discard)

    def recorded(self, run: Run) -> "list[RecordedStep]":
        """The steps that are done."""
        return self.engine.recorded(run.id, run.attempt)

    def ensure_worker(self, queue: str = "") -> bool:
        """Start a worker in the background if nothing serves the queue: True if one was started."""
        return start_worker(self.store, queue or self.settings.queue, self._user_dir, self._environ)

    def see_to(self, wanted: Iterable[Run]) -> tuple[list[str], list[ClawftError]]:
        """Start the workers that these runs need, and return the queues for which one was started, and the errors.

        A worker that cannot be started does not affect the others.
        """
        busy = (run for run in wanted if run.status in ("queued", "running"))
        # What was asked for on another machine needs a worker there.
        queues = {run.queue for run in busy if os.path.isdir(run.request.cwd)}
        started: list[str] = []
        problems: list[ClawftError] = []
        for queue in sorted(queues):
            try:
                started += [queue] if self.ensure_worker(queue) else []
            except ClawftError as error:
                if error.code != "worker-start":
                    raise
                problems.append(error)
        return started, problems

    def add_workers(self, count: int, queue: str = "") -> int:
        """See that so many workers of this machine do what is queued: how many had to be started."""
        return start_more(self.store, queue or self.settings.queue, count, self._user_dir, self._environ)

    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.close()
        self.database.dispose()


def _who() -> str:
    name = str(os.getuid())
    with suppress(KeyError, OSError):
        name = getpass.getuser()
    return f"{name}@{this_host().partition('/')[0]}"
