"""Questions that tools ask while a daemon works: pushed to whoever may answer; the first answer counts."""

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.messages import Answer, Answered, ApprovalNeeded
from clawft.protocol.running import ExecutionEntry, Question, QuestionAsked, QuestionClosed, Verdict
from clawft.serve.caller import Call, Caller
from clawft.serve.topics import Topics
from clawft.trust.audit.log import note_asked

__all__ = ["Questions"]

_MOST = 10_000
Note = Callable[[Caller, Question, Verdict], None]


class _Given(Struct, frozen=True):
    """An answer, by whom in the words of the audit log, and the name of the token that gave it."""

    answer: Answer
    by: str
    caller: str = ""


class _Asking:
    """A question that waits."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answered: asyncio.Future[_Given] = asyncio.get_running_loop().create_future()


class Questions:
    """All that wait, in the order they were asked. `note` writes down who answered, before that counts."""

    name = "questions"

    def __init__(self, topics: Topics, timeout_s: float, note: Note) -> None:
        self._topics = topics
        self._timeout_s = timeout_s
        self._note = note
        self._waiting: dict[str, _Asking] = {}

    def check(self) -> Diagnostic | None:
        return None  # they wait for people

    @property
    def waiting(self) -> tuple[Question, ...]:
        return tuple(one.question for one in self._waiting.values())

    async def ask(self, call: Call, event: ApprovalNeeded, about: ExecutionEntry) -> Answered:
        """Put a question to whoever may answer; "nobody" where there is no one, or no answer in time."""
        can_answer = call.can_answer and call.caller.may("approve")
        if not can_answer and not self._topics.has_listeners("approvals"):
            return Answered("nobody", "nobody to ask")
        asking = self._open(event, about)
        note_asked()
        message = QuestionAsked(question=asking.question)
        self._topics.publish("approvals", message)
        if can_answer:
            call.send(message)
        answer: Answer | Literal["cancelled"] = "cancelled"
        by = ""
        try:
            given = await self._wait(asking)
            answer, by = given.answer, given.caller
            return Answered(answer, given.by)
        finally:
            del self._waiting[asking.question.question]
            closed = QuestionClosed(question=asking.question.question, answer=answer, by=by)
            self._topics.publish("approvals", closed)
            if can_answer:
                call.send(closed)

    async def _wait(self, asking: _Asking) -> _Given:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asking.answered
        except TimeoutError:
            return _Given("nobody", f"no answer within {self._timeout_s:g} seconds")

    def answer(self, caller: Caller, question: str, answer: Verdict) -> None:
        """Raises: NotFound for one that does not wait; Refused; ClawftError for an answer that it does not take."""
        asking = self._waiting.get(question)
        if asking is None or asking.answered.done():
            message = f"No question '{question}' waits for an answer"
            raise NotFound("question-not-found", message, hint="It was answered, or its time is over")
        caller.need("approve")
        if asking.question.grave and answer not in ("once", "no"):
            raise ClawftError("question-grave", "This is answered each time: once, or no")
        self._note(caller, asking.question, answer)
        asking.answered.set_result(_Given(answer, caller.described, caller.name))

    def close(self) -> None:
        """Nobody answers any more."""
        for one in self._waiting.values():
            if not one.answered.done():
                one.answered.set_result(_Given("nobody", "the daemon ended"))

    def _open(self, event: ApprovalNeeded, about: ExecutionEntry) -> _Asking:
        if len(self._waiting) >= _MOST:
            raise Refused("questions-full", "Too many questions wait for an answer already")
        now = datetime.now(UTC)
        question = Question(
            question=uuid.uuid4().hex[:12],
            execution=about.execution,
            session=about.session,
            skill=about.skill,
            caller=about.caller,
            tool=event.tool,
            text=event.question,
            call=event.call,
            reason=event.reason,
            grave=event.grave,
            asked=now.isoformat(timespec="seconds"),
            until=(now + timedelta(seconds=self._timeout_s)).isoformat(timespec="seconds"),
        )
        asking = self._waiting[question.question] = _Asking(question)
        return asking
