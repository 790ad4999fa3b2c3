"""The REPL: read a line, run a command or a turn, show the result, again."""

import asyncio
import math
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input, create_input
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.output.vt100 import Vt100_Output

from clawft.app.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import one_line
from clawft.cli.repl.command import current_mode
from clawft.cli.repl.commands import COMMANDS, find_command
from clawft.cli.repl.completion import ReplCompleter
from clawft.cli.repl.context import ReplContext
from clawft.cli.repl.screen import Screen
from clawft.cli.repl.skill_approval import ask_skill_approval, ask_skill_variables, find_unapproved_skills
from clawft.errors import ClawftError, find_close

if TYPE_CHECKING:
    from clawft.agent.run_request import TurnRequest


def open_repl(app: App, options: TurnOptions, source: Input, screen: Screen, output: Output) -> ReplContext:
    """A REPL that completes commands, skills and files."""
    return ReplContext(app, options, source, screen, output, ReplCompleter)


async def run_loop(repl: ReplContext) -> int:
    """Until the person leaves; the exit code."""
    with repl.reader.raw_mode():
        _greet(repl)
        noticing = [asyncio.create_task(watcher) for watcher in (_notice(repl), _notice_skills(repl))]
        try:
            while not repl.leaving:
                _say_notices(repl)
                await _once(repl)
        finally:
            for task in noticing:
                task.cancel()
            await asyncio.wait(noticing)
            await repl.close()
            if repl.key in repl.app.sessions:  # a session in which nothing was said leaves nothing to go on with
                repl.screen.print(f"To go on with this: weft agent --session {repl.key}   (or --continue)")
    return 0


async def _notice(repl: ReplContext) -> None:
    """Print notices about background runs while nothing else is on the screen."""
    while True:
        await repl.notices.wait(repl.app)
        with suppress(Exception):  # a word on the side must not take the conversation with it
            if await repl.notices.look(repl.app) and repl.work is None:
                await repl.reader.print_above(partial(_say_notices, repl))


async def _notice_skills(repl: ReplContext) -> None:
    """Print notices about skills that were added, changed or removed on disk, while nothing else is on the
    screen."""
    tasks: set[asyncio.Task[None]] = set()

    def tell() -> None:
        if repl.work is None:
            task = asyncio.create_task(repl.reader.print_above(partial(_say_notices, repl)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    with suppress(Exception):
        await repl.skill_notices.follow(repl.app, tell)


def _say_notices(repl: ReplContext) -> None:
    width = repl.screen.width - 1
    for line in (*repl.notices.take(width), *repl.skill_notices.take(width)):
        repl.screen.print(repl.screen.style(line, "dim"))


async def _once(repl: ReplContext) -> None:
    try:
        line = (await repl.reader.read()).rstrip()
    except EOFError:
        repl.leaving = True
    except KeyboardInterrupt:
        if repl.is_interrupted:
            repl.leaving = True
        else:
            repl.screen.print("Ctrl-C again leaves")
            repl.interrupted_at = time.monotonic()
    else:
        repl.interrupted_at = -math.inf
        if line:
            await handle(repl, line)


async def handle(repl: ReplContext, line: str) -> None:
    """Handle one line: a command, a skill, or a message. Errors are printed, and the prompt comes back."""
    actions = {Keys.ControlC: repl.stop, Keys.ControlO: repl.display.unfold}
    work = repl.work = asyncio.create_task(_handle(repl, line))
    try:
        with repl.reader.keys.watching(actions, repl.hang_up):
            await asyncio.wait({work})
    finally:
        repl.work = None
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
    if work.cancelled():
        repl.screen.print("stopped")
    else:
        work.result()


async def _handle(repl: ReplContext, line: str) -> None:
    try:
        request = await _read_request(repl, line)
        if request is not None:
            await repl.run_turn(request)
    except ClawftError as error:
        repl.show_error(error)
    except (EOFError, KeyboardInterrupt):  # at a question of a command
        repl.screen.print("stopped")
    except Exception as error:  # a bug must not take the conversation with it
        repl.show_error(await _to_error(repl, error))


async def _to_error(repl: ReplContext, error: Exception) -> ClawftError:
    path = ""
    with suppress(Exception):  # what turns need may be what is broken
        from clawft.agent.loop import save_trace

        path = save_trace(await repl.runtime(), "".join(traceback.format_exception(error)))
    message = f"Something went wrong inside: {type(error).__name__}: {error}"
    return ClawftError("internal", message, hint=f"The details are in {path}" if path else "")


async def _read_request(repl: ReplContext, line: str) -> "TurnRequest | None":
    from clawft.cli.repl.message import AS_IS, expand_pastes, list_startable, split_command

    command = split_command(line)
    if command is None:
        return _make_request(repl, line.strip().removeprefix(AS_IS))
    name, rest = command
    if not name:
        repl.screen.print("Type the name of a command or a skill after the /. /help lists the commands")
        return None
    known = find_command(name)
    if known is not None:
        return await known.run(repl, expand_pastes(rest, repl.reader.pastes))
    names = list_startable(repl.app)
    if name not in names and await _ask_trust(repl, name):
        names.add(name)
    if name in names:
        request = _invoke(repl, expand_pastes(line, repl.reader.pastes), names)
        await ask_skill_variables(repl, (request.skill, *request.more_skills))
        return request
    state = next((skill.state for skill in repl.app.skills if skill.name == name), "")
    if state in ("blocked", "broken", "disabled"):
        repl.screen.print(one_line(f"The skill {name} is {state}, so nobody can start it. See: /why {name}"))
    if state in ("blocked", "broken", "disabled", "untrusted"):  # of the last, the person just said so
        return None
    close = find_close(name, (*names, *(command.name for command in COMMANDS)))
    hint = f" Did you mean /{close}?" if close else ""
    repl.screen.print(f"Unknown command: /{one_line(name)}. Type /help for available commands.{hint}")
    if "/" in name:
        repl.screen.print(f"Nothing was sent. To send it to the model, begin with a blank, or with '{AS_IS}'")
    return None


async def _ask_trust(repl: ReplContext, name: str) -> bool:
    """Return whether the user who starts an untrusted skill approves it. Raises: ClawftError."""
    from clawft.cli.repl.message import list_startable

    if not find_unapproved_skills(repl, name):
        return False
    repl.app.refresh()  # it may have been approved elsewhere meanwhile
    waiting = find_unapproved_skills(repl, name)
    return await ask_skill_approval(repl, waiting[0]) if waiting else name in list_startable(repl.app)


def _invoke(repl: ReplContext, line: str, names: set[str]) -> "TurnRequest":
    """A skill, or several stacked at the start of a message."""
    from clawft.agent.run_request import TurnRequest
    from clawft.cli.repl.message import stack_skills

    stacked, rest = stack_skills(line, names)
    return TurnRequest(rest, model=repl.model, skill=stacked[0], more_skills=stacked[1:])


def _make_request(repl: ReplContext, line: str) -> "TurnRequest":
    from clawft.agent.run_request import TurnRequest
    from clawft.cli.repl.message import attach_files, expand_pastes

    attached = attach_files(line, repl.app.workspace)
    for note in attached.notes:
        repl.screen.print(repl.screen.style(f"· attached {one_line(note)}", "dim"))
    for problem in attached.problems:
        repl.screen.print(f"{repl.screen.style('warning', 'yellow')}: {one_line(problem)}")
    text = expand_pastes(attached.text, repl.reader.pastes)
    return TurnRequest(text, images=attached.images, model=repl.model)


def _greet(repl: ReplContext) -> None:
    model = repl.model or repl.agent.model or repl.app.config.agents.defaults.model
    parts = [repl.screen.style("weft", "bold"), one_line(model), one_line(repl.agent.name), "/help"]
    mode = current_mode(repl)
    parts += [f"mode {mode}"] if mode != "auto-edit" else []
    new = "" if not repl.key or repl.key in repl.app.sessions else " (new)"
    repl.screen.print(" · ".join([*parts, *([f"session {one_line(repl.key)}{new}"] if repl.key else [])]))
    if model == "offline" and not repl.model:
        repl.screen.print("No model is set: skills run, but nothing answers in words. Run: weft onboard")
    for diagnostic in repl.app.check_agent(repl.agent, repl.agent.name):
        repl.show_diagnostic(diagnostic, repl.app.workspace.shorten(diagnostic.path))


_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_repl(app: App, options: TurnOptions, *, plain: bool) -> int:
    """Talk until the person leaves; the exit code. Raises: ClawftError."""
    if app.is_first_scan():
        len(app.skills)  # while progress can be shown; later it happens behind the prompt
    app.tell_scan = None
    dumb = app.environ.get("TERM", "dumb") in ("dumb", "unknown")
    output = PlainTextOutput(sys.stdout) if dumb else _full_output()
    screen = Screen(output, plain=plain or dumb, colour=not app.environ.get("NO_COLOR"))
    repl = open_repl(app, options, create_input(), screen, output)
    repl.reader.on_shown = lambda: threading.Thread(target=load_ahead, args=(app,)).start()
    caught: list[int] = []

    async def run() -> int:
        _handle_signals(repl, caught)
        return await run_loop(repl)

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


def _handle_signals(repl: ReplContext, caught: list[int]) -> None:
    """Let signals end it in order: what it started would otherwise live on."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # asyncio runs one

    def end(number: int) -> None:
        caught.append(number)
        task.cancel()

    for signum in _ENDING:
        if signal.getsignal(signum) != signal.SIG_IGN:  # `nohup` wants some ignored
            loop.add_signal_handler(signum, end, signum)
    loop.add_signal_handler(signal.SIGINT, repl.stop)


def load_ahead(app: App) -> None:
    """Load what the first message needs while the user is typing it."""
    len(app.skills)
