"""The REPL: read a line, run a command or a turn, show what comes of it, again."""

import asyncio
import math
import time
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

from clawft.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import one_line
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.format.model import Agent
from clawft.repl.command import find_command, split_command
from clawft.repl.commands import COMMANDS
from clawft.repl.commands.mode import current_mode
from clawft.repl.completion import ReplCompleter
from clawft.repl.held import Held
from clawft.repl.notices import RunNotices
from clawft.repl.reader import Reader, open_history
from clawft.repl.screen import Screen
from clawft.repl.skill_notices import SkillNotices

if TYPE_CHECKING:  # imported with the first message: the prompt is there at once
    from clawft.messages import Event
    from clawft.repl.view import View
    from clawft.run import Conversation, Runtime, TurnRequest

__all__ = ["Repl"]

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
        self.reader = Reader(source, output, screen, history=open_history(app.workspace), completer=ReplCompleter(self))
        self.reader.on_unfold = lambda: self.view.unfold()
        self._yes = options.yes
        self._interrupted_at = -math.inf  # when Ctrl-C was last pressed, if nothing was typed since
        self._work: asyncio.Task[None] | None = None  # the line that is being worked on
        self._turn: Conversation | None = None  # the one whose turn runs
        self._is_stopped = False  # the person ended that turn
        self._held_runtime: Held[Runtime] | None = None
        self._held_conversation: Held[Conversation] | None = None
        self._conversation: Conversation | None = None
        self._view: View | None = None

    async def run(self) -> int:
        """Until the person leaves; the exit code."""
        with self.reader.raw_mode():
            self._greet()
            noticing = [asyncio.create_task(one) for one in (self._notice(), self._notice_skills())]
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
        """What becomes of background runs, while nothing else is on the screen."""
        while True:
            await self.notices.wait(self.app)
            with suppress(Exception):  # a word on the side must not take the conversation with it
                if await self.notices.look(self.app) and self._work is None:
                    await self.reader.print_above(self._say_notices)

    async def _notice_skills(self) -> None:
        """Which skills come, go and change on disk, the same way."""
        telling: set[asyncio.Task[None]] = set()

        def tell() -> None:
            if self._work is None:
                task = asyncio.create_task(self.reader.print_above(self._say_notices))
                telling.add(task)
                task.add_done_callback(telling.discard)

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
        """One line: a command, a skill, or a message (R91). What goes wrong is said, and the prompt comes back."""
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
            path = (await self.runtime()).keep_trace("".join(traceback.format_exception(error)))
        message = f"Something went wrong inside: {type(error).__name__}: {error}"
        return ClawftError("internal", message, hint=f"The details are in {path}" if path else "")

    @property
    def _interrupted(self) -> bool:
        """Whether Ctrl-C was pressed a moment ago: a second one then leaves."""
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
        from clawft.repl.message import expand_pastes

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
        state = next((one.state for one in self.app.skills if one.name == name), "")
        if state in ("blocked", "broken", "disabled"):
            self.screen.print(one_line(f"The skill {name} is {state}, so nobody can start it. See: /why {name}"))
        if state in ("blocked", "broken", "disabled", "untrusted"):  # of the last, the person just said so
            return None
        close = find_close(name, (*names, *(one.name for one in COMMANDS)))
        hint = f" Did you mean /{close}?" if close else ""
        self.screen.print(f"Unknown command: /{one_line(name)}. Type /help for available commands.{hint}")
        return None

    def _list_startable(self) -> set[str]:
        """What a person may call the skills that they may start: by name, and as `scope:name`."""
        skills = [one for one in self.app.skills if one.user_may_invoke]
        return {word for one in skills for word in (one.name, f"{one.found.location.prefix}:{one.name}")}

    async def _ask_trust(self, name: str) -> bool:
        """Whether a person who starts a stranger's skill approves it. Raises: ClawftError."""
        from clawft.repl.trusting import ask_trust, find_untrusted

        if not find_untrusted(self, name):
            return False
        self.app = self.app.reopen()  # it may have been approved elsewhere meanwhile
        waiting = find_untrusted(self, name)
        return await ask_trust(self, waiting[0]) if waiting else name in self._list_startable()

    async def _supply(self, names: tuple[str, ...]) -> None:
        """Ask for the variables that skills need and nobody set."""
        from clawft.repl.supplying import ask_missing

        await ask_missing(self, names)

    def _invoke(self, line: str, names: set[str]) -> "TurnRequest":
        """A skill, or several stacked at the start of a message."""
        from clawft.repl.message import stack_skills
        from clawft.run import TurnRequest

        stacked, rest = stack_skills(line, names)
        return TurnRequest(rest, model=self.model, skill=stacked[0], more_skills=stacked[1:])

    def _make_request(self, line: str) -> "TurnRequest":
        from clawft.repl.message import attach_files, expand_pastes
        from clawft.run import TurnRequest

        attached = attach_files(line, self.app.workspace)
        for note in attached.notes:
            self.screen.print(self.screen.style(f"· attached {one_line(note)}", "dim"))
        for problem in attached.problems:
            self.screen.print(f"{self.screen.style('warning', 'yellow')}: {one_line(problem)}")
        text = expand_pastes(attached.text, self.reader.pastes)
        return TurnRequest(text, images=attached.images, model=self.model)

    async def run_turn(self, request: "TurnRequest") -> None:
        """A turn, with Ctrl-C to stop it."""
        await self._watch(lambda conversation: conversation.run(request))

    async def compact(self) -> None:
        await self._watch(lambda conversation: conversation.compact(self.model))

    async def _watch(self, start: "Callable[[Conversation], AsyncGenerator[Event]]") -> None:
        conversation = self._turn = await self.talk()
        self._is_stopped = False
        try:
            await self.view.show(start(conversation))
        finally:
            self._turn = None
        if self._is_stopped:
            from clawft.repl.hooks import tell_command

            await tell_command(self, "stop", self.key)

    @property
    def view(self) -> "View":
        if self._view is None:
            from clawft.repl.view import View

            self._view = View(self.screen)
        return self._view

    async def runtime(self) -> "Runtime":
        """What turns need, opened when it is first needed. Raises: ClawftError."""
        if self._held_runtime is None:
            self._held_runtime = Held(self.app.open_runtime())
        try:
            return await self._held_runtime.open()
        except BaseException:
            self._held_runtime = None
            raise

    async def talk(self) -> "Conversation":
        """The conversation, opened when it is first needed. Raises: ClawftError."""
        if self._conversation is None:
            from clawft.repl.approve import Asker

            runtime = await self.runtime()
            asker = Asker(self.view, self.reader.ask, self.stop, yes=self._yes)
            held = Held(runtime.open_conversation(self.agent, key=self.key, approve=asker))
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

    def _show(self, said: Diagnostic, where: str) -> None:
        colour = "red" if said.severity == "error" else "yellow"
        self.screen.print(f"{self.screen.style(f'{said.severity}[{said.code}]', colour)}: {one_line(said.message)}")
        if where:
            self.screen.print(f"  --> {one_line(where)}")
        if said.hint:
            self.screen.print(f"  hint: {one_line(said.hint)}")

    def _greet(self) -> None:
        model = self.model or self.agent.model or self.app.config.agents.defaults.model
        parts = [self.screen.style("weft", "bold"), one_line(model), one_line(self.agent.name), "/help"]
        mode = current_mode(self)
        parts += [f"mode {mode}"] if mode != "auto-edit" else []
        new = "" if not self.key or self.key in self.app.sessions else " (new)"
        self.screen.print(" · ".join([*parts, *([f"session {one_line(self.key)}{new}"] if self.key else [])]))
        if model == "offline" and not self.model:
            self.screen.print("No model is set: skills run, but nothing answers in words. Run: weft onboard")
        for one in self.app.check_agent(self.agent.name):
            self._show(one, self.app.workspace.shorten(one.path))
