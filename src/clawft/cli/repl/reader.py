"""Input at the terminal: the prompt with history, completion and pastes, and keys pressed during a turn."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput, Output

from clawft.cli.repl.screen import Screen, echoing
from clawft.files import replace_file
from clawft.workspace import Workspace

MAX_TYPED = 100_000  # characters that are kept for the next prompt
_READ_BYTES = 1 << 16
_PASTE_END = "\x1b[201~"

Actions = Mapping[Keys, Callable[[], None]]


class KeyWatch:
    """Watches an input outside of prompts. What is typed ahead is kept: it answers no question, and sends nothing."""

    def __init__(self, source: Input, output: Output, shorten: Callable[[str], str]) -> None:
        self._source = source
        self._output = output
        self._shorten = shorten  # what a paste is shown as
        self._actions: Actions = {}
        self._on_closed: Callable[[], None] = _nothing_keys
        self._typed = ""

    @contextmanager
    def watching(self, actions: Actions, on_closed: Callable[[], None]) -> Iterator[None]:
        """Until the end of the block."""
        self._actions, self._on_closed = actions, on_closed
        self._output.enable_bracketed_paste()
        self._output.flush()
        try:
            with self._source.attach(self._read):
                self.drain()
                yield
                self.drain()
        finally:
            self._actions, self._on_closed = {}, _nothing_keys
            self._output.disable_bracketed_paste()
            self._output.flush()

    def drain(self) -> None:
        """Take all that was typed until now, also what a prompt had read beyond its end."""
        for press in get_typeahead(self._source):
            self._press(press)
        while presses := self._source.read_keys():
            for press in presses:
                self._press(press)

    def take_typed(self) -> str:
        """Return the text typed for the next prompt and clear it."""
        typed, self._typed = self._typed, ""
        return typed

    def _read(self) -> None:
        for press in self._source.read_keys():
            self._press(press)
        if self._source.closed:
            self._on_closed()

    def _press(self, press: KeyPress) -> None:
        action = self._actions.get(press.key) if isinstance(press.key, Keys) else None
        if action is not None:
            action()
        elif press.key in (Keys.Backspace, Keys.ControlH):
            self._typed = self._typed[:-1]
        elif len(self._typed) < MAX_TYPED:
            self._typed += self._text_of(press)

    def _text_of(self, press: KeyPress) -> str:
        if press.key == Keys.BracketedPaste:
            return self._shorten(press.data)
        if press.key in (Keys.Enter, Keys.ControlJ):
            return "\n"
        return press.data if not isinstance(press.key, Keys) else ""


def read_quickly(source: Input) -> None:
    """Let an input take a paste of a megabyte in one go."""
    if isinstance(source, Vt100Input):
        source.stdin_reader = _Reader(source.fileno())
        source.vt100_parser = _Parser(lambda press: source._buffer.append(press))


class _Reader(PosixStdinReader):
    def read(self, count: int = _READ_BYTES) -> str:
        return super().read(count)


class _Parser(Vt100Parser):
    """Looks for the end of a paste in what is new only."""

    def reset(self, request: bool = False) -> None:
        self._parts: list[str] = []
        super().reset(request)

    def feed(self, data: str) -> None:
        if not self._in_bracketed_paste:
            super().feed(data)
            return
        last = self._parts.pop() if self._parts else ""
        before, mark, after = (last + data).partition(_PASTE_END)
        if not mark:
            self._parts += [before[: -len(_PASTE_END)], before[-len(_PASTE_END) :]]
            return
        pasted, self._parts = "".join([*self._parts, before]), []
        self._in_bracketed_paste = False
        self.feed_key_callback(KeyPress(Keys.BracketedPaste, pasted))
        self.feed(after)


def _nothing_keys() -> None:
    return None


LONG_PASTE = 2_000  # characters; a longer one is shown as a mark, since a prompt of a megabyte would crawl
MAX_HISTORY_BYTES = 1 << 20


class PromptReader:
    """Reads from one terminal: lines at the prompt, answers to questions, and keys in between."""

    def __init__(
        self, source: Input, output: Output, screen: Screen, *, history: History, completer: Completer | None = None
    ) -> None:
        read_quickly(source)
        self._source, self._output, self._screen = source, output, screen
        self.keys = KeyWatch(source, output, self._shorten)
        self.pastes: dict[str, str] = {}
        self.on_unfold: Callable[[], None] = _nothing_reader
        self.on_shown: Callable[[], None] = _nothing_reader  # called once, when the first prompt is on the screen
        self._session: PromptSession[str] = PromptSession(
            history=history,
            completer=completer,
            complete_while_typing=Condition(self._completes_while_typing),
            key_bindings=self._bindings(),
            multiline=True,
            prompt_continuation="  ",
            input=source,
            output=DummyOutput() if screen.plain else output,
        )
        self._session.app.after_render += self._tell_shown

    @contextmanager
    def raw_mode(self) -> Iterator[None]:
        """Keys come one by one, and Ctrl-C is one of them. What was typed before is kept for the first prompt."""
        with self._source.raw_mode():
            self.keys.drain()
            yield

    async def read(self, prompt: str = "> ") -> str:
        """Read a line; long pastes appear in it as marks. Raises: EOFError, KeyboardInterrupt."""
        self._screen.end_line()
        typed = self.keys.take_typed().rstrip("\n")  # sent by nobody: the next Enter does it
        return await self._prompt(self._session, prompt, self._shorten(typed) if len(typed) > LONG_PASTE else typed)

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        """One line in answer to a question, now: what was typed before it is kept for the prompt, and nothing of it
        goes into the history. Of what is `hidden`, each character is a star. Raises: EOFError, KeyboardInterrupt."""
        self.keys.drain()
        output = DummyOutput() if self._screen.plain else self._output
        keys = KeyBindings()
        keys.add(Keys.BracketedPaste)(_paste_line)
        asking: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), input=self._source, output=output, key_bindings=keys, is_password=hidden
        )
        try:
            return await self._prompt(asking, question)
        finally:
            self.keys.drain()

    def interrupt(self) -> None:
        """As if Ctrl-C was typed at an empty prompt: for a signal."""
        if self._session.app.is_running:
            self._session.app.exit(exception=KeyboardInterrupt)

    async def print_above(self, action: Callable[[], None]) -> None:
        """Have something printed above the prompt, if it is shown now and can be drawn again."""
        if self._session.app.is_running and not self._screen.plain:
            await _run_above(action)

    async def _prompt(self, session: PromptSession[str], prompt: str, typed: str = "") -> str:
        """Signals are the REPL's own, so that they mean the same at a prompt and in a turn."""
        if not self._screen.plain:
            styled = ANSI(self._screen.style(prompt, "bold"))
            return await session.prompt_async(styled, default=typed, handle_sigint=False)
        self._output.enable_bracketed_paste()
        try:
            with echoing(session.default_buffer, self._screen, prompt, hidden=bool(session.is_password)):
                return await session.prompt_async(default=typed, handle_sigint=False)
        finally:
            self._output.disable_bracketed_paste()
            self._output.flush()

    def _tell_shown(self, _: object) -> None:
        self._session.app.after_render -= self._tell_shown
        self.on_shown()

    def _completes_while_typing(self) -> bool:
        buffer = self._session.default_buffer
        word = buffer.document.get_word_before_cursor(WORD=True)
        return not self._screen.plain and (buffer.text.startswith("/") or word[:1] in ("@", "$"))

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        keys.add(Keys.Enter)(_enter)
        keys.add(Keys.Escape, Keys.Enter)(_new_line)
        keys.add(Keys.ControlJ)(_new_line)
        keys.add(Keys.ControlC)(_interrupt)
        keys.add(Keys.Tab)(_complete)

        @keys.add(Keys.ControlO)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(_run_above(self.on_unfold))

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self._shorten(event.data))

        return keys

    def _shorten(self, pasted: str) -> str:
        """A paste as it stands in the prompt. Its mark is made of its content, so that one in an old line of the
        history never means another paste."""
        text = pasted.replace("\r\n", "\n").replace("\r", "\n")
        if len(text) <= LONG_PASTE:
            return text
        mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
        self.pastes[mark] = text
        return f"[paste {mark}: {len(text):,} characters]"


def _enter(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.document.text_before_cursor.endswith("\\"):
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def _new_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _complete(event: KeyPressEvent) -> None:
    """The next entry of the menu; without a menu the only one there is, at once, since one may type ahead of it."""
    buffer = event.current_buffer
    if buffer.complete_state:
        buffer.complete_next()
        return
    asked = CompleteEvent(completion_requested=True)
    found = list(islice(buffer.completer.get_completions(buffer.document, asked), 2))
    if len(found) == 1:
        buffer.apply_completion(found[0])
    else:
        buffer.start_completion(select_first=True)


def _interrupt(event: KeyPressEvent) -> None:
    if event.current_buffer.text:
        event.current_buffer.reset()
    else:
        event.app.exit(exception=KeyboardInterrupt, style="class:aborting")


def _paste_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text(" ".join(event.data.split()))


async def _run_above(action: Callable[[], None]) -> None:
    """Print above the prompt, which is drawn again after it."""
    await run_in_terminal(action)


def _nothing_reader() -> None:
    return None


def open_history(workspace: Workspace) -> History:
    """The lines typed in this project, kept for the user alone; the oldest are let go."""
    name = hashlib.sha256(workspace.project.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = os.path.join(workspace.user_dir, "history")
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(file, 0o600)
            _trim(path, file)
        finally:
            os.close(file)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _trim(path: str, file: int) -> None:
    size = os.fstat(file).st_size
    if size > MAX_HISTORY_BYTES:
        newest = os.pread(file, MAX_HISTORY_BYTES // 2, size - MAX_HISTORY_BYTES // 2)
        replace_file(path, newest[newest.find(b"\n# ") + 1 :])
