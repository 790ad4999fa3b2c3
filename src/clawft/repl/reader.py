"""The prompt: what a person types, with history, completion, several lines, and pastes of any size."""

import hashlib
import os
from collections.abc import Callable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

from clawft.repl.message import expand_pastes
from clawft.repl.screen import Screen
from clawft.workspace import Workspace

__all__ = ["Reader", "open_history"]

LONG_PASTE = 2_000  # characters; a longer one is shown as a mark, since a prompt of a megabyte would crawl


class Reader:
    """Reads lines from one terminal."""

    def __init__(
        self, source: Input, output: Output, screen: Screen, *, history: History, completer: Completer | None = None
    ) -> None:
        self._source, self._output, self._screen = source, output, screen
        self.pastes: dict[int, str] = {}
        self.on_unfold: Callable[[], None] = lambda: None
        self._session: PromptSession[str] = PromptSession(
            history=history,
            completer=completer,
            complete_while_typing=Condition(self._completes_while_typing),
            key_bindings=self._bindings(),
            multiline=True,
            prompt_continuation="  ",
            input=source,
            output=output,
            mouse_support=False,
            enable_history_search=False,
        )

    async def read(self, prompt: str = "> ", typed: str = "") -> str:
        """What was typed, whole. Raises: EOFError, KeyboardInterrupt."""
        text = await self._session.prompt_async(ANSI(self._screen.style(prompt, "bold")), default=typed)
        return expand_pastes(text, self.pastes)

    async def ask(self, question: str) -> str:
        """One line in answer to a question; it is no part of the history."""
        asking: PromptSession[str] = PromptSession(history=InMemoryHistory(), input=self._source, output=self._output)
        return await asking.prompt_async(question)

    def _completes_while_typing(self) -> bool:
        buffer = self._session.default_buffer
        word = buffer.document.get_word_before_cursor(WORD=True)
        return not self._screen.plain and (buffer.text.startswith("/") or word[:1] in ("@", "$"))

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Enter)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        @keys.add(Keys.Escape, Keys.Enter)
        @keys.add(Keys.ControlJ)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add(Keys.ControlC)
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            else:
                event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

        @keys.add(Keys.ControlO)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(_run_above(self.on_unfold))

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self._shorten(event.data.replace("\r\n", "\n").replace("\r", "\n")))

        return keys

    def _shorten(self, pasted: str) -> str:
        if len(pasted) <= LONG_PASTE:
            return pasted
        number = len(self.pastes) + 1
        self.pastes[number] = pasted
        return f"[paste {number}: {len(pasted):,} characters]"


async def _run_above(action: Callable[[], None]) -> None:
    """Print above the prompt, which is drawn again after it."""
    from prompt_toolkit.application import run_in_terminal

    await run_in_terminal(action)


def open_history(workspace: Workspace) -> History:
    """The lines typed in this project, kept for the user alone."""
    name = hashlib.sha256(workspace.project.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = os.path.join(workspace.user_dir, "history")
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
