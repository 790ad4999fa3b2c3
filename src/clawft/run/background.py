"""Forks that ask for the background: started as a run of their own, with their limits by value (`lineage.py`)."""

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Refused
from clawft.messages import ForkStarted, Noticed
from clawft.run.fork import Fork, inherit
from clawft.run.lineage import ForkedSkill, Lineage, power_of
from clawft.run.turn import Turn, TurnRequest
from clawft.tools.steps import Step
from clawft.tools.tool import ToolResult
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation
    from clawft.run.durable.request import RunRequest

__all__ = ["Started", "describe_started", "prepare_background_fork", "start_background", "tell_started"]


class Started(Struct, frozen=True):
    """A fork that goes on by itself, or `why` it has to run here. `reserved` are the tokens that it took with it."""

    run: str = ""
    session: str = ""
    reserved: int = 0
    why: str = ""
    hint: str = ""


async def start_background(turn: Turn, fork: Fork, key: str = "") -> Started | None:
    """Start a fork as a run; None, with a note that says why, where it has to run here. Raises: ClawftError."""
    allowance, session = turn.conversation.allowance, key or fork.new_key(turn)
    reserved, most = _divide(allowance.left, turn.runtime.config.agents.fork.max_tokens)

    async def start() -> Started:
        return await _start(turn, fork, Started(session=session, reserved=reserved), most)

    allowance.spend(reserved)  # before anything else is forked
    kept = 0
    try:
        # All of it is one step: a turn that goes on after a crash goes the way that it went, whatever changed since. A
        # session of a fork has one run, so to do it again where nobody knows whether it was done starts no second one.
        step = Step("tool", "Skill", summary=f"start {fork.skill}")
        started = await turn.conversation.steps.run(step, start, Started, at="start")
        kept = started.reserved
    finally:
        allowance.spend(kept - reserved)
    if started.why:
        message = f"The skill '{fork.skill}' asks to run in the background; it runs in the foreground: {started.why}"
        turn.notice(Noticed(code="fork-foreground", message=message, hint=started.hint))
        return None
    _tell(turn, fork, started)
    return started


async def _start(turn: Turn, fork: Fork, planned: Started, most: int | None) -> Started:
    """Start what is planned, or say why not. Raises: ClawftError."""
    standing, start_run = fork.standing, turn.runtime.start_run
    assert standing is not None  # only skills ask for it
    if start_run is None:
        return Started(why="nothing here runs in the background")
    if fork.request.images:
        return Started(why="it was given pictures")
    digest = turn.runtime.clear(standing.found).digest
    if not digest:
        return Started(why="there is no digest of its folder, by which a run could tell that it is the same")
    skill = ForkedSkill(standing.name, standing.found.location.scope, digest)
    lineage = structs.replace(
        inherit(turn.conversation, fork), max_tokens=most, skill=skill, agent=power_of(fork.agent)
    )
    request = _make_request(turn, fork, lineage, planned.session)
    try:
        msgspec.json.encode(request)
        run = await start_run(request)
    except UnicodeEncodeError:
        return Started(why="a name or an argument is no Unicode, so it cannot be written down")
    except ClawftError as error:
        if error.code != "durable-missing":
            raise
        return Started(why=str(error), hint=error.hint)
    return structs.replace(planned, run=run)


def _divide(left: int | None, most: int | None) -> tuple[int, int | None]:
    """What a fork takes with it of the tokens that are left, half at most, so that all together never use more; and
    the limit that it gets."""
    if left is None:
        return 0, most
    part = left // 2 if most is None else min(left // 2, most)
    return part, part


def _make_request(turn: Turn, fork: Fork, lineage: Lineage, session: str) -> "RunRequest":
    from clawft.run.durable.request import RunRequest, settings_of  # a turn in the foreground needs none of it

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


def _tell(turn: Turn, fork: Fork, started: Started) -> None:
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


def describe_started(fork: Fork, started: Started) -> str:
    """What whoever asked for a fork is told at once."""
    what = f"The skill '{fork.skill}' runs in the background as run {started.run}, session {started.session}."
    return f"{what} To see what comes of it: weft runs watch {started.run}"


def tell_started(fork: Fork, started: Started) -> ToolResult:
    """The same for a model, which must not wait for it."""
    told = f"[it goes on in a conversation of its own, session {started.session}; its result does not come back here]"
    data = {"run": started.run, "session": started.session, "agent": fork.agent.name, "model": fork.request.model}
    return ToolResult(f"{told}\n\n{describe_started(fork, started)}", data=data)


def prepare_background_fork(conversation: "Conversation", request: "RunRequest") -> TurnRequest:
    """The turn of a fork that was started as a run, for a conversation that was opened with the lineage of the request.

    Raises: Refused if its skill is not what it was when somebody asked for it.
    """
    skill = conversation.lineage.skill
    if skill is None or skill.name != request.skill:
        raise Refused("fork-changed", f"The fork is not of the skill '{request.skill}'", hint="Start the skill again")
    conversation.forked = _find_same(conversation, skill)
    return TurnRequest(request.text, model=request.model, skill=skill.name, words=request.words)


def _find_same(conversation: "Conversation", skill: ForkedSkill) -> Standing:
    """The skill with the very files that it had. Raises: Refused."""
    named = [
        one
        for one in conversation.skills.standings
        if (one.name, one.found.location.scope) == (skill.name, skill.scope)
    ]
    by_person = conversation.forked_by == "user"
    usable = [one for one in named if (one.user_may_invoke if by_person else one.offered)]
    for one in usable:
        if conversation.runtime.clear(one.found).digest == skill.digest:
            return one
    what = "changed since the fork was asked for" if usable else f"is {named[0].state} now" if named else "is gone"
    hint = f"Look at it, then start it again. Run: weft skills why {skill.name}"
    raise Refused("fork-changed", f"The skill '{skill.name}' {what}", hint=hint)
