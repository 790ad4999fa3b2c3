"""Work that a daemon does for its callers: a bounded number of turns at a time, each in the task of its request."""

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import UTC, datetime

import anyio
from msgspec import Struct, structs

from clawft.config.serve import LimitSettings
from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.format.model import Agent
from clawft.messages import Answered, AnyEvent, ApprovalNeeded, Event, TurnFailed, TurnFinished, Usage
from clawft.protocol.base import Problem
from clawft.protocol.running import Ended, ExecutionEntry, ExecutionFinished, ExecutionStarted, TurnEvent
from clawft.run import Conversation, Runtime, TurnRequest
from clawft.run.runtime import new_key
from clawft.serve.caller import Call, Caller
from clawft.serve.questions import Questions
from clawft.serve.slots import Slots
from clawft.serve.topics import Topics
from clawft.trust.audit.log import acting_for

__all__ = ["Executions", "Outcome", "Work", "stopping"]

MAX_REMEMBERED = 1_000  # sessions whose "yes for this session" is known while the daemon runs
_UNKNOWN = "the token of its caller does not count any more"
_LOOK_S = 0.05
_END_S = 5.0
OpenRuntime = Callable[[], AbstractAsyncContextManager[Runtime]]


class Work(Struct, frozen=True):
    """What is to be done: a skill with its arguments, or a message."""

    text: str
    skill: str = ""
    session: str = ""
    model: str = ""
    agent: str = ""


class Outcome(Struct, frozen=True):
    """How it ended."""

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

    def __init__(self, call: Call, work: Work) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.call = call
        self.work = work
        key = work.session or new_key(datetime.now(), self.id)
        self.session = call.caller.session_key(key)  # whoever is told it may ask for it again
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
        """Until everything before a question was told: nobody is asked about a call they have not seen."""
        await self._asked(event).wait()

    def _asked(self, event: ApprovalNeeded) -> anyio.Event:
        return self._shown.setdefault(event.call, anyio.Event())

    def cancel(self, why: str) -> None:
        """In order, where the turn runs: it says so itself, and what came so far is kept."""
        if self.conversation is not None:
            self.conversation.cancel(why)
        else:
            self.scope.cancel()

    def outcome(self) -> Outcome:
        last, begun = self.last, Outcome(self.id, self.session, "cancelled", events=self.events)
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
        self._slots = Slots(limits.executions)
        self._known: dict[str, _Execution] = {}
        self._approved: OrderedDict[str, set[str]] = OrderedDict()
        self._is_stopping = False
        self.ended: dict[Ended, int] = {}

    @property
    def entries(self) -> tuple[ExecutionEntry, ...]:
        return tuple(one.entry for one in self._known.values())

    def check(self) -> Diagnostic | None:
        """Whether there is no room for more."""
        return _busy(len(self._known)).diagnostic if self._is_full() else None

    async def run(self, call: Call, work: Work) -> Outcome:
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

    def cancel(self, caller: Caller, execution: str) -> None:
        """Raises: NotFound for one that is over, or another's."""
        found = self._known.get(execution)
        if found is None or not caller.owns(found.call.caller.name):
            message = f"No execution '{execution}' goes on"
            raise NotFound("execution-not-found", message, hint="It is over, or another's")
        found.cancel(f"cancelled by {caller.described}")

    def end_unknown(self) -> None:
        """End what is done for those whose token does not count any more."""
        for one in tuple(self._known.values()):
            if not one.call.is_known():
                one.cancel(_UNKNOWN)

    async def drain(self, wait_s: float) -> None:
        """Begin nothing more; let what goes on end in time, then end it."""
        self._is_stopping = True
        with anyio.move_on_after(wait_s):
            while self._known:
                await asyncio.sleep(_LOOK_S)
        for one in tuple(self._known.values()):
            one.cancel("the daemon ended")
        with anyio.move_on_after(_END_S):  # for those who wait for it to hear that
            while self._known:
                await asyncio.sleep(_LOOK_S)

    def _admit(self, call: Call, work: Work) -> _Execution:
        if self._is_stopping:
            raise stopping()
        mine = sum(one.call.caller.name == call.caller.name for one in self._known.values())
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

        async def approve(event: ApprovalNeeded) -> Answered:
            await execution.wait_shown(event)
            return await self._questions.ask(execution.call, event, execution.entry)

        async with (
            self._open_runtime() as runtime,
            runtime.open_conversation(agent, key=execution.session, approve=approve) as conversation,
        ):
            execution.session = conversation.session.key
            conversation.approved = self._remember(execution.session)
            conversation.reason_if_left = "the connection was closed"
            execution.conversation = conversation
            self._topics.publish("executions", ExecutionStarted(execution=execution.entry))
            try:
                request = TurnRequest(work.text, model=work.model, skill=work.skill)
                with acting_for(execution.call.caller.name, execution.session):
                    async with aclosing(conversation.run(request)) as events:
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
        """What the person said yes to for this session, as long as the daemon runs."""
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
