"""Background runs on top of an app: starting one, and opening for a worker what each of them needs.

A worker does runs of many projects. Those of one project share a runtime, as long as its settings stay as they are.
"""

import os
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread
from msgspec import structs

from clawft.agent.run_request import RunRequest, settings_of
from clawft.agent.runtime import Runtime
from clawft.agent.sessions import encode_key
from clawft.agent.turn_hooks import DetachedHooks
from clawft.app.app import App, open_app
from clawft.app.hooks import open_hooks
from clawft.app.runtime import open_runtime, open_usage
from clawft.app.shared_runtime import SharedRuntime
from clawft.config.loader import config_files
from clawft.errors import ClawftError
from clawft.jobs import is_installed, missing
from clawft.jobs.schedule.jobs import find_zone

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from clawft.agent.records import UsageRecords
    from clawft.jobs.run_state import PendingQuestion
    from clawft.jobs.runs import Runs
    from clawft.jobs.schedule.store import FiredJob
    from clawft.jobs.worker import Chore, RunWorker, WorkerPlan


def open_app_runs(app: App) -> "Runs":
    """The runs of the user. Raises: ClawftError, `durable-missing` without the extra."""
    if not is_installed():
        raise missing()
    from clawft.jobs.runs import Runs

    runs = Runs(app.own_config.runs, app.workspace.user_dir, app.environ)

    def note_withdrawn(question: "PendingQuestion", session: str) -> None:
        event = question.event
        detail = {"tool": event.tool, "grave": event.dangerous, "call": event.call, "run": question.run}
        why = "the run was cancelled"
        app.audit.tell("approval", event.question, decision="withdrawn", rule=why, session=session, detail=detail)

    runs.store.on_withdrawn = note_withdrawn
    return runs


def complete_request(app: App, request: RunRequest) -> RunRequest:
    """A request with all that a worker needs of here: any can do it, today or after a reboot. Raises: ClawftError."""

    def write(text: str) -> str:
        """A text as it may be written down: what is sent from here has no halves of characters either."""
        return app.secrets.mask(text).encode("utf-8", "replace").decode()

    if request.session:
        encode_key(request.session)
    agent = app.choose_agent(request.agent)  # what cannot be is said now, not by a worker later
    return structs.replace(
        request,
        project=app.workspace.project,
        text=write(request.text),
        words=tuple(map(write, request.words)),
        agent=request.agent and agent.name,
        trusted=_trusted(app),
        settings=settings_of(app.environ),
    )


def _trusted(app: App) -> dict[str, str]:
    """Return the digests of the untrusted skills that were approved for this run, as they are now."""
    if app.run_trust.project:
        for skill in app.skills:  # the first look at each binds it
            app.trust_policy.check_use(skill.found)
    return dict(app.run_trust.digests)


async def start_run(app: App, request: RunRequest) -> str:
    """Start a run, and make sure that a worker executes it. Raises: ClawftError."""

    def start() -> str:
        runs = open_app_runs(app)
        try:
            run = runs.start(request)
            runs.ensure_worker()
        finally:
            runs.close()
        return run

    return await to_thread.run_sync(start)


def open_database(app: App) -> "Engine":
    """The database of runs, with its tables. Raises: ClawftError."""
    from clawft.jobs.database import make_url, open_engine

    return open_engine(make_url(app.own_config.runs, app.workspace.user_dir, app.environ))


@asynccontextmanager
async def open_worker(
    app: App,
    plan: "WorkerPlan",
    tell: Callable[[str], None],
    warn: Callable[[ClawftError], None],
    fired: "Callable[[FiredJob], None] | None" = None,
    database: "Engine | None" = None,
) -> "AsyncIterator[RunWorker]":
    """A worker for the runs of the user, ready to work; `fired` hears of jobs that were due. Raises: ClawftError."""
    from clawft.jobs.postgres_records import SharedRecords
    from clawft.jobs.scan_task import ScanTask
    from clawft.jobs.worker import RunWorker

    if database is None:
        database = await to_thread.run_sync(open_database, app)
    url = database.url
    is_shared = url.get_backend_name() == "postgresql"
    runtimes = RunRuntimes(app.environ, lambda: SharedRecords(url) if is_shared else open_usage(app, patient=True))
    scans = ScanTask(app.scan_dir)
    try:
        worker = RunWorker(database, plan, runtimes.open, {"scan": scans}, tell, warn)
        worker.chores.append(_look_for_jobs(app, worker, plan, fired or partial(_tell_fired, tell)))
        _watch(app, worker)
        try:
            yield worker
        finally:
            await to_thread.run_sync(worker.observer.close)
    finally:
        await to_thread.run_sync(scans.close)
        await runtimes.close()
        database.dispose()


def open_gateway(app: App) -> DetachedHooks:
    """Open the hooks that are called when a worker starts and stops: the user's, and those of the folder it
    started in."""
    return DetachedHooks(open_hooks(app, app.open_sandbox()), app.secrets, app.workspace.project)


def _watch(app: App, worker: "RunWorker") -> None:
    """Have what a worker does told to a collector, where the user names one."""
    url = app.own_config.runs.telemetry
    if url:
        from clawft.jobs.telemetry import open_telemetry

        worker.observer = open_telemetry(url, worker, app.environ)


def _look_for_jobs(app: App, worker: "RunWorker", plan: "WorkerPlan", fired: "Callable[[FiredJob], None]") -> "Chore":
    """Make the periodic check with which a worker starts the jobs that are due on its queues."""
    from clawft.jobs.schedule.store import ScheduleStore

    jobs: ScheduleStore | None = None

    def look() -> "list[FiredJob]":
        nonlocal jobs
        if jobs is None:
            jobs = ScheduleStore(worker.store, find_zone(app.environ))
        return [] if worker.is_stopping else jobs.fire(worker.warn, plan.queues)

    async def tell_due() -> None:
        for job in await to_thread.run_sync(look):
            fired(job)

    return tell_due


def _tell_fired(tell: Callable[[str], None], fired: "FiredJob") -> None:
    if fired.claim.missed:
        tell(fired.claim.render_missed())
    if fired.run:
        tell(f"{fired.run}  is due  {fired.job.id}")


class RunRuntimes:
    """Opens what a run needs, in the environment of the worker; `share` gives what several machines count costs in."""

    def __init__(self, environ: Mapping[str, str], share: "Callable[[], UsageRecords | None]") -> None:
        self._environ = environ
        self._share = share
        self._open: dict[Hashable, SharedRuntime] = {}

    @asynccontextmanager
    async def open(self, request: RunRequest) -> AsyncIterator[Runtime]:
        """The runtime of a request's project. Raises: ClawftError."""
        app = await to_thread.run_sync(self._open_app, request)
        only = request.skill if request.only else ""
        own = (*sorted(request.trusted.items()), *sorted(request.settings.items()))
        key = (request.cwd, app.workspace.project, only, request.dirs, *own, *_stamps(app))
        held = self._open.get(key)
        if held is None:
            opening = open_runtime(app, only, self._share())
            held = self._open[key] = SharedRuntime(opening, lambda: self._open.pop(key, None))
        async with held.use() as runtime:
            yield runtime

    def _open_app(self, request: RunRequest) -> App:
        if not os.path.isdir(request.cwd):
            message = f"The folder {request.cwd}, which the run was asked for in, is not here"
            raise ClawftError("run-folder", message, hint="It was removed, or is on another machine")
        # Without a project of its own, that of the folder: not the one that the worker happens to be in.
        environ = {**self._environ, **request.settings, "CLAWFT_PROJECT": request.project}
        app = open_app(environ, request.cwd, request.dirs)
        app.run_trust.digests.update(request.trusted)
        return app

    async def close(self) -> None:
        for held in tuple(self._open.values()):
            await held.close()


def _stamps(app: App) -> tuple[object, ...]:
    """Return a fingerprint that changes when settings or approvals do."""
    paths = (*config_files(app.workspace), app.user_file("approvals.json"), app.user_file("grants.json"))
    found: list[object] = []
    for path in paths:
        try:
            status = os.stat(path)
            found.append((path, status.st_mtime_ns, status.st_size))
        except OSError:
            continue
    return tuple(found)
