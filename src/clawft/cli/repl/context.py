"""State that a REPL shares with its slash commands: the app, the screen, the conversation and what runs in it."""

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from prompt_toolkit.completion import Completer
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from clawft.app.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import one_line
from clawft.cli.repl.notices import RunNotices, SkillNotices
from clawft.cli.repl.reader import PromptReader, open_history
from clawft.cli.repl.screen import Screen
from clawft.errors import ClawftError, Diagnostic
from clawft.messages import TurnFinished
from clawft.skills.parse.model import Agent
from clawft.trust.modes import get_mode

if TYPE_CHECKING:
    from clawft.agent.run_request import TurnRequest
    from clawft.agent.runtime import Conversation, Runtime
    from clawft.cli.repl.turn_display import TurnDisplay


T = TypeVar("T")


class TaskContext(Generic[T]):
    """A context manager that is entered and left in a task of its own, from `open` to `close`."""

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


class ReplContext:
    """State of the REPL: one user at one terminal, with one conversation at a time."""

    def __init__(
        self,
        app: App,
        options: TurnOptions,
        source: Input,
        screen: Screen,
        output: Output,
        make_completer: "Callable[[ReplContext], Completer]",
    ) -> None:
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
            source, output, screen, history=open_history(app.workspace), completer=make_completer(self)
        )
        self.reader.on_unfold = lambda: self.display.unfold()
        self._yes = options.yes
        self.interrupted_at = -math.inf  # when Ctrl-C was last pressed, if nothing was typed since
        self.work: asyncio.Task[None] | None = None  # the line that is being worked on
        self._turn: Conversation | None = None  # the one whose turn runs
        self._is_stopped = False  # the person ended that turn
        self._held_runtime: TaskContext[Runtime] | None = None
        self._held_conversation: TaskContext[Conversation] | None = None
        self._conversation: Conversation | None = None
        self._display: TurnDisplay | None = None

    @property
    def display(self) -> "TurnDisplay":
        if self._display is None:
            from clawft.cli.repl.turn_display import TurnDisplay

            self._display = TurnDisplay(self.screen)
        return self._display

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
        """Return the conversation, opened at first use. Raises: ClawftError."""
        if self._conversation is None:
            from clawft.agent.conversation import open_conversation
            from clawft.cli.repl.turn_display import ToolApprovalPrompt

            runtime = await self.runtime()
            asker = ToolApprovalPrompt(self.display, self.reader.ask, self.stop, yes=self._yes)
            held = TaskContext(open_conversation(runtime, self.agent, key=self.key, approve=asker))
            self._conversation = await held.open()
            self._held_conversation = held
            self.key = self._conversation.session.key
            if self.mode:
                self._set_mode(self._conversation)
        return self._conversation

    async def leave_conversation(self, key: str = "") -> None:
        """Close this conversation; the next message opens the one of `key`, or a new one."""
        held, conversation = self._held_conversation, self._conversation
        self._held_conversation = self._conversation = None
        self.mode = self.mode if key and key == self.key else self._first_mode
        self.key = key
        if held is not None:
            await held.close()
        if conversation is not None:  # what it left running ends with it
            await conversation.runtime.commands.end(conversation.account)

    def switch_mode(self, mode: str) -> None:
        """Change the mode of this conversation. Raises: Refused if the change cannot be recorded."""
        self.mode = mode
        if self._conversation is not None:
            self._set_mode(self._conversation)

    def _set_mode(self, conversation: "Conversation") -> None:
        mode = get_mode(self.mode)
        if mode is not conversation.mode:
            conversation.set_mode(mode, "--mode" if self.mode == self._first_mode else "/mode")

    def switch_agent(self, agent: Agent) -> None:
        """Let another agent answer from the next message on, in the same conversation."""
        self.agent = agent
        if self._conversation is not None:
            self._conversation.agent = agent

    async def reload(self) -> None:
        """Load config, skills and agents again; the conversation goes on.

        Raises: ClawftError if they cannot be read; then nothing is changed.
        """
        app = App(self.app.workspace, self.app.environ, self.app.dirs)
        _, agent = app.config, app.choose_agent(self.agent.name)
        await self.close()
        self.app, self.agent = app, agent

    async def close(self) -> None:
        await self.leave_conversation(self.key)
        held, self._held_runtime = self._held_runtime, None
        if held is not None:
            await held.close()

    async def run_turn(self, request: "TurnRequest") -> None:
        """A turn, with Ctrl-C to stop it. One that came to the end of its rounds goes on if the person wants it."""
        from clawft.agent.run_request import TurnRequest

        while await self._watch(request) and await self._ask_to_go_on():
            request = TurnRequest("Go on.", model=request.model)

    async def compact(self) -> None:
        await self._watch(None)

    async def _watch(self, request: "TurnRequest | None") -> bool:
        """Show a turn, or a compaction; whether it was stopped at the limit of its rounds."""
        from clawft.agent.loop import compact, run_turn

        conversation = self._turn = await self.talk()
        self._is_stopped = False
        try:
            turn = compact(conversation, self.model) if request is None else run_turn(conversation, request)
            last = await self.display.show(turn)
        finally:
            self._turn = None
        if self._is_stopped:
            await self.run_command_hooks("stop", self.key)
        return isinstance(last, TurnFinished) and last.stop == "max_iterations"

    async def _ask_to_go_on(self) -> bool:
        """Ask whether the model may use more rounds of tools."""
        while True:
            try:
                typed = await self.reader.ask("  Go on? [Y]es, [n]o: ")
            except (EOFError, KeyboardInterrupt):
                return False
            if typed.strip().lower() in ("", "y", "yes", "n", "no"):
                return typed.strip().lower() not in ("n", "no")

    @property
    def is_interrupted(self) -> bool:
        """Return whether Ctrl-C was pressed a moment ago: a second one then leaves."""
        return time.monotonic() - self.interrupted_at < AGAIN_S

    def stop(self) -> None:
        """Handle Ctrl-C: end the turn or the command that runs; the second time, leave."""
        if self.is_interrupted:
            self.leaving = True
        if self._turn is not None and not self.is_interrupted:
            self._turn.cancel("stopped by the person at the terminal")
            self._is_stopped = True
        elif self.work is not None:
            self.work.cancel()
        else:
            self.reader.interrupt()
            return
        self.interrupted_at = time.monotonic()

    def hang_up(self) -> None:
        """Stop and leave, since the terminal is gone."""
        self.leaving = True
        self.stop()

    def show_error(self, error: ClawftError) -> None:
        self.show_diagnostic(error.diagnostic, error.diagnostic.where)

    def show_diagnostic(self, diagnostic: Diagnostic, where: str) -> None:
        colour = "red" if diagnostic.severity == "error" else "yellow"
        self.screen.print(
            f"{self.screen.style(f'{diagnostic.severity}[{diagnostic.code}]', colour)}: {one_line(diagnostic.message)}"
        )
        if where:
            self.screen.print(f"  --> {one_line(where)}")
        if diagnostic.hint:
            self.screen.print(f"  hint: {one_line(diagnostic.hint)}")

    async def run_command_hooks(self, action: Literal["new", "reset", "stop"], key: str) -> None:
        """Tell hooks of a command given in the session of a key, and show what they say; none of them prevents it."""
        from clawft.agent.turn_hooks import DetachedHooks

        try:
            runtime = await self.runtime()
        except ClawftError as error:
            self.show_error(error)
            return
        runtime.hooks.refresh()
        path = runtime.sessions.get(key).path if key in runtime.sessions else ""
        outside = DetachedHooks(runtime.hooks, runtime.secrets, runtime.workspace.project, key, self.agent.name)
        for event in await outside.tell_command(action, path):
            self.display.take(event)
