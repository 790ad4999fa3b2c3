"""A conversation: one session with an agent, its skills and what the person approved. Turns run one at a time."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio

from clawft.errors import ClawftError
from clawft.format.model import Agent
from clawft.messages import Answer, ApprovalNeeded, Event
from clawft.run.loop import run_turn
from clawft.run.pipeline import compact_stages, run_stages
from clawft.run.turn import Stage, Turn, TurnRequest
from clawft.sessions import Session
from clawft.tools.registry import Registry
from clawft.tools.skillset import Activation, Skillset

if TYPE_CHECKING:
    from clawft.run.runtime import Runtime

__all__ = ["Approve", "Conversation"]

Approve = Callable[[ApprovalNeeded], Awaitable[Answer]]


class Conversation:
    """State that lives from turn to turn. `approve` answers when a tool asks; without it the answer is no."""

    def __init__(
        self,
        runtime: "Runtime",
        session: Session,
        agent: Agent,
        approve: Approve | None = None,
        parent: "Conversation | None" = None,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.agent = agent
        self.approve = approve
        self.depth: int = parent.depth + 1 if parent else 0  # how many delegations deep
        self.account: str = parent.account if parent else session.key  # the session whose budget pays
        self.turn: int = parent.turn if parent else 0  # that session's turn which runs, or ran last
        self.approved: set[tuple[str, str]] = set()
        self.skills: Skillset = Skillset(
            runtime.load_skills,
            runtime.clear,
            session_id=session.key,
            project=runtime.workspace.project,
            refresh_on_call=runtime.refresh_on_call,
        )
        # The skills that restrict the tools of whoever delegated this.
        self.inherited: tuple[Activation, ...] = (*parent.inherited, *parent.skills.active) if parent else ()
        folders = {one.name: one.found.folder for one in self.skills.standings if one.usable}
        self.skills.loaded = {name: folders[name] for name in session.activated if name in folders}
        self.registry: Registry | None = None
        self._scope: anyio.CancelScope | None = None

    def run(self, request: TurnRequest) -> AsyncGenerator[Event]:
        """One turn. Raises: ClawftError when another turn of this conversation is still running."""
        return self._run(request, run_stages)

    def compact(self, model: str = "") -> AsyncGenerator[Event]:
        """Summarise all but the last turn now, whether or not the window is full."""
        return self._run(TurnRequest("", model=model), compact_stages)

    async def _run(self, request: TurnRequest, stages: Stage) -> AsyncGenerator[Event]:
        if self._scope is not None:
            raise ClawftError("turn-running", "A turn of this conversation is still running")
        self._scope = anyio.CancelScope()
        self.turn = self.turn if self.depth else self.session.next_turn
        self.skills.start_turn()
        try:
            events = run_turn(lambda send: Turn(self, request, send), self._scope, stages)
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            self._scope = None

    def cancel(self) -> None:
        """End the turn that is running; its last event says so."""
        if self._scope is not None:
            self._scope.cancel()
