"""The REPL on this process's terminal: signals, and what is loaded while the person thinks."""

import asyncio
import signal
import sys
import threading

from prompt_toolkit.input import create_input
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from clawft.app import App
from clawft.cli.options import TurnOptions
from clawft.repl.repl import Repl
from clawft.repl.screen import Screen

__all__ = ["load_ahead", "run_repl"]

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_repl(app: App, options: TurnOptions, *, plain: bool) -> int:
    """Talk until the person leaves; the exit code. Raises: ClawftError."""
    if app.is_first_scan():
        len(app.skills)  # while progress can be shown; later it happens behind the prompt
    app.tell_scan = None
    dumb = app.environ.get("TERM", "dumb") in ("dumb", "unknown")
    output = _plain_output() if dumb else _full_output()
    screen = Screen(output, plain=plain or dumb, colour=not app.environ.get("NO_COLOR"))
    repl = Repl(app, options, create_input(), screen, output)
    repl.reader.on_shown = lambda: threading.Thread(target=load_ahead, args=(app,)).start()
    caught: list[int] = []

    async def run() -> int:
        _handle_signals(repl, caught)
        return await repl.run()

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        if not caught:
            raise
        return 128 + caught[0]


def _full_output() -> Output:
    output = create_output()
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # one that does not tell where its cursor is would be scolded for it
    return output


def _plain_output() -> Output:
    from prompt_toolkit.output.plain_text import PlainTextOutput

    return PlainTextOutput(sys.stdout)


def _handle_signals(repl: Repl, caught: list[int]) -> None:
    """Let signals end it in order: what it started would otherwise live on."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # asyncio runs one

    def end(number: int) -> None:
        caught.append(number)
        task.cancel()

    for one in _ENDING:
        if signal.getsignal(one) != signal.SIG_IGN:  # `nohup` wants some ignored
            loop.add_signal_handler(one, end, one)
    loop.add_signal_handler(signal.SIGINT, repl.stop)


def load_ahead(app: App) -> None:
    """What the first message needs, while it is being typed."""
    import clawft.mcp
    import clawft.memory
    import clawft.providers.client
    import clawft.repl.approve
    import clawft.repl.view
    import clawft.run
    import clawft.sessions
    import clawft.tools.build  # noqa: F401

    len(app.skills)
