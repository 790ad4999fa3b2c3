"""A conversation: one session with an agent, its skills, its approvals and its token allowance. Turns run one at
a time.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio

from clawft.agent.lineage import AgentPower, Lineage, begin_lineage, lineage_of, power_of
from clawft.agent.loop import compact_stages, run_stages, run_turn, work_turn
from clawft.agent.sessions import OpenSession, SkillRecord, TextLimits
from clawft.agent.sessions.session import AboutSkill
from clawft.agent.text_limits import add_limits_above, is_bound
from clawft.agent.tool_permission import authority_of
from clawft.agent.tools.skillset import Skillset
from clawft.agent.tools.steps import TurnSteps
from clawft.agent.tools.tool import ToolRegistry
from clawft.agent.turn import Stage, Turn, TurnRequest
from clawft.errors import ClawftError, Refused
from clawft.messages import Answer, ApprovalAnswer, ApprovalNeeded, By, Event
from clawft.skills.parse.model import Agent
from clawft.trust.modes import Mode, agent_mode
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.agent.runtime import Runtime


class TokenHold:
    """The tokens reserved for one model call; the caller sets `used` to what the call used."""

    used = 0


class TokenAllowance:
    """Tokens of one conversation and those below it. `limit` None is no limit but those above."""

    def __init__(self, limit: int | None, above: "TokenAllowance | None" = None) -> None:
        self.limit = limit
        self.taken = 0
        self._above = above

    @contextmanager
    def hold(self, worst: int) -> Iterator[TokenHold]:
        """Take what a call could use at worst; when it is over, what its hold says it used. Raises: Refused."""
        chain = tuple(self._chain())
        for allowance in chain:
            if allowance.limit is not None and allowance.taken + worst > allowance.limit:
                raise Refused(
                    "fork-budget",
                    f"agents.fork.max_tokens is {allowance.limit}: {allowance.taken} are spent, "
                    f"and this call could take {worst}",
                    hint="Raise agents.fork.max_tokens, or ask for less at once",
                )
        for allowance in chain:
            allowance.taken += worst
        call = TokenHold()
        try:
            yield call
        finally:
            for allowance in chain:
                allowance.taken += call.used - worst

    @property
    def left(self) -> int | None:
        """The tokens left under the narrowest limit; None if there is no limit."""
        left = [max(0, allowance.limit - allowance.taken) for allowance in self._chain() if allowance.limit is not None]
        return min(left, default=None)

    def spend(self, tokens: int) -> None:
        """Count what was used before, by a process that is gone."""
        for allowance in self._chain():
            allowance.taken += tokens

    def _chain(self) -> Iterator["TokenAllowance"]:
        one: TokenAllowance | None = self
        while one is not None:
            yield one
            one = one._above


Approve = Callable[[ApprovalNeeded], Awaitable[Answer | ApprovalAnswer]]


class Conversation:
    """The state of a conversation between turns. `approve` answers when a tool asks; without it the answer is no.

    A conversation with a `parent` or a `lineage` is a fork. It sees no message of the parent and can do no more than
    the parent: the agents above it, and the skills that were active in them, limit it too. With a parent it also shares
    the parent's approvals and token budget while both run.
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
        self.steps = TurnSteps()
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
            statuses=parent.skills.statuses if parent else None,
            activated=session.activated,
        )
        # Limits of what was read, by the name of their record, until the next message is written.
        self.pending_limits: list[tuple[str, AboutSkill]] = []
        self.older_limits: dict[SkillRecord, tuple[TextLimits, ...]] = {}  # those of lines of earlier versions
        add_limits_above(self)
        self.started = False  # hooks heard that it begins in this process
        self.sections: list[str] = []  # what they added to its prompts then
        self.noticed: set[str] = set()  # notices that are said once
        self.forked: SkillStatus | None = None  # the skill that this conversation is for
        self.forked_by: By = made.by
        self.forks: tuple[str, ...] = made.forks  # the skills that were forked, down to here
        self.allowance: TokenAllowance = TokenAllowance(made.max_tokens, parent.allowance if parent else None)
        self.slots: anyio.CapacityLimiter = anyio.CapacityLimiter(runtime.config.agents.fork.max_parallel)
        self.skills.is_bound = partial(is_bound, self)
        self.registry: ToolRegistry | None = None
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
        """The mode in force: the chosen one, or the agent's if that allows less without asking."""
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

    async def ask(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        """Put an approval question to the person behind this conversation, one question at a time; "nobody" if there is
        no one to ask."""
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
            self.runtime.hooks.refresh(self.skills.statuses)
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
        """The cause that ends the running turn, here or in a parent; '' if unknown."""
        above = self._parent.ending if self._parent else ""
        return self._ending or above or self.steps.ending
