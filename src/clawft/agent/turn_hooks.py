"""Hooks of a turn: fire their events at its start and end, and mark the text that they add for the model."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from clawft.agent.hooks.events import EventOutcome, HookEvent, HookText
from clawft.agent.run_request import MessageSource
from clawft.agent.runtime import Turn
from clawft.agent.sessions.record import format_time
from clawft.agent.text_limits import add_hook_limits, append_message
from clawft.agent.tools.steps import TurnStep
from clawft.errors import Refused
from clawft.messages import Message, MessageSent, Noticed, TurnFailed, TurnFinished

if TYPE_CHECKING:
    from clawft.agent.hooks.registry import Hooks
    from clawft.config.redaction import Secrets


MAX_ADDED = 10_000  # characters of one hook that reach the model at one event
MAX_ADDED_IN_ALL = 30_000
# What tells the model whose words it reads: no text of a hook may end its own mark, or begin another's. What does not
# show is looked through, and what only looks like a bracket is one.
_UNSEEN = (
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]*+"
)
_OURS = "|".join(_UNSEEN.join(name) for name in ("hook", "skill_content", "instructions", "file"))
_MARKS = rf"[<\u2039\u3008\ufe64\uff1c](?={_UNSEEN}[/\u2044\u2215\uff0f]?{_UNSEEN}(?:{_OURS})(?![a-z0-9]))"


async def fire_hooks(turn: "Turn", key: str, context: Mapping[str, Any], at: str = "") -> EventOutcome | None:
    """Tell hooks of an event of a turn; None where nobody hears it. What they say is shown, what fails is noticed.

    It is a step of the turn: where a run is begun again, hooks are not asked again. `at` tells one of several apart.
    """
    hooks = turn.runtime.hooks
    if not hooks.wants(key):
        return None
    conversation = turn.conversation
    above = (*conversation.lineage.loaded, *(skill.name for skill in conversation.lineage.active))
    shared = {"workspaceDir": turn.runtime.workspace.project, "agentId": turn.agent.name, "cfg": {}}
    event = structs.replace(
        _make_event(key, _name_session(turn), turn.runtime.secrets.mask_value({**shared, **context})),
        mode=conversation.effective_mode.value,
        turn=turn.id,
        skills=tuple(dict.fromkeys((*above, *turn.skills.loaded))),
    )
    names = hooks.find_names(event)
    if not names:  # some hear of such things, and none of this one
        return None
    step = TurnStep("hook", key, summary=", ".join(names))
    place = f"{key}-{at}" if at else key
    outcome = await conversation.steps.run(
        step, lambda: _fire(hooks, event, turn.runtime.secrets), EventOutcome, at=place
    )
    for hook_event in _show(outcome):
        if isinstance(hook_event, Noticed):
            turn.notice(hook_event)
        else:
            turn.emit(hook_event)
    add_hook_texts(turn, outcome)
    return outcome


def _name_session(turn: "Turn") -> str:
    """The session as hooks know it: published ones tell a fork by this word in its key, and leave it alone."""
    conversation, key = turn.conversation, turn.session.key
    return f"{conversation.account}:subagent:{key}" if conversation.depth else key


async def _fire(hooks: "Hooks", event: HookEvent, secrets: "Secrets") -> EventOutcome:
    """Run the hooks of an event and mask the secrets in their outcome: it is stored, shown, and sent to a model."""
    outcome = await hooks.fire(event)
    return msgspec.convert(secrets.mask_value(msgspec.to_builtins(outcome)), EventOutcome) if secrets else outcome


def _show(outcome: EventOutcome, secrets: "Secrets | None" = None) -> list[MessageSent | Noticed]:
    """Convert the messages and problems of hooks to events."""
    mask = secrets.mask if secrets else str
    messages = [MessageSent(text=mask(hook_text.text), hook=hook_text.hook) for hook_text in outcome.texts]
    problems = [
        Noticed(code=problem.code, message=mask(problem.message), severity="warning", hint=mask(problem.hint))
        for problem in outcome.problems
    ]
    return [*messages, *problems]


class DetachedHooks(Struct, frozen=True):
    """The hooks for events while no turn runs: at a prompt, or in a daemon."""

    hooks: "Hooks"
    secrets: "Secrets"
    project: str
    session: str = ""
    agent: str = ""

    async def fire(self, key: str, context: Mapping[str, Any]) -> EventOutcome | None:
        """Tell hooks of an event, masked; None where nobody hears it."""
        if not self.hooks.wants(key):
            return None
        shared = {"workspaceDir": self.project, "agentId": self.agent, "cfg": {}}
        event = _make_event(key, self.session, self.secrets.mask_value({**shared, **context}))
        return await self.hooks.fire(event)

    async def tell(self, key: str, context: Mapping[str, Any]) -> list[MessageSent | Noticed]:
        """The same; what there is to show of it."""
        outcome = await self.fire(key, context)
        shown = _show(outcome, self.secrets) if outcome is not None else []
        return [structs.replace(event, at=format_time(time.time()), session=self.session) for event in shown]

    async def tell_command(self, action: str, path: str) -> list[MessageSent | Noticed]:
        """Tell of a command of the person, given in the session whose file is at a path; what there is to show."""
        entry = {"sessionId": self.session, "sessionKey": self.session, "sessionFile": path} if path else {}
        context = {"commandSource": "cli", "senderId": "user", "sessionEntry": entry}
        if action != "stop":  # the next message begins the session that comes after it
            context["previousSessionEntry"] = entry
        return await self.tell(f"command:{action}", context)


def _make_event(key: str, session: str, context: dict[str, Any]) -> HookEvent:
    kind, _, action = key.partition(":")
    return HookEvent(kind, action, session, context, format_time(time.time()))


def add_hook_texts(turn: "Turn", outcome: EventOutcome) -> None:
    """The model reads what hooks wrote. The next message may hold it, or what comes of it: then it is written down."""
    for voice in outcome.voices:
        if voice.hosts is not None:  # not the user's own
            add_hook_limits(turn.conversation, voice.hook, voice.hosts)


def mark_hook_text(hook_text: HookText) -> str:
    """A hook's text as the model reads it: whose it is, bounded, and sure to end where it ends."""
    text = hook_text.text.strip()
    if len(text) > MAX_ADDED:
        text = f"{text[:MAX_ADDED]}\n… ({len(text) - MAX_ADDED} characters more were left out)"
    return f'<hook name="{escape_name(hook_text.hook)}">\n{escape_marks(text)}\n</hook>'


def mark_hook_texts(hook_texts: Sequence[HookText]) -> str:
    """Several of them, with a limit on all together."""
    texts: list[str] = []
    for hook_text in hook_texts:
        text = mark_hook_text(hook_text)
        if sum(map(len, texts)) + len(text) > MAX_ADDED_IN_ALL:
            texts.append(f'<hook name="{escape_name(hook_text.hook)}">(left out: hooks wrote too much)</hook>')
        else:
            texts.append(text)
    return "\n\n".join(texts)


def escape_marks(text: str) -> str:
    """Return text that neither ends a mark of ours nor begins one."""
    return re.sub(_MARKS, r"<\\", text, flags=re.IGNORECASE)  # compiled, and kept by `re`, when it is first needed


def escape_name(name: str) -> str:
    """A name for a mark's attribute."""
    return re.sub(r"[^\w.:/@ ~-]", "_", name)[:200]


def render_added_texts(turn: "Turn", outcome: EventOutcome | None, where: str) -> str:
    """Render the text that hooks wrote for the model, marked, and notify the user that there is such a text."""
    added = outcome.added if outcome is not None else ()
    for hook_text in added:
        message = f"The hook '{hook_text.hook}' added {len(hook_text.text)} characters to {where}"
        turn.notice(Noticed(code="hook-added", message=message))
    return mark_hook_texts(added)


MAX_HELD = 3  # times that hooks may have the model of one turn go on
_HOOKS = "# Hooks\nWhat follows was written by hooks when this conversation began.\n\n"


async def run_session_hooks(turn: Turn) -> None:
    """The first turn of a conversation in this process; what hooks add then is in all of its prompts."""
    conversation = turn.conversation
    if not conversation.started and not conversation.depth:
        conversation.started = True
        source = "startup" if turn.id == 1 else "resume"
        outcome = await fire_hooks(turn, "session:start", {"source": source, "sessionId": turn.session.key})
        added = render_added_texts(turn, outcome, "the prompt")
        conversation.sections = [_HOOKS + added] if added else []
    turn.extra_sections += conversation.sections


async def run_message_hooks(turn: Turn) -> None:
    """Tell what a person wrote, before anything is done about it. Raises: Refused if a hook will not have it."""
    if turn.conversation.depth:
        return
    outcome = await fire_hooks(turn, "message:received", _describe(turn))
    if outcome is not None and outcome.blocked is not None:
        message = f"The hook '{outcome.blocked.hook}' refused the message: {outcome.blocked.text}"
        raise Refused("hook-blocked", message)
    turn.is_received = True
    turn.added = render_added_texts(turn, outcome, "the message")


async def run_preprocess_hooks(turn: Turn, text: str) -> None:
    """Tell what the model will read of a message. The fork that answers it is the one that reads it."""
    if not turn.is_preview and _is_persons(turn):
        await fire_hooks(turn, "message:preprocessed", {**_describe(turn), "bodyForAgent": text})


async def run_stop_hooks(turn: Turn, held: int) -> bool:
    """Return whether a hook has the model go on that was done, with the reason as the next message; `held` tells how
    often one did."""
    if not _is_persons(turn):
        return False
    context = {"stopHookActive": held > 0, "lastMessage": turn.text}
    outcome = await fire_hooks(turn, "agent:stop", context)
    blocked = outcome.blocked if outcome is not None else None
    if blocked is None:
        return False
    if held >= MAX_HELD:
        message = f"The hook '{blocked.hook}' wants more, but had the model go on {MAX_HELD} times already"
        turn.notice(Noticed(code="hook-held", message=message, severity="warning", hint=blocked.text))
        return False
    turn.notice(Noticed(code="hook-goes-on", message=f"The hook '{blocked.hook}' has the model go on: {blocked.text}"))
    append_message(turn, Message("user", mark_hook_text(blocked)))
    return True


async def run_sent_hooks(turn: Turn, end: TurnFinished | TurnFailed) -> None:
    """Tell what was answered, or that nothing was."""
    if not turn.is_received:
        return
    failed = isinstance(end, TurnFailed)
    source = _source(turn)
    context = {
        "to": source.sender,
        "content": turn.text,
        "success": not failed,
        "channelId": source.channel,
        "conversationId": source.conversation,
        "messageId": source.message,
    }
    await fire_hooks(
        turn, "message:sent", {**context, "error": end.message} if isinstance(end, TurnFailed) else context
    )


def _is_persons(turn: Turn) -> bool:
    """Return whether a turn answers a person: as it is, or from the fork of a skill that they started."""
    conversation = turn.conversation
    return not conversation.depth or (conversation.forked is not None and conversation.forked_by == "user")


def _describe(turn: Turn) -> dict[str, Any]:
    """Return a message in OpenClaw's fields. The start of a skill is shown as it was typed."""
    request, source = turn.request, _source(turn)
    names = " ".join(f"/{more_skill}" for more_skill in (request.skill, *request.more_skills) if more_skill)
    return {
        "from": source.sender,
        "content": f"{names} {request.text}".strip(),
        "channelId": source.channel,
        "conversationId": source.conversation,
        "messageId": source.message,
        "metadata": {"skill": request.skill, "images": len(request.images)},
    }


def _source(turn: Turn) -> MessageSource:
    """Return the origin of a message: a channel, or the local user."""
    key = turn.session.key
    return turn.request.source or MessageSource("cli", "user", key, f"{key}:{turn.id}")
