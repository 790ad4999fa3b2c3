"""Forks: an agent does one task in a conversation of its own, here or as a background run, and only the result
comes back.
"""

import time
from collections.abc import Awaitable, Callable

import anyio
import msgspec
from msgspec import Struct, structs

from clawft.agent.conversation import lineage_of, open_conversation
from clawft.agent.lineage import ForkedSkill, Lineage, get_agent_permissions
from clawft.agent.loop import work_turn
from clawft.agent.run_request import RunRequest, TurnRequest, settings_of
from clawft.agent.runtime import Conversation, Turn
from clawft.agent.sessions import new_fork_key
from clawft.agent.text_limits import add_fork_limits
from clawft.agent.tools.steps import TurnStep
from clawft.agent.tools.tool import ToolError, ToolResult
from clawft.errors import ClawftError, Refused
from clawft.messages import (
    Answer,
    ApprovalAnswer,
    ApprovalNeeded,
    By,
    Compacted,
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
    TurnEnding,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
)
from clawft.sandbox.process import PausableClock
from clawft.skills.parse.model import Agent
from clawft.trust.status import SkillStatus
from clawft.trust.tools import SKILL_TOOL


class Fork(Struct, frozen=True):
    """A request to run in a separate conversation: its agent, who asked for it, and the skill it runs, if any."""

    request: TurnRequest
    agent: Agent
    by: By = "model"
    skill_status: SkillStatus | None = None

    @property
    def skill(self) -> str:
        return self.skill_status.name if self.skill_status else ""

    @property
    def background(self) -> bool:
        """Return whether its skill asks to run by itself. Claude's default is yes; here a person waits unless it says
        so."""
        skill = self.skill_status.found.skill if self.skill_status else None
        return bool(skill and skill.background)

    def new_key(self, turn: Turn) -> str:
        """A session below the parent's."""
        return new_fork_key(turn.session.key, "fork" if self.skill_status else "task", turn.conversation.steps.mark())

    @property
    def who(self) -> str:
        return f"The fork '{self.skill}'" if self.skill_status else "A delegated task"


class ForkResult(Struct, frozen=True):
    """The answer of a fork, and the session that holds its whole conversation."""

    text: str
    session: str
    stop: TurnEnding
    agent: str
    model: str
    usage: Usage


def inherit_lineage(parent: Conversation, fork: Fork) -> Lineage:
    """Return the limits that a fork inherits from its parent."""
    lineage = structs.replace(lineage_of(parent), max_tokens=parent.runtime.config.agents.fork.max_tokens)
    if not fork.skill_status:
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
    """A running fork: forwards its events to the parent and records how it ends."""

    def __init__(self, turn: Turn, fork: Fork, key: str) -> None:
        self._turn = turn
        self._fork = fork
        self._key = key
        self._started = time.monotonic()
        self._usage = Usage()
        self._calls = 0
        self._status: ForkEnding = "cancelled"
        self._message = ""
        self._model = fork.request.model or turn.route.model
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
            approve = self._approve(PausableClock(scope)) if parent.approve else None
            lineage = inherit_lineage(parent, fork)
            opened = open_conversation(
                self._turn.runtime, fork.agent, key=self._key, approve=approve, parent=parent, lineage=lineage
            )
            async with opened as child:
                child.forked = fork.skill_status
                try:
                    await work_turn(child, fork.request, self._take)
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
            self._turn.calls.refused += end.refused
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

    def _approve(self, clock: PausableClock) -> Callable[[ApprovalNeeded], Awaitable[Answer | ApprovalAnswer]]:
        async def approve(event: ApprovalNeeded) -> Answer | ApprovalAnswer:
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


class BackgroundStart(Struct, frozen=True):
    """A fork that goes on by itself, or `why` it has to run here. `reserved` are the tokens that it took with it."""

    run: str = ""
    session: str = ""
    reserved: int = 0
    why: str = ""
    hint: str = ""


async def start_background(turn: Turn, fork: Fork, key: str = "") -> BackgroundStart | None:
    """Start a fork as a run; None, with a note that says why, where it has to run here. Raises: ClawftError."""
    allowance, session = turn.conversation.allowance, key or fork.new_key(turn)
    reserved, most = _divide(allowance.left, turn.runtime.config.agents.fork.max_tokens)

    async def start() -> BackgroundStart:
        return await _start(turn, fork, BackgroundStart(session=session, reserved=reserved), most)

    allowance.spend(reserved)  # before anything else is forked
    charged = 0
    try:
        # All of it is one step: a turn that goes on after a crash goes the way that it went, whatever changed since. A
        # session of a fork has one run, so to do it again where nobody knows whether it was done starts no second one.
        step = TurnStep("tool", SKILL_TOOL, summary=f"start {fork.skill}")
        started = await turn.conversation.steps.run(step, start, BackgroundStart, at="start")
        charged = started.reserved
    finally:
        allowance.spend(charged - reserved)
    if started.why:
        message = f"The skill '{fork.skill}' asks to run in the background; it runs in the foreground: {started.why}"
        turn.notice(Noticed(code="fork-foreground", message=message, hint=started.hint))
        return None
    _tell(turn, fork, started)
    return started


async def _start(turn: Turn, fork: Fork, planned: BackgroundStart, most: int | None) -> BackgroundStart:
    """Start what is planned, or say why not. Raises: ClawftError."""
    status, start_run = fork.skill_status, turn.runtime.start_run
    assert status is not None  # only skills ask for it
    if start_run is None:
        return BackgroundStart(why="nothing here runs in the background")
    if fork.request.images:
        return BackgroundStart(why="it was given pictures")
    digest = turn.runtime.skills.load_usable(status.found).digest
    if not digest:
        return BackgroundStart(why="there is no digest of its folder, by which a run could tell that it is the same")
    skill = ForkedSkill(status.name, status.found.location.scope, digest)
    lineage = structs.replace(
        inherit_lineage(turn.conversation, fork), max_tokens=most, skill=skill, agent=get_agent_permissions(fork.agent)
    )
    request = _make_request(turn, fork, lineage, planned.session)
    try:
        msgspec.json.encode(request)
        run = await start_run(request)
    except UnicodeEncodeError:
        return BackgroundStart(why="a name or an argument is no Unicode, so it cannot be written down")
    except ClawftError as error:
        if error.code != "durable-missing":
            raise
        return BackgroundStart(why=str(error), hint=error.hint)
    return structs.replace(planned, run=run)


def _divide(left: int | None, most: int | None) -> tuple[int, int | None]:
    """Return how many of the remaining tokens a fork reserves, and the limit it gets. It takes half at most, so that
    all forks together never use more than what is left."""
    if left is None:
        return 0, most
    part = left // 2 if most is None else min(left // 2, most)
    return part, part


def _make_request(turn: Turn, fork: Fork, lineage: Lineage, session: str) -> RunRequest:
    workspace, asked, mask = turn.runtime.workspace, fork.request, turn.runtime.secrets.mask
    return RunRequest(
        kind="fork",
        cwd=workspace.cwd,
        project=workspace.project,
        text=mask(asked.text),  # it is written down
        skill=fork.skill,
        words=tuple(map(mask, asked.words)),
        agent=fork.agent.name,
        model=asked.model,
        session=session,
        deadline_s=turn.runtime.config.agents.fork.timeout_s,
        parent=turn.conversation.steps.owner,
        lineage=lineage,
        settings=settings_of(turn.runtime.environ),
    )


def _tell(turn: Turn, fork: Fork, started: BackgroundStart) -> None:
    turn.emit(
        ForkStarted(
            child=started.session,
            skill=fork.skill,
            agent=fork.agent.name,
            model=fork.request.model,
            by=fork.by,
            depth=turn.conversation.depth + 1,
            run=started.run,
        )
    )
    message = f"The skill '{fork.skill}' runs in the background: run {started.run}"
    turn.emit(Noticed(code="fork-background", message=message, hint=f"Run: weft runs watch {started.run}"))


def render_background_start(fork: Fork, started: BackgroundStart) -> str:
    """Render the message for the caller that a fork was started in the background."""
    what = f"The skill '{fork.skill}' runs in the background as run {started.run}, session {started.session}."
    return f"{what} To see what comes of it: weft runs watch {started.run}"


def render_background_start_for_model(fork: Fork, started: BackgroundStart) -> ToolResult:
    """Render the start of a background fork for a model, which must not wait for it."""
    notice = f"[it goes on in a conversation of its own, session {started.session}; its result does not come back here]"
    data = {"run": started.run, "session": started.session, "agent": fork.agent.name, "model": fork.request.model}
    return ToolResult(f"{notice}\n\n{render_background_start(fork, started)}", data=data)


def prepare_background_fork(conversation: Conversation, request: RunRequest) -> TurnRequest:
    """Prepare the turn of a fork that was started as a run, in a conversation opened with the lineage of the request.

    Raises: Refused if its skill changed since the fork was requested.
    """
    skill = conversation.lineage.skill
    if skill is None or skill.name != request.skill:
        raise Refused("fork-changed", f"The fork is not of the skill '{request.skill}'", hint="Start the skill again")
    conversation.forked = _find_same(conversation, skill)
    return TurnRequest(request.text, model=request.model, skill=skill.name, words=request.words)


def _find_same(conversation: Conversation, skill: ForkedSkill) -> SkillStatus:
    """The skill with the very files that it had. Raises: Refused."""
    named = [
        status
        for status in conversation.skills.statuses
        if (status.name, status.found.location.scope) == (skill.name, skill.scope)
    ]
    by_person = conversation.forked_by == "user"
    usable = [candidate for candidate in named if (candidate.user_may_invoke if by_person else candidate.offered)]
    for candidate in usable:
        if conversation.runtime.skills.load_usable(candidate.found).digest == skill.digest:
            return candidate
    what = "changed since the fork was asked for" if usable else f"is {named[0].state} now" if named else "is gone"
    hint = f"Look at it, then start it again. Run: weft skills why {skill.name}"
    raise Refused("fork-changed", f"The skill '{skill.name}' {what}", hint=hint)
