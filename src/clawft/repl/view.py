"""What a person sees of a turn: the answer as Markdown, tools as one line each, and a sign of life while waiting."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import msgspec

from clawft.cli.output import clean, one_line
from clawft.messages import (
    Compacted,
    Event,
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
from clawft.repl.markdown import MarkdownStream
from clawft.repl.screen import Screen

__all__ = ["View"]

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_S = 0.1
_LONG_MS = 2_000
MAX_UNFOLDED = 8_000  # characters of a result that are shown when it is opened


class View:
    """One turn after the other on one screen."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.results: list[tuple[str, dict[str, object]]] = []  # what was folded in the last turn
        self.unfold_all = False
        self._tools: dict[str, str] = {}
        self._markdown: MarkdownStream | None = None
        self._tokens = 0
        self._waiting_for = ""

    async def show(self, events: AsyncGenerator[Event]) -> Event | None:
        """Show a turn to its end; the last event."""
        self.results, self._tools, self._tokens, self._waiting_for = [], {}, 0, "thinking"
        ticking = asyncio.create_task(self._tick())
        last = None
        try:
            async with aclosing(events) as stream:
                async for event in stream:
                    self.take(event)
                    last = event
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self._end_text()
            self.screen.show_status("")
        return last

    def take(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextDelta(text=text):
                self._waiting_for = ""
                self._say(text)
            case ToolStarted():
                self._start(event)
            case ToolFinished():
                self._finish(event)
            case SkillActivated(name=name, scope=scope):
                self._note(f"· skill {one_line(name)} ({scope})")
            case MessageSent(text=text):
                self._note(f"» {clean(text)}")
            case Compacted(tokens_before=before, tokens_after=after):
                self._note(f"· older turns were summarised: {before} tokens became {after}")
            case UsageReported(usage=usage):
                self._tokens += usage.total_tokens
            case Noticed() | TurnFailed():
                self._warn(event)
            case TurnFinished(stop=stop):
                self._end_text()
                if stop == "cancelled":
                    self._note("stopped; what came so far is kept")

    def unfold(self) -> None:
        """Print the results of the last turn's tools in full."""
        self._end_text()
        for line, result in self.results:
            self.screen.print(self.screen.style(f"▼ {line}", "bold"))
            text = clean(str(result.get("text", "")))
            cut = text if len(text) <= MAX_UNFOLDED else f"{text[:MAX_UNFOLDED]}\n… ({len(text)} characters)"
            self.screen.print("\n".join(f"  {one}" for one in cut.splitlines()) or "  (nothing)")
        if not self.results:
            self.screen.print("There is nothing to open")

    def _say(self, text: str) -> None:
        if self._markdown is None:
            self._markdown = MarkdownStream(self.screen.width, colour=self.screen.colour, plain=self.screen.plain)
        self.screen.write(self._markdown.feed(text))

    def _end_text(self) -> None:
        if self._markdown is not None:
            self.screen.write(self._markdown.flush())
            self._markdown = None
        self.screen.end_line()

    def _note(self, text: str) -> None:
        self._end_text()
        self.screen.print(self.screen.style(text, "dim"))

    def _start(self, event: ToolStarted) -> None:
        line = f"{one_line(event.tool)} {one_line(event.summary)}".strip()
        self._tools[event.call] = line
        self._waiting_for = line
        if event.tool != "Skill":
            self._note(f"· {line}"[: self.screen.width])

    def _finish(self, event: ToolFinished) -> None:
        line = self._tools.get(event.call, one_line(event.tool))
        self.results.append((line, msgspec.to_builtins(event.result)))
        self._waiting_for = "thinking"
        problem = event.result.get("error", {})
        code = event.result.get("data", {}).get("exit_code")
        took = event.result.get("stats", {}).get("time_ms", 0)
        if event.status == "error":
            self._note(f"  {self.screen.style('✗', 'red')} {one_line(str(problem.get('message', '')))}")
        elif code:
            self._note(f"  {self.screen.style('✗', 'red')} exit code {code}")
        elif took >= _LONG_MS:
            self._note(f"  ✓ {took / 1000:.1f} s")

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
            if self._waiting_for:
                frame = (frame + 1) % len(_FRAMES)
                tokens = f" · {self._tokens} tokens" if self._tokens else ""
                elapsed = time.monotonic() - started
                what = self._waiting_for[:60]
                self.screen.show_status(f"{_FRAMES[frame]} {what} {elapsed:.0f} s{tokens} · Ctrl-C stops")
