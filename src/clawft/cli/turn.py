"""One turn from the command line, and the exit code it ends with. Loads all that turns need."""

import asyncio
import signal

import anyio

from clawft.app import App
from clawft.cli.events import Approver, JsonLines, Printer, show_events
from clawft.cli.options import TurnOptions
from clawft.cli.output import say, show_diagnostic
from clawft.messages import Event, TurnFailed, TurnFinished
from clawft.run import Conversation, TurnRequest
from clawft.run.hooks import Outside
from clawft.trust.modes import get_mode

__all__ = ["run_turn_here"]

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is the event loop's own


def run_turn_here(app: App, options: TurnOptions, request: TurnRequest, *, only: str = "") -> int:
    """Run a turn and show it; the exit code of the command. `only` is the one skill there is. Raises: ClawftError."""
    printer = JsonLines() if options.output == "json" else Printer()
    approver = Approver(printer, yes=options.yes)
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

    for one in _SIGNALS:
        if signal.getsignal(one) != signal.SIG_IGN:  # `nohup` wants some ignored
            loop.add_signal_handler(one, end, one)


async def _run(
    app: App, options: TurnOptions, request: TurnRequest, approver: Approver, only: str, caught: list[int]
) -> Event | None:
    agent = app.choose_agent(options.agent)
    for one in app.check_agent(options.agent):
        show_diagnostic(one, where=app.workspace.shorten(one.path))
    async with (
        app.open_runtime(only) as runtime,
        runtime.open_conversation(agent, key=options.session, approve=approver) as conversation,
    ):
        conversation.reason_if_left = "interrupted, by Ctrl-C or a signal"
        if options.mode:
            conversation.set_mode(get_mode(options.mode), "--mode")
        key, is_new = conversation.session.key, conversation.session.next_turn == 1
        try:
            return await show_events(conversation.run(request), approver.printer, approver)
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


async def _tell_stopped(conversation: Conversation, approver: Approver) -> None:
    """Hooks hear that the person stopped the turn; no longer than each may take."""
    runtime, session = conversation.runtime, conversation.session
    outside = Outside(runtime.hooks, runtime.secrets, runtime.workspace.project, session.key, conversation.agent.name)
    for event in await outside.tell_command("stop", session.path):
        approver.printer.show(event)
