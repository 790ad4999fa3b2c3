"""The display of a turn: the answer as Markdown, tools as one line each, and a sign of life while waiting."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress

from anyio import lowlevel

from clawft.cli.events import (
    CHOOSE,
    read_choice,
    render_event,
    render_question,
    render_todos,
    render_tool_end,
    render_tool_start,
)
from clawft.cli.output import clean, fit, one_line
from clawft.cli.repl.markdown import MarkdownStream
from clawft.cli.repl.screen import Screen
from clawft.messages import (
    Answer,
    ApprovalAnswer,
    ApprovalNeeded,
    Compacted,
    Event,
    ForkActed,
    ForkFinished,
    ForkStarted,
    MessageSent,
    Noticed,
    SkillActivated,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    UsageReported,
)
from clawft.trust.audit.log import AT_TERMINAL, LEFT, note_asked
from clawft.trust.tools import SKILL_TOOL

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_S = 0.1
_REACH_S = 1.0
MAX_UNFOLDED = 8_000  # characters of a result that are shown when it is opened


class TurnDisplay:
    """One turn after the other on one screen."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._results: list[tuple[str, str]] = []  # what was folded in this turn, or the last one
        self._open_later = False
        self._tools: dict[str, str] = {}
        self._markdown: MarkdownStream | None = None
        self._tokens = 0
        self._waiting_for = ""
        self._asked: set[str] = set()  # calls whose question came through the stream of events
        self._moved = asyncio.Condition()
        self._free = asyncio.Event()  # no question is on the screen
        self._free.set()

    async def show(self, events: AsyncGenerator[Event]) -> Event | None:
        """Show a turn to its end; the event it ended with."""
        event = None
        self._results, self._tools, self._tokens, self._waiting_for = [], {}, 0, "thinking"
        ticking = asyncio.create_task(self._tick())
        try:
            async with aclosing(events) as stream:
                async for event in stream:
                    await self._free.wait()
                    self.take(event)
                    if isinstance(event, ApprovalNeeded):
                        async with self._moved:
                            self._asked.add(event.call)
                            self._moved.notify_all()
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self._end_text()
            self.screen.show_status("")
        return event

    async def reach(self, event: ApprovalNeeded) -> None:
        """Until all before a question is on the screen."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_REACH_S), self._moved:
                await self._moved.wait_for(lambda: event.call in self._asked)
        self._asked.discard(event.call)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Nothing is shown meanwhile: the screen belongs to a question."""
        self._end_text()
        self.screen.show_status("")
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

    def take(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextDelta(text=text):
                self._say(text)
            case ToolStarted():
                self._start(event)
            case ToolFinished():
                self._finish(event)
            case SkillActivated() | MessageSent() | Compacted() | ForkStarted() | ForkFinished():
                self.note(render_event(event))
            case ForkActed():
                self._waiting_for = render_event(event)
            case UsageReported(usage=usage):
                self._tokens += usage.total_tokens
            case Noticed() | TurnFailed():
                self._warn(event)
            case TurnFinished(stop="cancelled"):
                self.note("stopped; what came so far is kept. Ctrl-C again leaves")

    def unfold(self) -> None:
        """Print the results of the last turn's tools in full; after the paragraph, while one is being written."""
        if self._markdown is not None:
            self._open_later = True
            return
        self.screen.show_status("")
        for line, text in self._results:
            self.screen.print(self.screen.style(f"▼ {line}", "bold"))
            cut = text if len(text) <= MAX_UNFOLDED else f"{text[:MAX_UNFOLDED]}\n… ({len(text)} characters)"
            self.screen.print("\n".join(f"  {line}" for line in cut.splitlines()) or "  (nothing)")
        if not self._results:
            self.screen.print("There is nothing to open")

    def note(self, text: str) -> None:
        self._end_text()
        self.screen.print(self.screen.style(text, "dim"))

    def _say(self, text: str) -> None:
        if self._markdown is None:
            self._markdown = MarkdownStream(self.screen.width, colour=self.screen.colour, plain=self.screen.plain)
        self._markdown.width = self.screen.width
        self.screen.write(self._markdown.feed(text))
        coming = self._markdown.pending.rstrip("\n").rpartition("\n")[2]
        self._waiting_for = "" if coming else "writing"
        if coming:  # the end of a paragraph that is not whole yet
            self.screen.show_status(coming[-(self.screen.width // 2) :])

    def _end_text(self) -> None:
        if self._markdown is not None:
            self.screen.write(self._markdown.flush())
            self._markdown = None
        self.screen.end_line()
        if self._open_later:
            self._open_later = False
            self.unfold()

    def _start(self, event: ToolStarted) -> None:
        line = render_tool_start(event)
        self._tools[event.call] = line
        self._waiting_for = line
        if event.tool != SKILL_TOOL:
            self.note(fit(f"· {line}", self.screen.width).rstrip())

    def _finish(self, event: ToolFinished) -> None:
        line = self._tools.pop(event.call, one_line(event.tool))
        self._results.append((line, clean(str(event.result.get("text", "")))))
        self._waiting_for = next(reversed(self._tools.values()), "thinking")
        if todos := render_todos(event):
            self._end_text()
            self.screen.print(todos)
        ended = render_tool_end(event)
        if ended and ended[0]:
            self._fail(ended[1])
        elif ended:
            self.note(f"  ✓ {ended[1]}")

    def _fail(self, why: str) -> None:
        self._end_text()
        self.screen.print(f"  {self.screen.style('✗', 'red')} {self.screen.style(why, 'dim')}")

    def _warn(self, event: Noticed | TurnFailed) -> None:
        self._end_text()
        severity = event.severity if isinstance(event, Noticed) else "error"
        colour = {"error": "red", "warning": "yellow", "note": "dim"}[severity]
        head = self.screen.style(f"{severity}[{event.code}]", colour)
        self.screen.print(f"{head}: {one_line(event.message)}")
        if event.hint:
            self.screen.print(f"  hint: {one_line(event.hint)}")

    async def _tick(self) -> None:
        """A sign of life while nothing is printed."""
        started, frame = time.monotonic(), 0
        while True:
            await asyncio.sleep(_TICK_S)
            if self._waiting_for and self._free.is_set():
                frame = (frame + 1) % len(_FRAMES)
                tokens = f" · {self._tokens:,} tokens" if self._tokens else ""
                room = max(8, self.screen.width - 40)
                elapsed = time.monotonic() - started
                what = fit(self._waiting_for, room).rstrip()
                self.screen.show_status(f"{_FRAMES[frame]} {what} {elapsed:.0f} s{tokens} · Ctrl-C stops")


_CHOICES = "  [y]es, for this [s]ession, [a]lways here, [N]o: "
_ONCE = "  [y]es, this once, [N]o: "
_ANSWERS: dict[str, Answer] = {
    "y": "once", "yes": "once", "s": "session", "session": "session", "a": "always", "always": "always",
    "n": "no", "no": "no", "": "no",
}  # fmt: skip


class ToolApprovalPrompt:
    """Answers for one person at one terminal. To leave the question is a no; Ctrl-C also stops the turn."""

    def __init__(
        self, display: TurnDisplay, ask: Callable[[str], Awaitable[str]], stop: Callable[[], None], *, yes: bool = False
    ) -> None:
        self._display = display
        self._ask = ask
        self._stop = stop
        self._yes = yes
        self._one = asyncio.Lock()

    async def __call__(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        async with self._one:
            await self._display.reach(event)
            is_question = event.tool == "AskUserQuestion"
            if self._yes and not event.dangerous and not is_question:
                self._display.note(f"  allowed by --yes: {one_line(event.question)}")
                return "flag"
            with self._display.holding():
                return await (self._choose(event) if is_question else self._put(event))

    async def _choose(self, event: ApprovalNeeded) -> ApprovalAnswer:
        """Put a question of the model."""
        note_asked()
        screen = self._display.screen
        screen.print(f"{screen.style('?', 'yellow')} {render_question(event)}")
        try:
            return read_choice(await self._ask(CHOOSE), event, left=False)
        except EOFError:
            return ApprovalAnswer("no", LEFT)
        except KeyboardInterrupt:
            self._stop()
            await lowlevel.checkpoint()  # the turn ends here
            return ApprovalAnswer("no", AT_TERMINAL)

    async def _put(self, event: ApprovalNeeded) -> ApprovalAnswer:
        note_asked()
        screen = self._display.screen
        first, *more = clean(event.question).splitlines() or [""]
        screen.print(f"{screen.style('?', 'yellow')} {first}")
        for line in (*more, *clean(event.reason).splitlines()):
            screen.print(f"  {line}")
        while True:
            try:
                typed = await self._ask(_ONCE if event.dangerous else _CHOICES)
            except EOFError:
                return ApprovalAnswer("no", LEFT)
            except KeyboardInterrupt:
                self._stop()
                await lowlevel.checkpoint()  # the turn ends here, before anything else is done in it
                return ApprovalAnswer("no", AT_TERMINAL)
            answer = _ANSWERS.get(typed.strip().lower())
            if answer is not None and not (event.dangerous and answer in ("session", "always")):
                return ApprovalAnswer(answer, AT_TERMINAL)
            screen.print("  Please answer y or n" if event.dangerous else "  Please answer y, s, a or n")
