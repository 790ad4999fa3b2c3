"""A skill at work for an MCP client: what happens meanwhile, in few words, and what its tools ask.

Nothing here waits for the client. A client that reads slowly is told less, and the answer whole.
"""

import math
import secrets
import time
from collections import deque

import anyio

from clawft.errors import ClawftError
from clawft.messages import (
    Event,
    ForkFinished,
    ForkStarted,
    MessageSent,
    Noticed,
    SkillActivated,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from clawft.protocol.base import Answer
from clawft.protocol.encoding import tellable
from clawft.protocol.running import ExecuteSkill, Question, QuestionAsked, QuestionClosed, SkillResult, TurnEvent
from clawft.serve.caller import Call, Caller
from clawft.serve.daemon import Daemon
from clawft.serve.mcp.asking import Recheck

__all__ = ["Turn"]

MAX_LINES = 100  # that wait for a client
MAX_LINE = 500
_TEXT_EVERY_S = 0.25
_OURS = ("mcp-", "config-", "plugin-", "hook")  # how this machine is set up is no business of a client


class Turn:
    """One execution. A client may leave it to ask a person something, and come back with `key`."""

    def __init__(self, caller: Caller, request: ExecuteSkill, is_known: Recheck, *, can_answer: bool) -> None:
        self.key = secrets.token_urlsafe(18)
        self.caller = caller
        self.request = request
        self.call = Call(caller, self._hear, can_answer=can_answer, is_known=is_known)
        self.questions: dict[str, Question] = {}
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        self.told = 0
        self.result: SkillResult | None = None
        self.error: BaseException | None = None
        self.is_attended = True
        self.over = anyio.Event()
        self.taken = anyio.Event()  # nobody comes back for it
        self._news = anyio.Event()
        self._scope = anyio.CancelScope()
        self._text = ""
        self._text_told = 0.0

    async def run(self, daemon: Daemon, wait_s: float) -> None:
        """Do it; then wait a while for whoever left to come back."""
        try:
            with self._scope:
                answer = await daemon.answer(self.call, self.request)
                assert isinstance(answer, SkillResult)
                self.result = answer
        except Exception as error:  # it is raised again where the client is
            self.error = error
        self.over.set()
        self._news.set()
        with anyio.move_on_after(wait_s):
            await self.taken.wait()

    async def wait(self) -> None:
        """Until something happened."""
        await self._news.wait()
        self._news = anyio.Event()

    def leave(self, wait_s: float) -> None:
        """The client goes to ask a person. It has a while to come back."""
        self.is_attended = False
        self._scope.deadline = anyio.current_time() + wait_s

    def return_to(self) -> None:
        self.is_attended = True
        self._scope.deadline = math.inf
        self._news.set()

    def end(self) -> None:
        """The client has its answer, or does not want one."""
        self._scope.cancel()
        self.taken.set()

    def give(self) -> SkillResult:
        """The result. Raises: ClawftError if it could not begin; whatever went wrong."""
        if self.error is not None:
            raise self.error
        if self.result is None:
            raise ClawftError("execution-cancelled", "The execution was ended before it began")
        return self.result

    def _hear(self, answer: Answer) -> None:
        match answer:
            case QuestionAsked(question=question):
                self.questions[question.question] = question
                self._say(f"asks: {question.text}")
            case QuestionClosed(question=question_id, answer=verdict):
                self.questions.pop(question_id, None)
                self._say(f"answered: {verdict}")
            case TurnEvent(event=TextDelta(text=text)):
                self._add_text(text)
            case TurnEvent(event=event) if line := _put(event):
                self._flush_text()
                self._say(line)

    def _say(self, line: str) -> None:
        self.lines.append(tellable(" ".join(line.split())[:MAX_LINE]))
        self._news.set()

    def _add_text(self, text: str) -> None:
        self._text = (self._text + text)[-MAX_LINE:]
        if time.monotonic() - self._text_told >= _TEXT_EVERY_S:
            self._flush_text()

    def _flush_text(self) -> None:
        if self._text.strip():
            self._say(self._text)
        self._text, self._text_told = "", time.monotonic()


def _put(event: Event) -> str:
    """A line about something that happened; '' where there is nothing to say."""
    match event:
        case SkillActivated(name=name):
            return f"skill {name}"
        case ToolStarted(tool=tool, summary=summary):
            return f"{tool} {summary}"
        case ToolFinished(tool=tool, status="error", result=result):
            return f"{tool} failed: {result.get('error', {}).get('message', '')}"
        case ToolFinished(tool=tool):
            return f"{tool} done"
        case MessageSent(text=text):
            return text
        case ForkStarted(skill=skill):
            return f"fork {skill}"
        case ForkFinished(skill=skill, status=status):
            return f"fork {skill}: {status}"
        case Noticed(code=code) if code.startswith(_OURS):
            return ""
        case Noticed(code=code, message=message, severity=severity):
            return f"{severity}[{code}]: {message}"
    return ""
