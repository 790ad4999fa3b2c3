"""Invocation of a skill by a person or a model: its text becomes the message, or it runs in a fork with its own
agent and model.
"""

import re
from functools import partial

from msgspec import structs

from clawft.agent.compaction import check_fits
from clawft.agent.fork import (
    Fork,
    ForkResult,
    render_background_start,
    render_background_start_for_model,
    run_fork,
    start_background,
)
from clawft.agent.providers.selection import is_claude_alias, read_model
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation, Insertion, Turn
from clawft.agent.text_limits import append_message, record_skill
from clawft.agent.tools.skill import wants_fork
from clawft.agent.tools.skillset import Activation
from clawft.agent.tools.tool import ToolError, ToolResult
from clawft.contracts import Phase
from clawft.errors import ClawftError, NotFound, Refused
from clawft.messages import By, Message, Noticed, TextDelta
from clawft.skills.parse.model import Agent, Skill
from clawft.skills.render.template import PromptArguments, split_arguments
from clawft.trust.status import STATES, SkillStatus, find_skill

MAX_FORK_RESULT_CHARS = 32 * 1024  # characters that come back to a model; the whole is then saved to a file
# What Claude calls the agents that it has built in.
_CLAUDE_AGENTS = {"explore": "explore", "general-purpose": "default", "plan": "planner"}
# What a fork says is no skill's text, whatever it looks like.
_WRAPPER, _NO_WRAPPER = re.compile(r"<(?=\s*/?\s*skill_content)", re.IGNORECASE), r"<\\"
_ALIAS_HINT = "Name a model as provider/model in the skill's or the agent's file, or with --model"


async def fork_skill(conversation: Conversation, status: SkillStatus, args: str) -> ToolResult | None:
    """Run a skill as a fork for the tool `Skill`, and return its result; None if the skill must be loaded here instead.

    Raises: ClawftError.
    """
    turn = conversation.current_turn
    check_cycle(turn, status)
    if not conversation.has_room:
        turn.notice(render_inline_notice(turn, status))
        return None
    fork = plan_fork(turn, status, TurnRequest(args), "model")
    started = await start_background(turn, fork) if fork.background else None
    if started:
        return render_background_start_for_model(fork, started)
    return render_fork_result(await run_fork(turn, fork))


def render_inline_notice(turn: Turn, status: SkillStatus) -> Noticed:
    """Render the notice that a skill runs in this conversation although it asks for a fork."""
    limit = turn.runtime.config.agents.fork.max_depth
    why = "others were started with it" if turn.conversation.has_room else f"forks stop {limit} deep"
    message = f"The skill '{status.name}' asks for a conversation of its own; it runs in this one, since {why}"
    return Noticed(code="fork-inline", message=message, severity="warning", hint="See agents.fork.max_depth")


def check_cycle(turn: Turn, status: SkillStatus) -> None:
    """Check that a forked skill does not start itself further down. Raises: ToolError."""
    forks = turn.conversation.forks
    if status.name in forks:
        inline = (activation.name for activation in turn.skills.active if activation.name not in forks)
        cycle = " → ".join((*forks[forks.index(status.name) :], *inline, status.name))
        raise ToolError("INVALID_PARAM", f"The skill would start itself: {cycle}", hint="Do the task without it")


def render_fork_result(result: ForkResult) -> ToolResult:
    """A fork's result as the model that asked for it reads it."""
    note = "" if result.stop == "done" else f"; it is not whole: {result.stop}"
    heading = f"[what follows came of a conversation of its own, session {result.session}{note}]"
    data = {
        "session": result.session,
        "stop": result.stop,
        "agent": result.agent,
        "model": result.model,
        "usage": structs.asdict(result.usage),
    }
    return ToolResult(
        f"{heading}\n\n{_WRAPPER.sub(_NO_WRAPPER, result.text) or '(no answer)'}",
        "success" if result.stop == "done" else "partial",
        data,
        max_chars=MAX_FORK_RESULT_CHARS,
    )


async def run_fork_as_answer(turn: Turn, status: SkillStatus) -> None:
    """Let a skill that the person started answer the turn from its fork.

    What is said of it here is the person's message and the result, so that the conversation goes on from them.
    Raises: ClawftError.
    """
    request = turn.request
    fork = plan_fork(turn, status, structs.replace(request, added=turn.added), "user")
    key = fork.new_key(turn)
    command = f"/{status.name} {request.text}".strip()
    heading = f"[the skill ran in a conversation of its own, session {key}; what follows is its result]"
    message = Message("user", f"{command}\n\n{heading}", images=request.images)
    check_fits(turn, message)
    # What is in the background already does its work there.
    if fork.background and not turn.conversation.steps.owner and (started := await start_background(turn, fork, key)):
        _answer_started(turn, command, render_background_start(fork, started))
        return
    append_message(turn, message)
    result = await run_fork(turn, fork, key)
    append_message(turn, Message("assistant", result.text or None))
    turn.text, turn.stop = result.text, result.stop


def _answer_started(turn: Turn, command: str, text: str) -> None:
    note = "[the skill runs in the background, in a conversation of its own]"
    append_message(turn, Message("user", f"{command}\n\n{note}"))
    turn.emit(TextDelta(text=text))
    append_message(turn, Message("assistant", text))
    turn.text = text


def plan_fork(turn: Turn, status: SkillStatus, request: TurnRequest, by: By) -> Fork:
    """Plan the fork of a skill that asks for one. Raises: ClawftError for an agent or model that may not be used."""
    skill = status.found.skill
    assert skill is not None  # a broken one is neither offered nor started
    agent = _choose_agent(turn, skill)
    model = _choose_model(turn, status.name, skill, agent)
    return Fork(structs.replace(request, model=model, skill=status.name, more_skills=()), agent, by, status)


def _choose_agent(turn: Turn, skill: Skill) -> Agent:
    """The agent that a skill names, under Claude's names too; without one, the parent's. Raises: ClawftError."""
    if not skill.agent:
        return turn.conversation.agent
    find = turn.runtime.skills.find_agent
    try:
        agent = find(skill.agent)
    except NotFound:
        ours = _CLAUDE_AGENTS.get(skill.agent.lower())
        if ours is None:
            raise
        agent = find(ours)
    for diagnostic in agent.diagnostics:
        if diagnostic.code == "agent-not-honoured" and diagnostic.severity == "warning":
            message = f"{agent.name}: {diagnostic.message}"
            turn.notice(Noticed(code=diagnostic.code, message=message, severity="warning", hint=diagnostic.hint))
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
            message = f"{who} asks for Claude's '{asked}', which is no model here; {turn.route.model} answers"
            turn.notice(Noticed(code="fork-model", message=message, hint=_ALIAS_HINT))
            return turn.route.model
        if asked:
            return _check_model(turn, who, asked)
    return turn.route.model


def _check_model(turn: Turn, who: str, model: str) -> str:
    """Check that a model belongs to a configured provider, and return it. Raises: ClawftError."""
    try:
        turn.runtime.check_model(model)
    except ClawftError as error:
        message = f"{who} asks for the model '{model}', which cannot be used: {error}"
        raise type(error)(error.code, message, hint=error.hint) from error
    return model


async def _invoke(turn: Turn) -> None:
    forked = turn.conversation.forked
    if not turn.request.skill:
        return
    request = turn.request
    statuses = [forked] if forked else [_get(turn, name) for name in (request.skill, *request.more_skills)]
    if forked is None and wants_fork(statuses[0]) and len(statuses) == 1 and turn.conversation.has_room:
        turn.answer = partial(run_fork_as_answer, status=statuses[0])
        return
    arguments = PromptArguments(request.text, request.words) if request.words else split_arguments(request.text)
    # Several skills share one message: what follows them is said to the model, not filled into each.
    loaded = [
        await _start(turn, status, PromptArguments() if request.more_skills else arguments) for status in statuses
    ]
    command = " ".join([*(f"/{activation.name}" for activation in loaded), request.text]).strip()
    text = "\n\n".join([command, *(activation.text for activation in loaded)])
    turn.invoked = structs.replace(loaded[0], text=text)


async def _start(turn: Turn, status: SkillStatus, arguments: PromptArguments) -> Activation:
    """Load one skill, and say what there is to say about it. Raises: ClawftError."""
    asked_for = turn.conversation.lineage.skill
    activation = await turn.skills.read(status, arguments, turn.emit, asked_for.digest if asked_for else "")
    turn.skills.activate(activation)
    turn.emit(turn.skills.event(activation, turn.conversation.forked_by))
    for reason in (*status.reasons, *activation.diagnostics):
        if reason.severity != "note":
            turn.warn(reason.code, reason.message, reason.hint)
    if wants_fork(status) and turn.conversation.forked is None:
        turn.emit(render_inline_notice(turn, status))
    record_skill(turn, activation, arguments)
    return activation


def _get(turn: Turn, reference: str) -> SkillStatus:
    """The skill of a name or of `scope:name` or `plugin:name`, if a person may start it. Raises: NotFound, Refused."""
    status = find_skill(turn.skills.statuses, reference)
    if status is None:
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint="Run: weft skills list")
    if not status.user_may_invoke:
        why = STATES[status.state] if not status.usable else "its user-invocable is false"
        raise Refused(
            "skill-refused",
            f"The skill '{status.name}' may not be started: {why}",
            hint=f"Run: weft skills why {status.name}",
        )
    return status


async def _tell_config(turn: Turn) -> None:
    """Report the diagnostics of the config and its rules, at the first turn of a conversation."""
    runtime = turn.runtime
    first = turn.id == 1 and not turn.conversation.depth
    for diagnostic in (*runtime.config.diagnostics, *runtime.rules.diagnostics()) if first else ():
        where = turn.runtime.workspace.shorten(diagnostic.path)
        turn.warn(diagnostic.code, f"{where}: {diagnostic.message}", diagnostic.hint)


INVOKE = Insertion(Phase.PRE_ROUTE, "invoke", _invoke)
TELL_CONFIG = Insertion(Phase.PRE_ROUTE, "config", _tell_config)
