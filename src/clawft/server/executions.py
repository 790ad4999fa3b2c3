"""Executions: a bounded number of turns, shared fairly between callers, and the questions their tools ask."""

import asyncio
import time
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Literal

import anyio
from msgspec import Struct, structs

from clawft.agent.conversation import new_key, open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation, Runtime
from clawft.config.serve import LimitSettings
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.messages import Answer, AnyEvent, ApprovalAnswer, ApprovalNeeded, Event, TurnFailed, TurnFinished, Usage
from clawft.server.callers import DaemonCall, DaemonCaller, Topics
from clawft.server.protocol.base import Problem
from clawft.server.protocol.executions import (
    Ended,
    ExecutionEntry,
    ExecutionFinished,
    ExecutionStarted,
    Question,
    QuestionAsked,
    QuestionClosed,
    TurnEvent,
    Verdict,
)
from clawft.skills.parse.model import Agent
from clawft.trust.audit.log import note_asked, set_audit_actor


class FairSemaphore:
    """A limit on concurrent executions, fair between callers. Callers are identified by name; each one's work starts in
    order."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """One of them, until the block ends."""
        await self._take(name)
        try:
            yield
        finally:
            self._give_back(name)

    async def _take(self, name: str) -> None:
        if self._free:
            self._free -= 1
            self._taken[name] += 1
            return
        turn = anyio.Event()
        self._waiting.setdefault(name, deque()).append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():  # it came, and nobody is there any more
                self._give_back(name)
            else:
                self._leave(name, turn)
            raise

    def _give_back(self, name: str) -> None:
        # The one that gives it back still counts as having it: else it would be its turn again.
        following = min(self._waiting, key=lambda one: self._taken[one], default=None)  # of several, who waits longest
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]
        if following is None:
            self._free += 1
            return
        turn = self._waiting[following][0]
        self._leave(following, turn)
        self._taken[following] += 1
        turn.set()

    def _leave(self, name: str, turn: anyio.Event) -> None:
        queue = self._waiting.pop(name)
        queue.remove(turn)
        if queue:
            self._waiting[name] = queue


_MOST = 10_000
Note = Callable[[DaemonCaller, Question, Verdict], None]


class _PersonAnswer(Struct, frozen=True):
    """An answer, the name of its author for the audit log, and the name of the token that gave it."""

    answer: Answer
    by: str
    caller: str = ""


class _Asking:
    """A question that waits."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answered: asyncio.Future[_PersonAnswer] = asyncio.get_running_loop().create_future()


class Questions:
    """The open questions, in the order they were asked. `note` records who answered before the answer takes effect."""

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
        return tuple(asking.question for asking in self._waiting.values())

    async def ask(self, call: DaemonCall, event: ApprovalNeeded, about: ExecutionEntry) -> ApprovalAnswer:
        """Put a question to a client that may answer; the answer is "nobody" where there is none, or none answers in
        time."""
        can_answer = call.can_answer and call.caller.may("approve")
        if not can_answer and not self._topics.has_listeners("approvals"):
            return ApprovalAnswer("nobody", "nobody to ask")
        asking = self._open(event, about)
        note_asked()
        message = QuestionAsked(question=asking.question)
        self._topics.publish("approvals", message)
        if can_answer:
            call.send(message)
        answer: Answer | Literal["cancelled"] = "cancelled"
        by = ""
        try:
            response = await self._wait(asking)
            answer, by = response.answer, response.caller
            return ApprovalAnswer(answer, response.by)
        finally:
            del self._waiting[asking.question.question]
            closed = QuestionClosed(question=asking.question.question, answer=answer, by=by)
            self._topics.publish("approvals", closed)
            if can_answer:
                call.send(closed)

    async def _wait(self, asking: _Asking) -> _PersonAnswer:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asking.answered
        except TimeoutError:
            return _PersonAnswer("nobody", f"no answer within {self._timeout_s:g} seconds")

    def answer(self, caller: DaemonCaller, question: str, answer: Verdict) -> None:
        """Raises: NotFound for one that does not wait; Refused; ClawftError for an answer that it does not take."""
        asking = self._waiting.get(question)
        if asking is None or asking.answered.done():
            message = f"No question '{question}' waits for an answer"
            raise NotFound("question-not-found", message, hint="It was answered, or its time is over")
        caller.need("approve")
        if asking.question.dangerous and answer not in ("once", "no"):
            raise ClawftError("question-grave", "This is answered each time: once, or no")
        self._note(caller, asking.question, answer)
        asking.answered.set_result(_PersonAnswer(answer, caller.described, caller.name))

    def close(self) -> None:
        """Nobody answers any more."""
        for asking in self._waiting.values():
            if not asking.answered.done():
                asking.answered.set_result(_PersonAnswer("nobody", "the daemon ended"))

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
            dangerous=event.dangerous,
            asked=now.isoformat(timespec="seconds"),
            until=(now + timedelta(seconds=self._timeout_s)).isoformat(timespec="seconds"),
        )
        asking = self._waiting[question.question] = _Asking(question)
        return asking


MAX_REMEMBERED = 1_000  # sessions whose "yes for this session" is known while the daemon runs
_UNKNOWN = "the token of its caller does not count any more"
_LOOK_S = 0.05
_END_S = 5.0
OpenRuntime = Callable[[], AbstractAsyncContextManager[Runtime]]


class ExecutionRequest(Struct, frozen=True):
    """A request to execute: a skill with its arguments, or a message."""

    text: str
    skill: str = ""
    session: str = ""
    model: str = ""
    agent: str = ""


class ExecutionOutcome(Struct, frozen=True):
    """The outcome of an execution."""

    execution: str
    session: str
    status: Ended
    text: str = ""
    usage: Usage = Usage()
    refused: int = 0
    events: int = 0
    error: Problem | None = None


class _Execution:
    """One piece of work, from the moment it is asked for."""

    def __init__(self, call: DaemonCall, work: ExecutionRequest) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.call = call
        self.work = work
        key = work.session or new_key(datetime.now(), self.id)
        self.session = call.caller.session_key(key)  # a client that sees it may ask for it again
        self.started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.began = time.perf_counter()
        self.is_waiting = True
        self.events = 0
        self.last: Event | None = None
        self.conversation: Conversation | None = None
        self._shown: dict[str, anyio.Event] = {}  # calls whose question stands in the stream
        self.scope = anyio.CancelScope()

    @property
    def entry(self) -> ExecutionEntry:
        return ExecutionEntry(
            execution=self.id,
            session=self.session,
            skill=self.work.skill,
            caller=self.call.caller.name,
            started=self.started,
            waiting=self.is_waiting,
            events=self.events,
        )

    def tell(self, event: AnyEvent) -> None:
        self.events += 1
        self.last = event
        self.call.send(TurnEvent(execution=self.id, sequence=self.events, event=event))
        if not self.call.is_known():
            self.cancel(_UNKNOWN)
        if isinstance(event, ApprovalNeeded):
            self._asked(event).set()

    async def wait_shown(self, event: ApprovalNeeded) -> None:
        """Wait until everything before a question was sent: nobody is asked about a call they have not seen."""
        await self._asked(event).wait()

    def _asked(self, event: ApprovalNeeded) -> anyio.Event:
        return self._shown.setdefault(event.call, anyio.Event())

    def cancel(self, why: str) -> None:
        """In order, where the turn runs: it says so itself, and what came so far is kept."""
        if self.conversation is not None:
            self.conversation.cancel(why)
        else:
            self.scope.cancel()

    def outcome(self) -> ExecutionOutcome:
        last, begun = self.last, ExecutionOutcome(self.id, self.session, "cancelled", events=self.events)
        if isinstance(last, TurnFailed):
            error = Problem(code=last.code, severity="error", message=last.message, hint=last.hint or None)
            return structs.replace(begun, status="failed", usage=last.usage, error=error)
        if isinstance(last, TurnFinished):
            return structs.replace(begun, status=last.stop, text=last.text, usage=last.usage, refused=last.refused)
        return begun


class Executions:
    """All work of a daemon. `open_runtime` gives what turns need as it is now; `choose_agent` one that may answer."""

    name = "executions"

    def __init__(
        self,
        open_runtime: OpenRuntime,
        choose_agent: Callable[[str], Agent],
        questions: Questions,
        topics: Topics,
        limits: LimitSettings,
    ) -> None:
        self._open_runtime = open_runtime
        self._choose_agent = choose_agent
        self._questions = questions
        self._topics = topics
        self._limits = limits
        self._slots = FairSemaphore(limits.executions)
        self._known: dict[str, _Execution] = {}
        self._approved: OrderedDict[str, set[str]] = OrderedDict()
        self._is_stopping = False
        self.ended: dict[Ended, int] = {}

    @property
    def entries(self) -> tuple[ExecutionEntry, ...]:
        return tuple(execution.entry for execution in self._known.values())

    def check(self) -> Diagnostic | None:
        """Return whether there is no room for more."""
        return _busy(len(self._known)).diagnostic if self._is_full() else None

    async def run(self, call: DaemonCall, work: ExecutionRequest) -> ExecutionOutcome:
        """Do it, and tell the caller every event. Raises: ClawftError if it could not begin."""
        execution = self._admit(call, work)
        try:
            with execution.scope:
                async with self._slots.hold(call.caller.name):
                    execution.is_waiting = False
                    await self._work(execution)
            outcome = execution.outcome()
            self.ended[outcome.status] = self.ended.get(outcome.status, 0) + 1
            return outcome
        finally:
            del self._known[execution.id]

    def cancel(self, caller: DaemonCaller, execution: str) -> None:
        """Raises: NotFound for one that is over, or another's."""
        found = self._known.get(execution)
        if found is None or not caller.owns(found.call.caller.name):
            message = f"No execution '{execution}' goes on"
            raise NotFound("execution-not-found", message, hint="It is over, or another's")
        found.cancel(f"cancelled by {caller.described}")

    def cancel_unauthenticated(self) -> None:
        """End what is done for those whose token does not count any more."""
        for execution in tuple(self._known.values()):
            if not execution.call.is_known():
                execution.cancel(_UNKNOWN)

    async def drain(self, wait_s: float) -> None:
        """Begin nothing more; let what goes on end in time, then end it."""
        self._is_stopping = True
        with anyio.move_on_after(wait_s):
            while self._known:
                await asyncio.sleep(_LOOK_S)
        for execution in tuple(self._known.values()):
            execution.cancel("the daemon ended")
        with anyio.move_on_after(_END_S):  # for those who wait for it to hear that
            while self._known:
                await asyncio.sleep(_LOOK_S)

    def _admit(self, call: DaemonCall, work: ExecutionRequest) -> _Execution:
        if self._is_stopping:
            raise stopping()
        mine = sum(other.call.caller.name == call.caller.name for other in self._known.values())
        if self._is_full() or mine >= self._limits.executions + (self._limits.waiting + 1) // 2:
            raise _busy(len(self._known))  # nobody has all the room there is to wait
        execution = _Execution(call, work)
        self._known[execution.id] = execution
        return execution

    def _is_full(self) -> bool:
        return len(self._known) >= self._limits.executions + self._limits.waiting

    async def _work(self, execution: _Execution) -> None:
        work = execution.work
        agent = self._choose_agent(work.agent)

        async def approve(event: ApprovalNeeded) -> ApprovalAnswer:
            await execution.wait_shown(event)
            return await self._questions.ask(execution.call, event, execution.entry)

        async with (
            self._open_runtime() as runtime,
            open_conversation(runtime, agent, key=execution.session, approve=approve) as conversation,
        ):
            execution.session = conversation.session.key
            conversation.approved = self._remember(execution.session)
            conversation.reason_if_left = "the connection was closed"
            execution.conversation = conversation
            self._topics.publish("executions", ExecutionStarted(execution=execution.entry))
            try:
                request = TurnRequest(work.text, model=work.model, skill=work.skill)
                with set_audit_actor(execution.call.caller.name, execution.session):
                    async with aclosing(run_turn(conversation, request)) as events:
                        async for event in events:
                            execution.tell(event)  # type: ignore[arg-type]
            finally:
                execution.conversation = None
                self._tell_finished(execution)

    def _tell_finished(self, execution: _Execution) -> None:
        outcome = execution.outcome()
        finished = ExecutionFinished(
            execution=execution.id,
            session=execution.session,
            skill=execution.work.skill,
            status=outcome.status,
            events=outcome.events,
            caller=execution.call.caller.name,
            refused=outcome.refused,
            error=outcome.error.code if outcome.error else "",
            ms=round((time.perf_counter() - execution.began) * 1000),
        )
        self._topics.publish("executions", finished)

    def _remember(self, session: str) -> set[str]:
        """Return the approvals that the user gave for this session, kept as long as the daemon runs."""
        approved = self._approved.pop(session, set())
        self._approved[session] = approved
        if len(self._approved) > MAX_REMEMBERED:
            self._approved.popitem(last=False)
        return approved


def stopping() -> ClawftError:
    return ClawftError("serve-stopping", "The daemon is about to end", hint="Try again when it runs again")


def _busy(count: int) -> ClawftError:
    message = f"{count} pieces of work go on or wait already"
    return ClawftError("serve-busy", message, hint="Try again later, or raise serve.limits.waiting")
