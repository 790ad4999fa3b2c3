"""A fork: an agent does one thing in a conversation of its own, and only the result comes back (R87, R88, D23).

It starts from a skill's text or a task alone, pays from the session of whoever forked it, and can do no more than they:
their agents, active skills, mode and rules hold below them too. It runs in the task of its parent's turn, so that
whatever ends that turn ends the fork, at every depth.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct, structs

from clawft.errors import ClawftError, Refused
from clawft.format.model import Agent
from clawft.messages import (
    Answer,
    Answered,
    ApprovalNeeded,
    By,
    Compacted,
    Ending,
    Event,
    ForkActed,
    ForkEnding,
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
    TurnStarted,
    Usage,
    UsageReported,
)
from clawft.run.lineage import Lineage, lineage_of
from clawft.run.text_limits import add_fork_limits
from clawft.run.turn import Turn, TurnRequest
from clawft.sessions import new_fork_key
from clawft.tools.clock import Clock
from clawft.tools.tool import ToolError
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation

__all__ = ["Fork", "ForkResult", "inherit", "run_fork"]


class Fork(Struct, frozen=True):
    """What is to be done in a conversation of its own, and by whom. With `standing`, it is that skill."""

    request: TurnRequest
    agent: Agent
    by: By = "model"
    standing: Standing | None = None

    @property
    def skill(self) -> str:
        return self.standing.name if self.standing else ""

    @property
    def background(self) -> bool:
        """Whether its skill asks to run by itself. Claude's default is yes; here a person waits unless it says so."""
        skill = self.standing.found.skill if self.standing else None
        return bool(skill and skill.background)

    def new_key(self, turn: Turn) -> str:
        """A session below the parent's."""
        return new_fork_key(turn.session.key, "fork" if self.standing else "task", turn.conversation.steps.mark())

    @property
    def who(self) -> str:
        return f"The fork '{self.skill}'" if self.standing else "A delegated task"


class ForkResult(Struct, frozen=True):
    """What came of a fork, and where all of it is."""

    text: str
    session: str
    stop: Ending
    agent: str
    model: str
    usage: Usage


def inherit(parent: "Conversation", fork: Fork) -> Lineage:
    """What limits a fork from its first moment on."""
    lineage = structs.replace(lineage_of(parent), max_tokens=parent.runtime.config.agents.fork.max_tokens)
    if not fork.standing:
        return lineage
    return structs.replace(lineage, forks=(*parent.forks, fork.skill), by=fork.by)


async def run_fork(turn: Turn, fork: Fork, key: str = "") -> ForkResult:
    """Run a fork to its end, as soon as there is a place for it. Raises: ClawftError; ToolError for a timeout."""
    async with turn.conversation.slots:
        running = _Running(turn, fork, key or fork.new_key(turn))
        try:
            return await running.run()
        except ClawftError as error:
            running.note_failure(error)
            raise
        finally:
            running.tell_end()


class _Running:
    """A fork while it runs: what its parent is told of it, and how it ends."""

    def __init__(self, turn: Turn, fork: Fork, key: str) -> None:
        self._turn = turn
        self._fork = fork
        self._key = key
        self._started = time.monotonic()
        self._usage = Usage()
        self._calls = 0
        self._status: ForkEnding = "cancelled"
        self._message = ""
        self._model = fork.request.model or turn.model
        self._end: TurnFinished | TurnFailed | None = None

    async def run(self) -> ForkResult:
        settings, parent = self._turn.runtime.config.agents.fork, self._turn.conversation
        fork = self._fork
        self._turn.emit(
            ForkStarted(
                child=self._key,
                skill=fork.skill,
                agent=fork.agent.name,
                model=self._model,
                by=fork.by,
                depth=parent.depth + 1,
            )
        )
        with anyio.move_on_after(settings.timeout_s) as scope:
            approve = self._approve(Clock(scope)) if parent.approve else None
            lineage = inherit(parent, fork)
            opened = self._turn.runtime.open_conversation(
                fork.agent, key=self._key, approve=approve, parent=parent, lineage=lineage
            )
            async with opened as child:
                child.forked = fork.standing
                try:
                    await child.work(fork.request, self._take)
                finally:
                    add_fork_limits(child, parent)
        if scope.cancelled_caught:
            self._status = "timeout"
            message = f"{fork.who} was stopped: it took longer than {settings.timeout_s:g} seconds"
            raise ToolError("TIMEOUT", message, hint=f"agents.fork.timeout_s is the limit. {self._reference}")
        return self._conclude()

    def _conclude(self) -> ForkResult:
        """The result. Raises: ClawftError with what made the fork fail."""
        end, fork = self._end, self._fork
        if isinstance(end, TurnFinished):
            self._status = end.stop
            self._turn.refused += end.refused
            return ForkResult(end.text, self._key, end.stop, fork.agent.name, self._model, self._usage)
        assert end is not None  # the loop ends every turn with one of the two
        kind = Refused if end.exit_code == Refused.exit_code else ClawftError
        raise kind(end.code, f"{fork.who} failed: {end.message}", hint=f"{end.hint}. {self._reference}".lstrip(". "))

    def note_failure(self, error: ClawftError) -> None:
        self._status, self._message = "failed" if self._status == "cancelled" else self._status, str(error)

    @property
    def _reference(self) -> str:
        return f"See: weft sessions show {self._key}"

    def tell_end(self) -> None:
        self._turn.usage = self._turn.usage.merge(self._usage)  # of the turn that asked for it
        took = round((time.monotonic() - self._started) * 1000)
        self._turn.emit(
            ForkFinished(
                child=self._key,
                status=self._status,
                skill=self._fork.skill,
                agent=self._fork.agent.name,
                model=self._model,
                usage=self._usage,
                calls=self._calls,
                time_ms=took,
                message=self._message,
            )
        )

    def _approve(self, clock: Clock) -> Callable[[ApprovalNeeded], Awaitable[Answer | Answered]]:
        async def approve(event: ApprovalNeeded) -> Answer | Answered:
            with clock.stopped():
                return await self._turn.conversation.ask(self._name(event))

        return approve

    def _name(self, event: ApprovalNeeded) -> ApprovalNeeded:
        """A question of the fork as the person is asked it: they must know who asks."""
        return structs.replace(
            event, call=f"{self._key}/{event.call}", question=f"{self._fork.who} asks: {event.question}"
        )

    def _take(self, event: Event) -> None:
        """An event of the fork. What a person started is shown whole; else what matters beyond it."""
        match event:
            case TurnStarted(model=model):
                self._model = model
            case TurnFinished() | TurnFailed():
                self._end = event
            case UsageReported(usage=usage):
                self._usage = self._usage.merge(usage)
                self._turn.forward(event)
            case ApprovalNeeded():
                self._turn.forward(self._name(event))
            case MessageSent() | ForkStarted() | ForkActed() | ForkFinished():
                self._turn.forward(event)
            case Noticed():
                self._notice(event)
            case ToolStarted() | ToolFinished() | TextDelta() | SkillActivated() | Compacted():
                self._show(event)

    def _notice(self, event: Noticed) -> None:
        if not self._turn.has_noticed(event):
            message = event.message if self._fork.by == "user" else f"{self._fork.who}: {event.message}"
            self._turn.forward(structs.replace(event, message=message))

    def _show(self, event: Event) -> None:
        self._calls += isinstance(event, ToolStarted)
        if self._fork.by == "user":
            self._turn.partial = f"{self._turn.partial}{event.text}" if isinstance(event, TextDelta) else ""
            if not (isinstance(event, SkillActivated) and event.name == self._fork.skill):
                self._turn.forward(event)
        elif isinstance(event, ToolStarted):
            self._turn.emit(ForkActed(child=self._key, tool=event.tool, summary=event.summary))
