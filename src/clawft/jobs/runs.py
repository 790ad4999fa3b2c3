"""Runs, for whoever starts, watches, answers or ends them. What does them is a worker."""

import getpass
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import structs

from clawft.config.runs import RunsSettings
from clawft.cron import find_zone
from clawft.errors import ClawftError, Refused
from clawft.run.durable.database import make_url, open_engine
from clawft.run.durable.jobs import Jobs
from clawft.run.durable.lease import this_host
from clawft.run.durable.request import RunRequest
from clawft.run.durable.spawn import start_more, start_worker
from clawft.run.durable.store import RunStore
from clawft.run.durable.values import OVER, Question, Run, new_run_id

if TYPE_CHECKING:
    from clawft.run.durable.engine import Engine, Recorded

__all__ = ["Runs"]

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
    def engine(self) -> "Engine":
        """Opened when it is first needed: who only looks at runs waits for none of it."""
        from clawft.run.durable.engine import Engine

        return Engine(self.database)

    @cached_property
    def jobs(self) -> Jobs:
        """What is started on a schedule."""
        return Jobs(self.store, find_zone(self._environ), self._prepare)

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

    def answer(self, question: Question, answer: str, by: str = "") -> None:
        """Answer what a run waits for, as somebody or as the user of this process; it goes on with that."""
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

    def recorded(self, run: Run) -> "list[Recorded]":
        """The steps that are done."""
        return self.engine.recorded(run.id, run.attempt)

    def ensure_worker(self, queue: str = "") -> bool:
        """See that somebody does what is queued: True if a worker had to be started, here and in the background."""
        return start_worker(self.store, queue or self.settings.queue, self._user_dir, self._environ)

    def see_to(self, wanted: Iterable[Run]) -> tuple[list[str], list[ClawftError]]:
        """See that somebody does what is to be done of these runs: the queues that a worker was started for.

        One that cannot be started hinders nothing else, and is told of.
        """
        busy = (one for one in wanted if one.status in ("queued", "running"))
        # What was asked for on another machine needs a worker there.
        queues = {one.queue for one in busy if os.path.isdir(one.request.cwd)}
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
