"""`weft worker`: do runs of the background, here, until it is stopped."""

import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, ParamSpec, Protocol

import anyio
import click
from anyio import to_thread

from clawft.app.jobs import open_database, open_gateway, open_worker
from clawft.cli import restore_gc_thresholds
from clawft.cli.events import render_event
from clawft.cli.options import open_here
from clawft.cli.output import escape_unsafe, one_line, say, show_error
from clawft.errors import ClawftError
from clawft.files import encode_json, lock_file
from clawft.jobs import is_installed, missing
from clawft.jobs.run_state import now_text
from clawft.messages import Noticed

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from clawft.agent.turn_hooks import DetachedHooks
    from clawft.app.app import App
    from clawft.jobs.schedule.store import FiredJob
    from clawft.jobs.worker import Chore, RunWorker, WorkerPlan


P = ParamSpec("P")
# Opens something for as long as a worker works; what it gives is called when that is to stop.
ExtraWork = Callable[["RunWorker"], AbstractAsyncContextManager[Callable[[], None]]]
_AGAIN_S = (0.5, 1, 2, 5, 10)  # before a server that is away is tried again; from then on, the last one
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WorkerLog(Protocol):
    """Hears what happens: a line for a person, and what else a program would like to know of it."""

    def __call__(self, text: str, about: Mapping[str, object] | None = None) -> None: ...


def run_worker(
    queues: tuple[str, ...], concurrency: int | None, *, until_idle: bool, on_demand: bool, as_json: bool
) -> None:
    """Work until it is stopped, or idle. Raises: ClawftError."""
    if not is_installed():
        raise missing()
    app = open_here()
    plan = make_plan(app, queues, concurrency, idle=until_idle or on_demand, soon=until_idle)
    if on_demand and not _is_first(app, plan.queues):
        return
    restore_gc_thresholds()
    anyio.run(work_here, app, plan, make_worker_log("clawft.worker.v1" if as_json else ""))


def make_plan(
    app: "App", queues: tuple[str, ...] = (), concurrency: int | None = None, *, idle: bool = False, soon: bool = False
) -> "WorkerPlan":
    """Return the worker's plan; the settings apply where no argument is given."""
    from clawft.jobs.worker import WorkerPlan

    settings = app.own_config.runs
    return WorkerPlan(
        queues or (settings.queue,),
        concurrency or settings.concurrency,
        settings.lease_s,
        settings.poll_s,
        (0.5 if soon else settings.idle_s) if idle else None,
    )


def _is_first(app: "App", queues: tuple[str, ...]) -> bool:
    """Return whether this is the only worker that was started on demand; the lock is held until it ends."""
    folder = os.path.join(app.workspace.user_dir, "runs")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{queues[0]}.worker")
    return lock_file(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def make_worker_log(schema: str) -> WorkerLog:
    """Says what happens: for programs on stdout, where a schema is named; for people on stderr."""
    is_seen = sys.stderr is not None and sys.stderr.isatty()
    stamp = "%H:%M:%S" if is_seen else "%Y-%m-%d %H:%M:%S"  # a log is read days later

    def tell(text: str, about: Mapping[str, object] | None = None) -> None:
        if schema:
            line = {"schema": schema, "at": now_text(), "text": text, **(about or {})}
            click.echo(escape_unsafe(encode_json(line).decode()))
        else:
            say(f"{datetime.now().strftime(stamp)}  {one_line(text)}")

    return _unheard(tell)


def _unheard(speak: Callable[P, None]) -> Callable[P, None]:
    """Wrap a print function so that the work goes on after its reader has closed the stream."""

    def murmur(*arguments: P.args, **named: P.kwargs) -> None:
        try:
            speak(*arguments, **named)
        except OSError:
            _mute()

    return murmur


def _mute() -> None:
    """Have what nobody reads any more go nowhere; others write there too, and may not expect that it fails."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


async def work_here(
    app: "App",
    plan: "WorkerPlan",
    tell: Callable[[str], None],
    fired: "Callable[[FiredJob], None] | None" = None,
    *chores: "Chore",
    open_extra: ExtraWork | None = None,
) -> int:
    """Be a worker until it is stopped, or idle for long enough: the signal that stopped it, or 0. Raises: ClawftError.

    `fired` hears of jobs that were due; `chores` are done beside it every so often; `beside` is open until it is done.
    """
    caught: list[int] = []
    failed: ClawftError | None = None
    handled = [
        signum for signum in _SIGNALS if signal.getsignal(signum) != signal.SIG_IGN
    ]  # `nohup` wants some ignored
    tell = _unheard(tell)
    database = await _wait_for_database(app, handled, caught, tell)
    if database is None:
        tell("stopped")
        return caught[0]
    async with open_worker(app, plan, tell, _unheard(show_error), fired, database) as worker:
        worker.chores += chores
        gateway = open_gateway(app)
        # Beside the work, which waits for no hook; none takes longer than it may.
        async with anyio.create_task_group() as starting:
            starting.start_soon(_tell_hooks, gateway, "gateway:startup", {"reason": "start"}, tell)
            with anyio.open_signal_receiver(*handled) as signals:
                tell(f"worker {worker.id} takes from {', '.join(plan.queues)}, {plan.concurrency} at a time")
                try:
                    async with open_extra(worker) if open_extra else nullcontext(_nothing) as halt:
                        failed = await _work(worker, signals, caught, tell, halt)
                except ClawftError as error:
                    failed = failed or error
        reason = "error" if failed else signal.Signals(caught[0]).name if caught else "idle"
        await _tell_hooks(gateway, "gateway:shutdown", {"reason": reason}, tell)
        if failed is not None:
            raise failed
        tell("stopped")
    return caught[0] if caught else 0


async def _wait_for_database(
    app: "App", handled: Sequence[signal.Signals], caught: list[int], tell: Callable[[str], None]
) -> "Engine | None":
    """The database of runs, as soon as its server is there; None if a signal came first. Raises: ClawftError."""
    opened: list[Engine] = []
    failed: ClawftError | None = None
    with anyio.open_signal_receiver(*handled) as signals:
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                async for number in signals:
                    caught.append(number)
                    group.cancel_scope.cancel()

            group.start_soon(listen)
            try:
                opened.append(await _open_patiently(app, tell))
            except ClawftError as error:
                failed = error  # a group would hide it among others
            group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return opened[0] if opened else None


async def _open_patiently(app: "App", tell: Callable[[str], None]) -> "Engine":
    """Open the database of runs; a server that is away is waited for, one that refuses is not. Raises: ClawftError."""
    from clawft.jobs.database import is_unreachable

    for tries in itertools.count():
        try:
            database = await to_thread.run_sync(open_database, app, abandon_on_cancel=True)
        except ClawftError as error:
            if not is_unreachable(error):
                raise
            if not tries:
                tell(f"{error}. Waiting for it")
            await anyio.sleep(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)])
        else:
            if tries:
                tell("The database of runs is back")
            break
    return database


async def _work(
    worker: "RunWorker",
    signals: AsyncIterator[signal.Signals],
    caught: list[int],
    tell: Callable[[str], None],
    halt: Callable[[], None],
) -> ClawftError | None:
    """Work, and listen to signals meanwhile; what went wrong comes back, which a group would hide among others."""
    failed: ClawftError | None = None
    async with anyio.create_task_group() as group:

        async def listen() -> None:
            async for number in signals:
                caught.append(number)
                tell("stopping: what is being done comes to its end; once more cuts it short")
                halt()
                worker.stop()

        group.start_soon(listen)
        try:
            await worker.run()
        except ClawftError as error:
            failed = error
        group.cancel_scope.cancel()
    return failed


def _nothing() -> None:
    pass


async def _tell_hooks(gateway: "DetachedHooks", key: str, context: dict[str, str], tell: Callable[[str], None]) -> None:
    """Tell hooks what the worker does, and what they say in its log. Nothing that goes wrong with them stops it."""
    try:
        if not await to_thread.run_sync(gateway.hooks.wants, key):  # it may read much, and the work goes on
            return
        for event in await gateway.tell(key, context):
            tell(f"{event.code}: {event.message}" if isinstance(event, Noticed) else render_event(event))
    except Exception as error:  # no hook keeps a worker from starting, or from ending
        tell(f"hooks of {key} could not be called: {error}")
