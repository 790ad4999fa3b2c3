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

from clawft.app import App, open_app
from clawft.config.load import config_files
from clawft.config.runs import RunsSettings, own_runs
from clawft.cron import find_zone, name_zone
from clawft.cron.file import file_path
from clawft.errors import ClawftError
from clawft.hooking import open_hooks
from clawft.reloading.runtimes import SharedRuntime
from clawft.run import Runtime
from clawft.run.durable import open_runs
from clawft.run.durable.request import RunRequest, settings_of
from clawft.run.hooks import Outside
from clawft.sessions import encode_key
from clawft.wiring import open_runtime, open_usage

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from clawft.run.database import Records
    from clawft.run.durable.jobs import Fired, Jobs
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Question
    from clawft.run.durable.worker import Chore, Plan, RunWorker

__all__ = [
    "Runtimes",
    "complete_request",
    "open_app_runs",
    "open_database",
    "open_gateway",
    "open_worker",
    "run_settings",
    "start_run",
    "take_over_jobs",
]


def run_settings(app: App) -> RunsSettings:
    """How runs are kept and done, which only the user says: a project's config has no part in it."""
    return own_runs(app.config, app.workspace.user_dir, app.environ)


def open_app_runs(app: App) -> "Runs":
    """The runs of the user. Raises: ClawftError, `durable-missing` without the extra."""
    runs = open_runs(run_settings(app), app.workspace.user_dir, app.environ)

    def note_withdrawn(question: "Question", session: str) -> None:
        event = question.event
        detail = {"tool": event.tool, "grave": event.grave, "call": event.call, "run": question.run}
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
    """The strangers' skills that were approved for this run, as they are now."""
    if app.run_trust.project:
        for standing in app.skills:  # the first look at each binds it
            app.strangers.object_to_use(standing.found)
    return dict(app.run_trust.digests)


async def start_run(app: App, request: RunRequest) -> str:
    """Start a run, and see that somebody does it. Raises: ClawftError."""

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
    from clawft.run.durable.database import make_url, open_engine

    return open_engine(make_url(run_settings(app), app.workspace.user_dir, app.environ))


@asynccontextmanager
async def open_worker(
    app: App,
    plan: "Plan",
    tell: Callable[[str], None],
    warn: Callable[[ClawftError], None],
    fired: "Callable[[Fired], None] | None" = None,
    database: "Engine | None" = None,
) -> "AsyncIterator[RunWorker]":
    """A worker for the runs of the user, ready to work; `fired` hears of jobs that were due. Raises: ClawftError."""
    from clawft.run.durable.scanning import ScanTask
    from clawft.run.durable.shared import SharedRecords
    from clawft.run.durable.worker import RunWorker

    if database is None:
        database = await to_thread.run_sync(open_database, app)
    url = database.url
    is_shared = url.get_backend_name() == "postgresql"
    runtimes = Runtimes(app.environ, lambda: SharedRecords(url) if is_shared else open_usage(app, patient=True))
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


def open_gateway(app: App) -> Outside:
    """What tells hooks that a worker starts and stops: those of the user, and of the folder it was started in."""
    return Outside(open_hooks(app, app.open_sandbox()), app.secrets, app.workspace.project)


def _watch(app: App, worker: "RunWorker") -> None:
    """Have what a worker does told to a collector, where the user names one."""
    url = run_settings(app).telemetry
    if url:
        from clawft.run.durable.telemetry import open_telemetry

        worker.observer = open_telemetry(url, worker, app.environ)


def take_over_jobs(app: App, jobs: "Jobs") -> None:
    """Take in the jobs of the file that earlier versions kept them in. Raises: ClawftError."""
    user_dir = app.workspace.user_dir
    if os.path.lexists(file_path(user_dir)):
        jobs.take_over(user_dir, name_zone(app.environ), run_settings(app).queue)


def _look_for_jobs(app: App, worker: "RunWorker", plan: "Plan", fired: "Callable[[Fired], None]") -> "Chore":
    """What a worker does every so often, so that what is due on its queues is started."""
    from clawft.run.durable.jobs import Jobs

    jobs: Jobs | None = None

    def look() -> "list[Fired]":
        nonlocal jobs
        if jobs is None:
            jobs = Jobs(worker.store, find_zone(app.environ))
            take_over_jobs(app, jobs)  # of a file that is looked at once
        return [] if worker.is_stopping else jobs.fire(worker.warn, plan.queues)

    async def tell_due() -> None:
        for one in await to_thread.run_sync(look):
            fired(one)

    return tell_due


def _tell_fired(tell: Callable[[str], None], fired: "Fired") -> None:
    if fired.claim.missed:
        tell(fired.claim.describe_missed())
    if fired.run:
        tell(f"{fired.run}  is due  {fired.job.id}")


class Runtimes:
    """Opens what a run needs, in the environment of the worker; `share` gives what several machines count costs in."""

    def __init__(self, environ: Mapping[str, str], share: "Callable[[], Records | None]") -> None:
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
    """What changes when settings or approvals do."""
    paths = (*config_files(app.workspace), app.user_file("approvals.json"), app.user_file("grants.json"))
    found: list[object] = []
    for path in paths:
        try:
            status = os.stat(path)
            found.append((path, status.st_mtime_ns, status.st_size))
        except OSError:
            continue
    return tuple(found)
