"""Skills with `context: fork`: which agent and model they get, and how a person or a model starts one (R88, R69)."""

import re
from typing import TYPE_CHECKING

from msgspec import structs

from clawft.errors import ClawftError, NotFound
from clawft.format.model import Agent, Skill
from clawft.messages import By, Message, Noticed, TextDelta
from clawft.providers.select import is_claude_alias, read_model
from clawft.run.background import describe_started, start_background, tell_started
from clawft.run.compact import check_fits
from clawft.run.fork import Fork, ForkResult, run_fork
from clawft.run.turn import Turn, TurnRequest
from clawft.tools.tool import ToolError, ToolResult
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation

__all__ = ["SkillForker", "answer_by_fork", "has_room", "tell_inline", "tell_result"]

MAX_RESULT = 32 * 1024  # characters that come back to a model; the whole is then saved to a file
# What Claude calls the agents that it has built in.
_CLAUDE_AGENTS = {"explore": "explore", "general-purpose": "default", "plan": "planner"}
# What a fork says is no skill's text, whatever it looks like.
_WRAPPER, _NO_WRAPPER = re.compile(r"<(?=\s*/?\s*skill_content)", re.IGNORECASE), r"<\\"
_ALIAS_HINT = "Name a model as provider/model in the skill's or the agent's file, or with --model"


class SkillForker:
    """Forks skills for the tool `Skill` of one conversation."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation

    def has_room(self) -> bool:
        """Whether a fork would not be too deep."""
        return has_room(self._conversation)

    async def fork(self, standing: Standing, args: str) -> ToolResult | None:
        """What came of a skill's fork; None if it has to be loaded here (D23). Raises: ClawftError."""
        turn = self._conversation.running
        assert turn is not None  # tools are called by turns
        check_cycle(turn, standing)
        if not has_room(self._conversation):
            turn.notice(tell_inline(turn, standing))
            return None
        fork = plan_fork(turn, standing, TurnRequest(args), "model")
        started = await start_background(turn, fork) if fork.background else None
        return tell_started(fork, started) if started else tell_result(await run_fork(turn, fork))


def has_room(conversation: "Conversation") -> bool:
    """Whether a fork of this conversation would not be too deep."""
    return conversation.depth < conversation.runtime.config.agents.fork.max_depth


def tell_inline(turn: Turn, standing: Standing) -> Noticed:
    """Why a skill that asks for a fork gets none."""
    limit = turn.runtime.config.agents.fork.max_depth
    why = "others were started with it" if has_room(turn.conversation) else f"forks stop {limit} deep"
    message = f"The skill '{standing.name}' asks for a conversation of its own; it runs in this one, since {why}"
    return Noticed(code="fork-inline", message=message, severity="warning", hint="See agents.fork.max_depth")


def check_cycle(turn: Turn, standing: Standing) -> None:
    """R69: a skill that was forked must not start itself further down. Raises: ToolError."""
    forks = turn.conversation.forks
    if standing.name in forks:
        inline = (one.name for one in turn.skills.active if one.name not in forks)
        cycle = " → ".join((*forks[forks.index(standing.name) :], *inline, standing.name))
        raise ToolError("INVALID_PARAM", f"The skill would start itself: {cycle}", hint="Do the task without it")


def tell_result(result: ForkResult) -> ToolResult:
    """A fork's result as the model that asked for it reads it."""
    note = "" if result.stop == "done" else f"; it is not whole: {result.stop}"
    told = f"[what follows came of a conversation of its own, session {result.session}{note}]"
    data = {
        "session": result.session,
        "stop": result.stop,
        "agent": result.agent,
        "model": result.model,
        "usage": structs.asdict(result.usage),
    }
    return ToolResult(
        f"{told}\n\n{_WRAPPER.sub(_NO_WRAPPER, result.text) or '(no answer)'}",
        "success" if result.stop == "done" else "partial",
        data,
        max_chars=MAX_RESULT,
    )


async def answer_by_fork(turn: Turn, standing: Standing) -> None:
    """Let a skill that the person started answer the turn from its fork.

    What is said of it here is the person's message and the result, so that the conversation goes on from them.
    Raises: ClawftError.
    """
    request = turn.request
    fork = plan_fork(turn, standing, structs.replace(request, added=turn.added), "user")
    key = fork.new_key(turn)
    said = f"/{standing.name} {request.text}".strip()
    told = f"[the skill ran in a conversation of its own, session {key}; what follows is its result]"
    message = Message("user", f"{said}\n\n{told}", images=request.images)
    check_fits(turn, message)
    # What is in the background already does its work there.
    if fork.background and not turn.conversation.steps.owner and (started := await start_background(turn, fork, key)):
        _answer_started(turn, said, describe_started(fork, started))
        return
    turn.append(message)
    result = await run_fork(turn, fork, key)
    turn.append(Message("assistant", result.text or None))
    turn.text, turn.stop = result.text, result.stop


def _answer_started(turn: Turn, said: str, text: str) -> None:
    turn.append(Message("user", f"{said}\n\n[the skill runs in the background, in a conversation of its own]"))
    turn.emit(TextDelta(text=text))
    turn.append(Message("assistant", text))
    turn.text = text


def plan_fork(turn: Turn, standing: Standing, request: TurnRequest, by: By) -> Fork:
    """How a skill that asks for it is forked. Raises: ClawftError for an agent or model that may not be used (R115)."""
    skill = standing.found.skill
    assert skill is not None  # a broken one is neither offered nor started
    agent = _choose_agent(turn, skill)
    model = _choose_model(turn, standing.name, skill, agent)
    return Fork(structs.replace(request, model=model, skill=standing.name, more_skills=()), agent, by, standing)


def _choose_agent(turn: Turn, skill: Skill) -> Agent:
    """The agent that a skill names, under Claude's names too; without one, the parent's. Raises: ClawftError."""
    if not skill.agent:
        return turn.conversation.agent
    find = turn.runtime.find_agent
    try:
        agent = find(skill.agent)
    except NotFound:
        ours = _CLAUDE_AGENTS.get(skill.agent.lower())
        if ours is None:
            raise
        agent = find(ours)
    for one in agent.diagnostics:
        if one.code == "agent-not-honoured" and one.severity == "warning":
            message = f"{agent.name}: {one.message}"
            turn.notice(Noticed(code=one.code, message=message, severity="warning", hint=one.hint))
    return agent


def _choose_model(turn: Turn, name: str, skill: Skill, agent: Agent) -> str:
    """The person's word, then the skill's, then its agent's, then the model of the parent. Raises: ClawftError."""
    if turn.request.model:
        return turn.request.model
    asking = [(f"The skill '{name}'", skill.model)]
    if agent is not turn.conversation.agent:
        asking.append((f"The agent '{agent.name}'", agent.model))
    for who, written in asking:
        asked = read_model(written, turn.runtime.config.providers)
        if is_claude_alias(asked, turn.runtime.config.providers):
            message = f"{who} asks for Claude's '{asked}', which is no model here; {turn.model} answers"
            turn.notice(Noticed(code="fork-model", message=message, hint=_ALIAS_HINT))
            return turn.model
        if asked:
            return _check_model(turn, who, asked)
    return turn.model


def _check_model(turn: Turn, who: str, model: str) -> str:
    """R115: a model must belong to a provider that is there. Raises: ClawftError."""
    try:
        turn.runtime.check_model(model)
    except ClawftError as error:
        message = f"{who} asks for the model '{model}', which cannot be used: {error}"
        raise type(error)(error.code, message, hint=error.hint) from error
    return model
