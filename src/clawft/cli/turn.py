"""One turn from the command line: run here and shown, or started as a background run."""

import asyncio
import os
import signal

import anyio
import click
from msgspec import json

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.agent.runtime import Conversation
from clawft.agent.turn_hooks import DetachedHooks
from clawft.app.app import App
from clawft.app.jobs import complete_request, open_app_runs
from clawft.cli.events import JsonLines, TurnApprover, TurnPrinter, show_events
from clawft.cli.options import TurnOptions
from clawft.cli.output import say, show_diagnostics, show_error
from clawft.errors import ClawftError
from clawft.messages import Event, TurnFailed, TurnFinished
from clawft.trust.modes import get_mode


def start_in_background(app: App, options: TurnOptions, turn: TurnRequest, dirs: tuple[str, ...] = ()) -> int:
    """Start a run, and say how it can be followed. Raises: ClawftError."""
    request = make_request(app, options, turn, dirs)
    runs = open_app_runs(app)
    trouble: ClawftError | None = None
    started = False
    try:
        run = runs.start(request, queue=options.queue)
        try:
            started = runs.ensure_worker(options.queue)
        except ClawftError as error:  # it is queued all the same, so its id must be known
            trouble = error
    finally:
        runs.close()
    click.echo(json.encode({"run": run}).decode() if options.output == "json" else run)
    if trouble is not None:
        show_error(trouble)
    elif options.output != "json":
        say(f"It goes on in the background, also when this terminal closes{', with a worker of its own' * started}.")
        say(f"Follow it: weft runs watch {run}")
    return 0


def make_request(app: App, options: TurnOptions, turn: TurnRequest, dirs: tuple[str, ...] = ()) -> RunRequest:
    """A turn as a run that any worker can do. Raises: ClawftError."""
    return complete_request(
        app,
        RunRequest(
            kind="skill" if turn.skill else "agent",
            cwd=app.workspace.cwd,
            text=turn.text,
            skill=turn.skill,
            words=turn.words,
            only=bool(dirs),
            dirs=tuple(os.path.abspath(folder) for folder in dirs),
            agent=options.agent,
            model=options.model,
            mode=options.mode,
            session=options.session,
            yes=options.yes,
        ),
    )


_SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is the event loop's own


def run_turn_in_terminal(app: App, options: TurnOptions, request: TurnRequest, *, only: str = "") -> int:
    """Run a turn and show it; the exit code of the command. `only` is the one skill there is. Raises: ClawftError."""
    printer = JsonLines() if options.output == "json" else TurnPrinter()
    approver = TurnApprover(printer, yes=options.yes)
    caught: list[int] = []

    async def run() -> Event | None:
        _end_by_signal(caught)
        return await _run(app, options, request, approver, only, caught)

    try:
        last = anyio.run(run)
    except asyncio.CancelledError:
        if not caught:
            raise
        return 128 + caught[0]
    if isinstance(last, TurnFailed):
        return last.exit_code
    if approver.unanswered:
        return 3
    return int(isinstance(last, TurnFinished) and last.stop == "max_iterations")  # that is no answer


def _end_by_signal(caught: list[int]) -> None:
    """Let a signal end the turn in order: what it started would otherwise live on."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # anyio runs one

    def end(number: int) -> None:
        caught.append(number)
        task.cancel()

    for signum in _SIGNALS:
        if signal.getsignal(signum) != signal.SIG_IGN:  # `nohup` wants some ignored
            loop.add_signal_handler(signum, end, signum)


async def _run(
    app: App, options: TurnOptions, request: TurnRequest, approver: TurnApprover, only: str, caught: list[int]
) -> Event | None:
    agent = app.choose_agent(options.agent)
    show_diagnostics(app.check_agent(agent, options.agent), app.workspace.shorten)
    async with (
        app.open_runtime(only) as runtime,
        open_conversation(runtime, agent, key=options.session, approve=approver) as conversation,
    ):
        conversation.reason_if_left = "interrupted, by Ctrl-C or a signal"
        if options.mode:
            conversation.set_mode(get_mode(options.mode), "--mode")
        key, is_new = conversation.session.key, conversation.session.next_turn == 1
        try:
            return await show_events(run_turn(conversation, request), approver.printer, approver)
        except asyncio.CancelledError:
            approver.printer.note("interrupted; what came so far is kept")
            if not caught:  # by the person, with Ctrl-C; once more ends it at once
                with anyio.CancelScope(shield=True):
                    await _tell_stopped(conversation, approver)
            raise
        finally:
            began = conversation.session.next_turn > 1
            if options.output == "text" and began and (is_new or not options.session):
                say(f"session: {key}" + (" (new)" if options.session else ""))


async def _tell_stopped(conversation: Conversation, approver: TurnApprover) -> None:
    """Hooks hear that the person stopped the turn; no longer than each may take."""
    runtime, session = conversation.runtime, conversation.session
    outside = DetachedHooks(
        runtime.hooks, runtime.secrets, runtime.workspace.project, session.key, conversation.agent.name
    )
    for event in await outside.tell_command("stop", session.path):
        approver.printer.show(event)
