"""The events of a turn, rendered for a terminal or as JSON lines, and the approval questions of tools."""

import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import click
import msgspec

from clawft.cli.output import clean, escape_unsafe, one_line, say
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
)
from clawft.trust.audit.log import AT_TERMINAL, LEFT, note_asked
from clawft.trust.tools import SKILL_TOOL

_LONG_MS = 2_000  # a tool that took so long says so


def render_event(event: Event) -> str:
    """A line about something that happened on the way; '' where there is nothing to say."""
    match event:
        case SkillActivated(name=name, scope=scope):
            return f"· skill {one_line(name)} ({scope})"
        case MessageSent(text=text, hook=hook) if hook:
            return f"» {one_line(hook)}: {_indent(text)}"
        case MessageSent(text=text):
            return f"» {_indent(text)}"
        case Compacted(tokens_before=before, tokens_after=after):
            return f"· older turns were summarised: {before} tokens became {after}"
        case ForkStarted(skill=skill, agent=agent, model=model):
            return f"· fork {_name(skill)} (agent {one_line(agent)}, {one_line(model)})"
        case ForkActed(tool=tool, summary=summary):
            return f"{one_line(tool)} {one_line(summary)}".strip()
        case ForkFinished():
            return _tell_fork(event)
    return ""


def _indent(text: str) -> str:
    """A text of others, none of whose lines looks like one of ours."""
    return clean(text).replace("\n", "\n  ")


def _tell_fork(event: ForkFinished) -> str:
    """Render how a fork ended, what it used, and the command that shows its session."""
    mark = "✓" if event.status == "done" else "✗"
    ended = "" if event.status == "done" else f" {event.status.replace('_', ' ')}:"
    calls = f"{event.calls} tool call{'' if event.calls == 1 else 's'}"
    took = f"{calls}, {event.usage.total_tokens:,} tokens, {event.time_ms / 1000:.1f} s"
    return f"{mark} fork {_name(event.skill)}:{ended} {took}; weft sessions show {one_line(event.child)}"


def _name(skill: str) -> str:
    return one_line(skill) or "for a delegated task"


def render_tool_start(event: ToolStarted) -> str:
    """A tool and what it is used on. A model may make up any name."""
    return f"{one_line(event.tool)} {one_line(event.summary)}".strip()


def render_tool_end(event: ToolFinished) -> tuple[bool, str] | None:
    """Return whether a tool failed, and a word on it; None where it did what it should, in a short time."""
    result = event.result
    if event.status == "error":
        return True, one_line(str(result.get("error", {}).get("message", "")))
    data, took = result.get("data", {}), result.get("stats", {}).get("time_ms", 0)
    if code := data.get("exit_code"):
        return True, f"exit code {code}" + (f" ({one_line(str(why))})" if (why := data.get("hindered")) else "")
    if "session" in result.get("data", {}):  # ForkFinished tells it
        return None
    return (False, f"{took / 1000:.1f} s") if took >= _LONG_MS else None


def render_todos(event: ToolFinished) -> str:
    """The todo list that a tool wrote, a line for each item; '' for any other tool."""
    text = str(event.result.get("text", ""))
    is_list = event.tool == "TodoWrite" and event.status == "success"
    return "\n".join(f"  {one_line(line)}" for line in text.splitlines()) if is_list else ""


def render_question(event: ApprovalNeeded) -> str:
    """A question of the model with its options, numbered."""
    options = [f"  {number}. {one_line(option)}" for number, option in enumerate(event.options, 1)]
    return "\n".join([_indent(event.question), *options])


def read_choice(typed: str, event: ApprovalNeeded, left: bool) -> ApprovalAnswer:
    """The answer to a question with options: their numbers, or words; nothing is no answer. `left`: it was left so."""
    words = typed.replace(",", " ").split()
    numbers = [int(word) for word in words if word.isdecimal() and 1 <= int(word[:9]) <= len(event.options)]
    chosen = [event.options[number - 1].partition(": ")[0] for number in numbers]
    choice = ", ".join(chosen) if len(numbers) == len(words) else typed.strip()
    return ApprovalAnswer("once" if choice else "no", LEFT if left else AT_TERMINAL, choice)


CHOOSE = "  A number, or your own words: "
_ANSWERS: dict[str, Answer] = {
    "y": "once", "yes": "once", "r": "session", "s": "session", "n": "no", "no": "no", "": "no",
}  # fmt: skip

_CHOICES, _ONCE = "  [y]es, yes for the [r]est of this run, [N]o: ", "  [y]es, this once, [N]o: "


class TurnApprover:
    """Answers what tools ask: with yes to all, by asking the person, or, where nobody is there, with no."""

    def __init__(self, printer: "TurnPrinter | JsonLines", *, yes: bool) -> None:
        self.yes = yes
        self.unanswered = 0
        self.printer = printer
        self._shown: dict[str, anyio.Event] = {}

    def note(self, event: ApprovalNeeded) -> None:
        """The stream has come to a question: what happened before it is on the screen."""
        self._seen(event).set()

    def _seen(self, event: ApprovalNeeded) -> anyio.Event:
        return self._shown.setdefault(event.call, anyio.Event())

    async def __call__(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        is_question = event.tool == "AskUserQuestion"
        if self.yes and not event.dangerous and not is_question:
            return "flag"
        await self._seen(event).wait()
        if is_question:
            return await self._choose(event)
        if not can_ask():
            self.unanswered += 1
            asked = f"{one_line(event.question)}: {one_line(event.reason)}"
            way = "Only a person at a terminal can allow it." if event.dangerous else "Pass --yes to allow it."
            self.printer.note(f"refused: {asked}; nobody to ask. {way}")
            return "nobody"
        note_asked()
        mark = click.style("?", fg="yellow")
        self.printer.note(f"{mark} {one_line(event.question)}\n  {one_line(event.reason)}")
        while True:
            typed = await ask_line(_ONCE if event.dangerous else _CHOICES)
            answer = _ANSWERS.get(typed.strip().lower())
            if answer is not None and not (event.dangerous and answer == "session"):
                return ApprovalAnswer(answer, AT_TERMINAL if typed else LEFT)
            self.printer.note("  Please answer y or n" if event.dangerous else "  Please answer y, r or n")

    async def _choose(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        mark = click.style("?", fg="yellow")
        self.printer.note(f"{mark} {render_question(event)}")
        if not can_ask():
            self.printer.note("  nobody is there to answer; the model goes on without")
            return "nobody"
        note_asked()
        typed = await ask_line(CHOOSE)
        return read_choice(typed, event, left=not typed)


def can_ask() -> bool:
    """Return whether a person is there who sees a question and can answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


async def ask_line(choices: str) -> str:
    """The line that is typed now. What was typed before the question came is no answer to it."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    print_part(choices)
    await anyio.wait_readable(sys.stdin)  # a thread that reads could not be ended by Ctrl-C
    return sys.stdin.readline()


def print_part(text: str) -> None:
    click.echo(text, err=True, nl=False)


class JsonLines:
    """One event per line on stdout."""

    def show(self, event: Event) -> None:
        click.echo(escape_unsafe(msgspec.json.encode(event).decode()))

    def note(self, text: str) -> None:
        say(text)


class TurnPrinter:
    """The answer on stdout as it comes; what is done meanwhile on stderr."""

    def __init__(self) -> None:
        self._terminal = sys.stdout is not None and sys.stdout.isatty()
        self._mid_line = False
        self._tools: dict[str, str] = {}

    def show(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                self._write(text)
            case TurnFinished():
                self._end_line()
            case TurnFailed():
                self._end_line()
                self._fail(event)
            case ToolStarted():
                self._start_tool(event)
            case ToolFinished():
                self._finish_tool(event)
            case SkillActivated() | MessageSent() | Compacted() | ForkStarted() | ForkFinished():
                self.note(render_event(event))
            case Noticed(code=code, message=message, severity=severity, hint=hint):
                colour = "yellow" if severity == "warning" else "blue"
                self.note(f"{click.style(f'{severity}[{code}]', fg=colour)}: {one_line(message)}")
                if hint:
                    self.note(f"  hint: {one_line(hint)}")

    def _start_tool(self, event: ToolStarted) -> None:
        self._tools[event.call] = render_tool_start(event)
        if event.tool != SKILL_TOOL:  # SkillActivated tells it
            self.note(f"· {self._tools[event.call]}")

    def _finish_tool(self, event: ToolFinished) -> None:
        if todos := render_todos(event):
            self.note(todos)
        ended = render_tool_end(event)
        if ended:
            mark = click.style("✗", fg="red") if ended[0] else "✓"
            self.note(f"{mark} {self._tools.get(event.call, '')}: {ended[1]}")

    def _write(self, text: str) -> None:
        if sys.stdout is not None:
            sys.stdout.write(clean(text) if self._terminal else text)
            sys.stdout.flush()
        self._mid_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._mid_line:
            self._write("\n")

    def note(self, text: str) -> None:
        self._end_line()
        say(text)

    def _fail(self, event: TurnFailed) -> None:
        say(f"{click.style(f'error[{event.code}]', fg='red')}: {one_line(event.message)}")
        if event.hint:
            say(f"hint: {one_line(event.hint)}")


async def show_events(
    events: AsyncGenerator[Event], printer: TurnPrinter | JsonLines, approver: TurnApprover
) -> Event | None:
    """Show a whole turn; the event it ended with."""
    last = None
    async with aclosing(events) as stream:
        async for event in stream:
            printer.show(event)
            if isinstance(event, ApprovalNeeded):
                approver.note(event)
            last = event
    return last
