"""The REPL: read a line, run a command or a turn, show the result, again."""

import asyncio
import math
import signal
import sys
import threading
import time
import traceback
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from prompt_toolkit.input import Input, create_input
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from clawft.app.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import one_line
from clawft.cli.repl.command import find_command, run_command_hooks, split_command
from clawft.cli.repl.commands import COMMANDS
from clawft.cli.repl.commands.agent import current_mode
from clawft.cli.repl.commands.skills import ask_skill_approval, find_unapproved_skills
from clawft.cli.repl.completion import ReplCompleter
from clawft.cli.repl.notices import RunNotices, SkillNotices
from clawft.cli.repl.reader import PromptReader, open_history
from clawft.cli.repl.screen import Screen
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.skills.parse.model import Agent

if TYPE_CHECKING:
    from clawft.agent.run_request import TurnRequest
    from clawft.agent.runtime import Conversation, Runtime
    from clawft.cli.repl.view import TurnView


T = TypeVar("T")


class TaskContext(Generic[T]):
    """One context, from `open` to `close`."""

    def __init__(self, context: AbstractAsyncContextManager[T]) -> None:
        self._context = context
        self._end = asyncio.Event()
        self._ready: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    async def open(self) -> T:
        """Return the value of the context, which is left again if the wait is cancelled. Raises: what the context
        raises."""
        try:
            return await asyncio.shield(self._ready)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise

    async def close(self) -> None:
        """Leave the context. Raises: what the context raises on leaving."""
        self._end.set()
        await self._task

    async def _hold(self) -> None:
        try:
            async with self._context as value:
                self._ready.set_result(value)
                await self._end.wait()
        except Exception as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)
        finally:
            self._ready.cancel()


AGAIN_S = 3.0  # within this time a second Ctrl-C leaves


class Repl:
    """One person, one terminal, one conversation at a time."""

    def __init__(self, app: App, options: TurnOptions, source: Input, screen: Screen, output: Output) -> None:
        self.app = app
        self.screen = screen
        self.agent: Agent = app.choose_agent(options.agent)
        self.model = options.model
        self.key = options.session
        self.mode = self._first_mode = options.mode  # '' is what the config says
        self.leaving = False
        self.notices = RunNotices()
        self.skill_notices = SkillNotices()
        self.declined: set[tuple[str, str]] = set()  # variables of skills that the person did not want to give
        self.reader = PromptReader(
            source, output, screen, history=open_history(app.workspace), completer=ReplCompleter(self)
        )
        self.reader.on_unfold = lambda: self.view.unfold()
        self._yes = options.yes
        self._interrupted_at = -math.inf  # when Ctrl-C was last pressed, if nothing was typed since
        self._work: asyncio.Task[None] | None = None  # the line that is being worked on
        self._turn: Conversation | None = None  # the one whose turn runs
        self._is_stopped = False  # the person ended that turn
        self._held_runtime: TaskContext[Runtime] | None = None
        self._held_conversation: TaskContext[Conversation] | None = None
        self._conversation: Conversation | None = None
        self._view: TurnView | None = None

    async def run(self) -> int:
        """Until the person leaves; the exit code."""
        with self.reader.raw_mode():
            self._greet()
            noticing = [asyncio.create_task(watcher) for watcher in (self._notice(), self._notice_skills())]
            try:
                while not self.leaving:
                    self._say_notices()
                    await self._once()
            finally:
                for task in noticing:
                    task.cancel()
                await asyncio.wait(noticing)
                await self._close()
                if self.key in self.app.sessions:  # a session in which nothing was said leaves nothing to go on with
                    self.screen.print(f"To go on with this: weft agent --session {self.key}   (or --continue)")
        return 0

    async def _notice(self) -> None:
        """Print notices about background runs while nothing else is on the screen."""
        while True:
            await self.notices.wait(self.app)
            with suppress(Exception):  # a word on the side must not take the conversation with it
                if await self.notices.look(self.app) and self._work is None:
                    await self.reader.print_above(self._say_notices)

    async def _notice_skills(self) -> None:
        """Print notices about skills that were added, changed or removed on disk, while nothing else is on the
        screen."""
        tasks: set[asyncio.Task[None]] = set()

        def tell() -> None:
            if self._work is None:
                task = asyncio.create_task(self.reader.print_above(self._say_notices))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        with suppress(Exception):
            await self.skill_notices.follow(self.app, tell)

    def _say_notices(self) -> None:
        width = self.screen.width - 1
        for line in (*self.notices.take(width), *self.skill_notices.take(width)):
            self.screen.print(self.screen.style(line, "dim"))

    async def _once(self) -> None:
        try:
            line = (await self.reader.read()).strip()
        except EOFError:
            self.leaving = True
        except KeyboardInterrupt:
            if self._interrupted:
                self.leaving = True
            else:
                self.screen.print("Ctrl-C again leaves")
                self._interrupted_at = time.monotonic()
        else:
            self._interrupted_at = -math.inf
            if line:
                await self.handle(line)

    async def handle(self, line: str) -> None:
        """Handle one line: a command, a skill, or a message. Errors are printed, and the prompt comes back."""
        actions = {Keys.ControlC: self.stop, Keys.ControlO: self.view.unfold}
        work = self._work = asyncio.create_task(self._handle(line))
        try:
            with self.reader.keys.watching(actions, self.hang_up):
                await asyncio.wait({work})
        finally:
            self._work = None
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        if work.cancelled():
            self.screen.print("stopped")
        else:
            work.result()

    async def _handle(self, line: str) -> None:
        try:
            request = await self._read_request(line)
            if request is not None:
                await self.run_turn(request)
        except ClawftError as error:
            self.show_error(error)
        except (EOFError, KeyboardInterrupt):  # at a question of a command
            self.screen.print("stopped")
        except Exception as error:  # a bug must not take the conversation with it
            self.show_error(await self._to_error(error))

    async def _to_error(self, error: Exception) -> ClawftError:
        path = ""
        with suppress(Exception):  # what turns need may be what is broken
            from clawft.agent.loop import save_trace

            path = save_trace(await self.runtime(), "".join(traceback.format_exception(error)))
        message = f"Something went wrong inside: {type(error).__name__}: {error}"
        return ClawftError("internal", message, hint=f"The details are in {path}" if path else "")

    @property
    def _interrupted(self) -> bool:
        """Return whether Ctrl-C was pressed a moment ago: a second one then leaves."""
        return time.monotonic() - self._interrupted_at < AGAIN_S

    def stop(self) -> None:
        """Ctrl-C while something runs: the turn ends, or the command. A second time the person leaves."""
        if self._interrupted:
            self.leaving = True
        if self._turn is not None and not self._interrupted:
            self._turn.cancel("stopped by the person at the terminal")
            self._is_stopped = True
        elif self._work is not None:
            self._work.cancel()
        else:
            self.reader.interrupt()
            return
        self._interrupted_at = time.monotonic()

    def hang_up(self) -> None:
        """The terminal is gone."""
        self.leaving = True
        self.stop()

    async def _read_request(self, line: str) -> "TurnRequest | None":
        from clawft.cli.repl.message import expand_pastes

        command = split_command(line)
        if command is None:
            return self._make_request(line)
        name, rest = command
        if not name:
            self.screen.print("Type the name of a command or a skill after the /. /help lists the commands")
            return None
        known = find_command(name, COMMANDS)
        if known is not None:
            return await known.run(self, expand_pastes(rest, self.reader.pastes))
        names = self._list_startable()
        if name not in names and await self._ask_trust(name):
            names.add(name)
        if name in names:
            request = self._invoke(expand_pastes(line, self.reader.pastes), names)
            await self._supply((request.skill, *request.more_skills))
            return request
        state = next((skill.state for skill in self.app.skills if skill.name == name), "")
        if state in ("blocked", "broken", "disabled"):
            self.screen.print(one_line(f"The skill {name} is {state}, so nobody can start it. See: /why {name}"))
        if state in ("blocked", "broken", "disabled", "untrusted"):  # of the last, the person just said so
            return None
        close = find_close(name, (*names, *(command.name for command in COMMANDS)))
        hint = f" Did you mean /{close}?" if close else ""
        self.screen.print(f"Unknown command: /{one_line(name)}. Type /help for available commands.{hint}")
        return None

    def _list_startable(self) -> set[str]:
        """Return the names of the skills that the user may start, also as `scope:name`."""
        skills = [skill for skill in self.app.skills if skill.user_may_invoke]
        return {word for skill in skills for word in (skill.name, f"{skill.found.location.prefix}:{skill.name}")}

    async def _ask_trust(self, name: str) -> bool:
        """Return whether the user who starts an untrusted skill approves it. Raises: ClawftError."""

        if not find_unapproved_skills(self, name):
            return False
        self.app.refresh()  # it may have been approved elsewhere meanwhile
        waiting = find_unapproved_skills(self, name)
        return await ask_skill_approval(self, waiting[0]) if waiting else name in self._list_startable()

    async def _supply(self, names: tuple[str, ...]) -> None:
        """Ask for the variables that skills need and nobody set."""
        from clawft.cli.repl.questions import ask_skill_variables

        await ask_skill_variables(self, names)

    def _invoke(self, line: str, names: set[str]) -> "TurnRequest":
        """A skill, or several stacked at the start of a message."""
        from clawft.agent.run_request import TurnRequest
        from clawft.cli.repl.message import stack_skills

        stacked, rest = stack_skills(line, names)
        return TurnRequest(rest, model=self.model, skill=stacked[0], more_skills=stacked[1:])

    def _make_request(self, line: str) -> "TurnRequest":
        from clawft.agent.run_request import TurnRequest
        from clawft.cli.repl.message import attach_files, expand_pastes

        attached = attach_files(line, self.app.workspace)
        for note in attached.notes:
            self.screen.print(self.screen.style(f"· attached {one_line(note)}", "dim"))
        for problem in attached.problems:
            self.screen.print(f"{self.screen.style('warning', 'yellow')}: {one_line(problem)}")
        text = expand_pastes(attached.text, self.reader.pastes)
        return TurnRequest(text, images=attached.images, model=self.model)

    async def run_turn(self, request: "TurnRequest") -> None:
        """A turn, with Ctrl-C to stop it."""
        await self._watch(request)

    async def compact(self) -> None:
        await self._watch(None)

    async def _watch(self, request: "TurnRequest | None") -> None:
        from clawft.agent.loop import compact, run_turn

        conversation = self._turn = await self.talk()
        self._is_stopped = False
        try:
            turn = compact(conversation, self.model) if request is None else run_turn(conversation, request)
            await self.view.show(turn)
        finally:
            self._turn = None
        if self._is_stopped:
            await run_command_hooks(self, "stop", self.key)

    @property
    def view(self) -> "TurnView":
        if self._view is None:
            from clawft.cli.repl.view import TurnView

            self._view = TurnView(self.screen)
        return self._view

    async def runtime(self) -> "Runtime":
        """Return the runtime for turns, opened at first use. Raises: ClawftError."""
        if self._held_runtime is None:
            self._held_runtime = TaskContext(self.app.open_runtime())
        try:
            return await self._held_runtime.open()
        except BaseException:
            self._held_runtime = None
            raise

    async def talk(self) -> "Conversation":
        """The conversation, opened when it is first needed. Raises: ClawftError."""
        if self._conversation is None:
            from clawft.agent.conversation import open_conversation
            from clawft.cli.repl.questions import ToolApprovalPrompt

            runtime = await self.runtime()
            asker = ToolApprovalPrompt(self.view, self.reader.ask, self.stop, yes=self._yes)
            held = TaskContext(open_conversation(runtime, self.agent, key=self.key, approve=asker))
            self._conversation = await held.open()
            self._held_conversation = held
            self.key = self._conversation.session.key
            if self.mode:
                self._set_mode(self._conversation)
        return self._conversation

    async def leave_conversation(self, key: str = "") -> None:
        """Close this conversation; the next message opens the one of `key`, or a new one."""
        held, self._held_conversation, self._conversation = self._held_conversation, None, None
        self.mode = self.mode if key and key == self.key else self._first_mode
        self.key = key
        if held is not None:
            await held.close()

    def switch_mode(self, mode: str) -> None:
        """From now on in this conversation. Raises: Refused if that cannot be written down."""
        self.mode = mode
        if self._conversation is not None:
            self._set_mode(self._conversation)

    def _set_mode(self, conversation: "Conversation") -> None:
        from clawft.trust.modes import get_mode

        mode = get_mode(self.mode)
        if mode is not conversation.mode:
            conversation.set_mode(mode, "--mode" if self.mode == self._first_mode else "/mode")

    def switch_agent(self, agent: Agent) -> None:
        """From the next message on; the conversation goes on."""
        self.agent = agent
        if self._conversation is not None:
            self._conversation.agent = agent

    async def reload(self) -> None:
        """See config, skills and agents as they are on disk now; the conversation goes on.

        Raises: ClawftError for what cannot be read; then nothing is changed.
        """
        app = App(self.app.workspace, self.app.environ, self.app.dirs)
        _, agent = app.config, app.choose_agent(self.agent.name)
        await self._close()
        self.app, self.agent = app, agent

    async def _close(self) -> None:
        await self.leave_conversation(self.key)
        held, self._held_runtime = self._held_runtime, None
        if held is not None:
            await held.close()

    def show_error(self, error: ClawftError) -> None:
        self._show(error.diagnostic, error.diagnostic.where)

    def _show(self, diagnostic: Diagnostic, where: str) -> None:
        colour = "red" if diagnostic.severity == "error" else "yellow"
        self.screen.print(
            f"{self.screen.style(f'{diagnostic.severity}[{diagnostic.code}]', colour)}: {one_line(diagnostic.message)}"
        )
        if where:
            self.screen.print(f"  --> {one_line(where)}")
        if diagnostic.hint:
            self.screen.print(f"  hint: {one_line(diagnostic.hint)}")

    def _greet(self) -> None:
        model = self.model or self.agent.model or self.app.config.agents.defaults.model
        parts = [self.screen.style("weft", "bold"), one_line(model), one_line(self.agent.name), "/help"]
        mode = current_mode(self)
        parts += [f"mode {mode}"] if mode != "auto-edit" else []
        new = "" if not self.key or self.key in self.app.sessions else " (new)"
        self.screen.print(" · ".join([*parts, *([f"session {one_line(self.key)}{new}"] if self.key else [])]))
        if model == "offline" and not self.model:
            self.screen.print("No model is set: skills run, but nothing answers in words. Run: weft onboard")
        for diagnostic in self.app.check_agent(self.agent.name):
            self._show(diagnostic, self.app.workspace.shorten(diagnostic.path))


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

    for signum in _ENDING:
        if signal.getsignal(signum) != signal.SIG_IGN:  # `nohup` wants some ignored
            loop.add_signal_handler(signum, end, signum)
    loop.add_signal_handler(signal.SIGINT, repl.stop)


def load_ahead(app: App) -> None:
    """Load what the first message needs while the user is typing it."""

    len(app.skills)
