"""A conversation: one session with an agent, its skills and what the person approved. Turns run one at a time."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

import anyio

from clawft.errors import ClawftError
from clawft.format.model import Agent
from clawft.messages import Answer, Answered, ApprovalNeeded, By, Event
from clawft.run.allowance import Allowance
from clawft.run.lineage import AgentPower, Lineage, begin_lineage, lineage_of, power_of
from clawft.run.loop import run_turn, work_turn
from clawft.run.permit import authority_of
from clawft.run.pipeline import compact_stages, run_stages
from clawft.run.text_limits import add_limits_above
from clawft.run.turn import Stage, Turn, TurnRequest
from clawft.sessions import OpenSession, SkillRecord, TextLimits
from clawft.sessions.opened import AboutSkill
from clawft.tools.registry import Registry
from clawft.tools.skillset import Skillset
from clawft.tools.steps import Steps
from clawft.trust import Standing
from clawft.trust.modes import Mode, agent_mode

if TYPE_CHECKING:
    from clawft.run.runtime import Runtime

__all__ = ["Approve", "Conversation"]

Approve = Callable[[ApprovalNeeded], Awaitable[Answer | Answered]]


class Conversation:
    """State that lives from turn to turn. `approve` answers when a tool asks; without it the answer is no.

    A conversation with a `parent` or a `lineage` is a fork. It sees nothing of what was said there, and can do no more:
    the agents above it, and the skills that were active in them, limit it too. With a parent it also shares what that
    is told and spends while both are at work.
    """

    def __init__(
        self,
        runtime: "Runtime",
        session: OpenSession,
        agent: Agent,
        approve: Approve | None = None,
        parent: "Conversation | None" = None,
        lineage: Lineage | None = None,
    ) -> None:
        made = lineage or (lineage_of(parent) if parent else begin_lineage(runtime, session.key))
        self.runtime = runtime
        self.session = session
        self.agent = agent
        self.approve = approve
        self.steps = Steps()
        self.lineage = made
        self.depth: int = made.depth  # how many forks deep
        self.account: str = made.account  # the session whose budget pays
        self.turn: int = made.turn  # that session's turn which runs, or ran last
        self.running: Turn | None = None
        # A yes "for this session" is the person's word for all that works for them in it.
        self.approved: set[str] = parent.approved if parent else set(made.approved)
        self.mode: Mode = made.mode
        self.skills: Skillset = Skillset(
            runtime.load_skills,
            runtime.clear,
            runtime.dynamic(lambda: authority_of(self), lambda: self.steps),
            session_id=session.key,
            refresh_on_call=runtime.refresh_on_call,
            standings=parent.skills.standings if parent else None,
        )
        # Limits of what was read, by the name of their record, until the next message is written.
        self.pending_limits: list[tuple[str, AboutSkill]] = []
        self.older_limits: dict[SkillRecord, tuple[TextLimits, ...]] = {}  # those of lines of earlier versions
        add_limits_above(self)
        self.started = False  # hooks heard that it begins in this process
        self.sections: list[str] = []  # what they added to its prompts then
        self.told: set[str] = set()  # notices that are said once
        self.forked: Standing | None = None  # the skill that this conversation is for
        self.forked_by: By = made.by
        self.forks: tuple[str, ...] = made.forks  # the skills that were forked, down to here
        self.allowance: Allowance = Allowance(made.max_tokens, parent.allowance if parent else None)
        self.slots: anyio.CapacityLimiter = anyio.CapacityLimiter(runtime.config.agents.fork.max_parallel)
        folders = {one.name: one.found.folder for one in self.skills.standings if one.usable}
        self.skills.loaded = {name: folders[name] for name in session.activated if name in folders}
        self.registry: Registry | None = None
        self._parent = parent
        self._ending = ""
        # What it means when the task of its turn is cancelled from outside, in the words of the audit log.
        self.reason_if_left: str = parent.reason_if_left if parent else "the turn was stopped"
        self._asking = anyio.Lock()
        self._scope: anyio.CancelScope | None = None

    @property
    def agents(self) -> tuple[AgentPower, ...]:
        """The agents that limit it: those above, then its own."""
        return (*self.lineage.above, power_of(self.agent))

    @property
    def effective_mode(self) -> Mode:
        """How much is done unasked: what was chosen, or what the agent asks for if that is less."""
        return agent_mode(self.agent, self.mode)

    def set_mode(self, mode: Mode, by: str) -> None:
        """Only a person changes the mode; it is written down. Raises: Refused if that is not possible."""
        detail, session = {"from": self.mode.value, "by": by}, self.session.key
        self.runtime.audit.write("mode", mode.value, decision="allow", rule=by, session=session, detail=detail)
        self.mode = mode

    def run(self, request: TurnRequest) -> AsyncGenerator[Event]:
        """One turn. Raises: ClawftError when another turn of this conversation is still running."""
        return self._run(request, run_stages)

    def compact(self, model: str = "") -> AsyncGenerator[Event]:
        """Summarise all but the last turn now, whether or not the window is full."""
        return self._run(TurnRequest("", model=model), compact_stages)

    async def work(self, request: TurnRequest, send: Callable[[Event], None]) -> None:
        """One turn inside the task of the caller: whatever ends that ends the turn. Raises: ClawftError."""
        with self._starting() as scope:
            await work_turn(self._make(request, send), scope, run_stages)

    async def ask(self, event: ApprovalNeeded) -> Answer | Answered:
        """Put a question to whoever started this; one at a time, since there is one person."""
        if self.approve is None:
            return "nobody"
        async with self._asking:
            return await self.approve(event)

    async def _run(self, request: TurnRequest, stages: Stage) -> AsyncGenerator[Event]:
        with self._starting() as scope:
            events = run_turn(lambda send: self._make(request, send), scope, stages)
            async with aclosing(events):
                async for event in events:
                    yield event

    def _make(self, request: TurnRequest, send: Callable[[Event], None]) -> Turn:
        self.running = Turn(self, request, send)
        return self.running

    @contextmanager
    def _starting(self) -> Iterator[anyio.CancelScope]:
        if self._scope is not None:
            raise ClawftError("turn-running", "A turn of this conversation is still running")
        self._scope, self._ending = anyio.CancelScope(), ""
        if not self.depth:  # a fork is one turn, with the skills that its parent sees
            self.turn = self.session.next_turn
            self.skills.start_turn()
            self.runtime.hooks.refresh(self.skills.standings)
        try:
            yield self._scope
        finally:
            self._scope = self.running = None

    def cancel(self, why: str = "") -> None:
        """End the turn that is running; its last event says so. `why` is for the audit log."""
        if self._scope is not None:
            self._ending = why
            self._scope.cancel()

    @property
    def ending(self) -> str:
        """Who or what ends the turn that is running, here or above; '' where that is not known."""
        above = self._parent.ending if self._parent else ""
        return self._ending or above or self.steps.ending
