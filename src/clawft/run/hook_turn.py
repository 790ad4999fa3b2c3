"""Hooks at the ends of a turn: a conversation begins, a message comes, the model is done, the answer is out.

They hear of what people say, and of jobs that do it for them; not of what agents ask each other, nor of summaries.
"""

from typing import Any

from clawft.errors import Refused
from clawft.messages import Message, Noticed, TurnFailed, TurnFinished
from clawft.run.hooks import fire, mark, tell_added
from clawft.run.turn import Source, Turn

__all__ = ["may_go_on", "preprocess", "receive", "start_session", "tell_sent"]

MAX_HELD = 3  # times that hooks may have the model of one turn go on
_HOOKS = "# Hooks\nWhat follows was written by hooks when this conversation began.\n\n"


async def start_session(turn: Turn) -> None:
    """The first turn of a conversation in this process; what hooks add then is in all of its prompts."""
    conversation = turn.conversation
    if not conversation.started and not conversation.depth:
        conversation.started = True
        source = "startup" if turn.id == 1 else "resume"
        outcome = await fire(turn, "session:start", {"source": source, "sessionId": turn.session.key})
        added = tell_added(turn, outcome, "the prompt")
        conversation.sections = [_HOOKS + added] if added else []
    turn.extra_sections += conversation.sections


async def receive(turn: Turn) -> None:
    """Tell what a person wrote, before anything is done about it. Raises: Refused if a hook will not have it."""
    if turn.conversation.depth:
        return
    outcome = await fire(turn, "message:received", _describe(turn))
    if outcome is not None and outcome.blocked is not None:
        message = f"The hook '{outcome.blocked.hook}' refused the message: {outcome.blocked.text}"
        raise Refused("hook-blocked", message)
    turn.is_received = True
    turn.added = tell_added(turn, outcome, "the message")


async def preprocess(turn: Turn, text: str) -> None:
    """Tell what the model will read of a message. The fork that answers it is the one that reads it."""
    if not turn.is_preview and _is_persons(turn):
        await fire(turn, "message:preprocessed", {**_describe(turn), "bodyForAgent": text})


async def may_go_on(turn: Turn) -> bool:
    """The model is done. Whether a hook has it go on, with the reason as the next message."""
    if not _is_persons(turn):
        return False
    told = {"stopHookActive": turn.held > 0, "lastMessage": turn.text}
    outcome = await fire(turn, "agent:stop", told)
    blocked = outcome.blocked if outcome is not None else None
    if blocked is None:
        return False
    if turn.held >= MAX_HELD:
        message = f"The hook '{blocked.hook}' wants more, but had the model go on {MAX_HELD} times already"
        turn.notice(Noticed(code="hook-held", message=message, severity="warning", hint=blocked.text))
        return False
    turn.held += 1
    turn.notice(Noticed(code="hook-goes-on", message=f"The hook '{blocked.hook}' has the model go on: {blocked.text}"))
    turn.append(Message("user", mark(blocked)))
    return True


async def tell_sent(turn: Turn, end: TurnFinished | TurnFailed) -> None:
    """Tell what was answered, or that nothing was."""
    if not turn.is_received:
        return
    failed = isinstance(end, TurnFailed)
    source = _source(turn)
    told = {
        "to": source.sender,
        "content": turn.text,
        "success": not failed,
        "channelId": source.channel,
        "conversationId": source.conversation,
        "messageId": source.message,
    }
    await fire(turn, "message:sent", {**told, "error": end.message} if isinstance(end, TurnFailed) else told)


def _is_persons(turn: Turn) -> bool:
    """Whether a turn answers a person: as it is, or from the fork of a skill that they started."""
    conversation = turn.conversation
    return not conversation.depth or (conversation.forked is not None and conversation.forked_by == "user")


def _describe(turn: Turn) -> dict[str, Any]:
    """A message in OpenClaw's words. What starts a skill is told as it was typed."""
    request, source = turn.request, _source(turn)
    names = " ".join(f"/{one}" for one in (request.skill, *request.more_skills) if one)
    return {
        "from": source.sender,
        "content": f"{names} {request.text}".strip(),
        "channelId": source.channel,
        "conversationId": source.conversation,
        "messageId": source.message,
        "metadata": {"skill": request.skill, "images": len(request.images)},
    }


def _source(turn: Turn) -> Source:
    """Where a message came from: a channel, or who sits here."""
    key = turn.session.key
    return turn.request.source or Source("cli", "user", key, f"{key}:{turn.id}")
