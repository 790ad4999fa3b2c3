"""The REPL: read a line, run a command or a turn, show what comes of it, again."""

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

from clawft.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import one_line
from clawft.errors import ClawftError, find_close
from clawft.format.model import Agent
from clawft.repl.command import find_command, split_command
from clawft.repl.commands import COMMANDS
from clawft.repl.completion import ReplCompleter
from clawft.repl.keys import KeyWatch
from clawft.repl.reader import Reader, open_history
from clawft.repl.screen import Screen

if TYPE_CHECKING:  # imported with the first message: the prompt is there at once
    from collections.abc import AsyncGenerator

    from clawft.messages import Event
    from clawft.repl.view import View
    from clawft.run import Conversation, Runtime, TurnRequest

__all__ = ["Repl", "run_repl"]


class Repl:
    """One person, one terminal, one conversation at a time."""

    def __init__(self, app: App, options: TurnOptions, source: Input, screen: Screen, output: Output) -> None:
        self.app = app
        self.screen = screen
        self.agent: Agent = app.choose_agent(options.agent)
        self.model = options.model
        self.yes = options.yes
        self.key = options.session
        self.leaving = False
        self.reader = Reader(source, output, screen, history=open_history(app.workspace), completer=ReplCompleter(self))
        self._source = source
        self._stack = AsyncExitStack()
        self._talk_stack = AsyncExitStack()
        self._runtime: Runtime | None = None
        self._conversation: Conversation | None = None
        self._view: View | None = None
        self._typed = ""

    async def run(self) -> int:
        """Until the person leaves; the exit code."""
        async with self._stack:
            self._greet()
            try:
                while not self.leaving:
                    await self._once()
            finally:
                await self._talk_stack.aclose()
        if self.key:
            self.screen.print(f"To go on with this: weft agent --session {self.key}   (or --continue)")
        return 0

    async def _once(self) -> None:
        typed, self._typed = self._typed, ""
        try:
            line = await self.reader.read(typed=typed)
        except EOFError:
            self.leaving = True
            return
        except KeyboardInterrupt:
            await self._interrupted()
            return
        if line.strip():
            await self.handle(line.strip())

    async def _interrupted(self) -> None:
        """Ctrl-C at an empty prompt: once says so, twice leaves."""
        self.screen.print("Ctrl-C again leaves")
        try:
            self._typed = await self.reader.read()
        except (EOFError, KeyboardInterrupt):
            self.leaving = True
            return
        line, self._typed = self._typed, ""
        if line.strip():
            await self.handle(line.strip())

    async def handle(self, line: str) -> None:
        """One line: a command, a skill, or a message (R91). What goes wrong is said, and the prompt comes back."""
        try:
            request = await self._read_request(line)
            if request is not None:
                await self.run_turn(request)
        except ClawftError as error:
            self.show_error(error)

    async def _read_request(self, line: str) -> "TurnRequest | None":
        command = split_command(line)
        if command is None:
            return self._make_request(line)
        name, rest = command
        known = find_command(name, COMMANDS)
        if known is not None:
            return await known.run(self, rest)
        names = [one.name for one in self.app.skills if one.user_may_invoke]
        if name in names:
            return self.invoke(line, names)
        close = find_close(name, (*names, *(one.name for one in COMMANDS)))
        hint = f" Did you mean /{close}?" if close else ""
        self.screen.print(f"Unknown command: /{one_line(name)}. Type /help for available commands.{hint}")
        return None

    def invoke(self, line: str, names: list[str]) -> "TurnRequest":
        """A skill, or several stacked at the start of a message."""
        from clawft.repl.message import stack_skills
        from clawft.run import TurnRequest

        stacked, rest = stack_skills(line, names)
        return TurnRequest(rest, model=self.model, skill=stacked[0], more_skills=stacked[1:])

    def _make_request(self, line: str) -> "TurnRequest":
        from clawft.repl.message import attach_files
        from clawft.run import TurnRequest

        attached = attach_files(line, self.app.workspace)
        for problem in attached.problems:
            self.screen.print(f"{self.screen.style('warning', 'yellow')}: {one_line(problem)}")
        return TurnRequest(attached.text, images=attached.images, model=self.model)

    async def run_turn(self, request: "TurnRequest") -> None:
        """A turn, with Ctrl-C to stop it; twice leaves."""
        conversation = await self.talk()
        await self._watch(conversation, conversation.run(request))

    async def compact(self) -> None:
        conversation = await self.talk()
        await self._watch(conversation, conversation.compact(self.model))

    async def _watch(self, conversation: "Conversation", events: "AsyncGenerator[Event]") -> None:
        pressed = 0

        def stop() -> None:
            nonlocal pressed
            pressed += 1
            conversation.cancel()
            self.leaving = self.leaving or pressed > 1

        watch = KeyWatch(self._source, {Keys.ControlC: stop, Keys.ControlO: self.view.unfold})
        with watch.watching():
            await self.view.show(events)
        self._typed = watch.typed

    @property
    def view(self) -> "View":
        if self._view is None:
            from clawft.repl.view import View

            self._view = View(self.screen)
            self.reader.on_unfold = self._view.unfold
        return self._view

    async def runtime(self) -> "Runtime":
        """What turns need, opened when it is first needed."""
        if self._runtime is None:
            self._runtime = await self._stack.enter_async_context(self.app.open_runtime())
        return self._runtime

    async def talk(self) -> "Conversation":
        """The conversation, opened when it is first needed."""
        if self._conversation is None:
            from clawft.repl.approve import Asker

            runtime = await self.runtime()
            asker = Asker(self.screen, self.reader.ask, _settle)
            opened = runtime.open_conversation(self.agent, key=self.key, approve=asker)
            self._conversation = await self._talk_stack.enter_async_context(opened)
            self.key = self._conversation.session.key
        return self._conversation

    async def leave_conversation(self, key: str = "") -> None:
        """Close this conversation; the next message opens the one of `key`, or a new one."""
        await self._talk_stack.aclose()
        self._talk_stack = AsyncExitStack()
        self._conversation = None
        self.key = key

    def switch_agent(self, agent: Agent) -> None:
        """From the next message on; the conversation goes on."""
        self.agent = agent
        if self._conversation is not None:
            self._conversation.agent = agent

    async def reload(self) -> None:
        """See config, skills and agents as they are on disk now; the conversation goes on."""
        key = self.key
        await self.leave_conversation(key)
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        self._runtime = None
        self.app = App(self.app.workspace, self.app.environ, self.app.dirs)

    def show_error(self, error: ClawftError) -> None:
        said = error.diagnostic
        self.screen.print(f"{self.screen.style(f'error[{said.code}]', 'red')}: {one_line(said.message)}")
        if said.where:
            self.screen.print(f"  --> {one_line(said.where)}")
        if said.hint:
            self.screen.print(f"  hint: {one_line(said.hint)}")

    def _greet(self) -> None:
        model = self.model or self.agent.model or self.app.config.agents.defaults.model
        self.screen.print(
            f"{self.screen.style('weft', 'bold')} · {one_line(model)} · {one_line(self.agent.name)} · /help"
        )
        if model == "offline":
            self.screen.print("No model is set: skills run, but nothing answers in words. Run: weft onboard")


async def _settle() -> None:
    """Let the view take what was emitted before."""
    for _ in range(3):
        await asyncio.sleep(0)


def run_repl(app: App, options: TurnOptions, *, plain: bool) -> int:
    """The REPL on this process's terminal. Raises: ClawftError."""
    import os

    from prompt_toolkit.input import create_input
    from prompt_toolkit.output import create_output

    source, output = create_input(), create_output()
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    screen = Screen(output, plain=plain, colour=colour)
    return asyncio.run(Repl(app, options, source, screen, output).run())
