"""Tells hooks what happens, inside a turn and outside of one, and takes over what comes of it."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from clawft.hooks.events import HookEvent, Outcome, Said
from clawft.messages import MessageSent, Noticed
from clawft.run.text_limits import add_hook_limits
from clawft.tools.steps import Step

if TYPE_CHECKING:
    from clawft.config.masking import Secrets
    from clawft.hooks.registry import Hooks
    from clawft.run.turn import Turn

__all__ = ["Outside", "escape_marks", "escape_name", "fire", "hear", "mark", "mark_all", "tell_added"]

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


async def fire(turn: "Turn", key: str, context: Mapping[str, Any], at: str = "") -> Outcome | None:
    """Tell hooks of an event of a turn; None where nobody hears it. What they say is shown, what fails is noticed.

    It is a step of the turn: where a run is begun again, hooks are not asked again. `at` tells one of several apart.
    """
    hooks = turn.runtime.hooks
    if not hooks.wants(key):
        return None
    conversation = turn.conversation
    above = (*conversation.lineage.loaded, *(one.name for one in conversation.lineage.active))
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
    step = Step("hook", key, summary=", ".join(names))
    place = f"{key}-{at}" if at else key
    outcome = await conversation.steps.run(step, lambda: _fire(hooks, event, turn.runtime.secrets), Outcome, at=place)
    for one in _show(outcome):
        if isinstance(one, Noticed):
            turn.notice(one)
        else:
            turn.emit(one)
    hear(turn, outcome)
    return outcome


def _name_session(turn: "Turn") -> str:
    """The session as hooks know it: published ones tell a fork by this word in its key, and leave it alone."""
    conversation, key = turn.conversation, turn.session.key
    return f"{conversation.account}:subagent:{key}" if conversation.depth else key


async def _fire(hooks: "Hooks", event: HookEvent, secrets: "Secrets") -> Outcome:
    """What hooks make of an event, without any secret: it is kept, shown, and sent to a model."""
    outcome = await hooks.fire(event)
    return msgspec.convert(secrets.mask_value(msgspec.to_builtins(outcome)), Outcome) if secrets else outcome


def _show(outcome: Outcome, secrets: "Secrets | None" = None) -> list[MessageSent | Noticed]:
    """What hooks said and what went wrong, as events."""
    mask = secrets.mask if secrets else str
    said = [MessageSent(text=mask(one.text), hook=one.hook) for one in outcome.said]
    problems = [
        Noticed(code=one.code, message=mask(one.message), severity="warning", hint=mask(one.hint))
        for one in outcome.problems
    ]
    return [*said, *problems]


class Outside(Struct, frozen=True):
    """Where something happens while no turn runs: at a prompt, or in a daemon."""

    hooks: "Hooks"
    secrets: "Secrets"
    project: str
    session: str = ""
    agent: str = ""

    async def fire(self, key: str, context: Mapping[str, Any]) -> Outcome | None:
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
        return [structs.replace(one, at=_now(), session=self.session) for one in shown]

    async def tell_command(self, action: str, path: str) -> list[MessageSent | Noticed]:
        """Tell of a command of the person, given in the session whose file is at a path; what there is to show."""
        entry = {"sessionId": self.session, "sessionKey": self.session, "sessionFile": path} if path else {}
        told = {"commandSource": "cli", "senderId": "user", "sessionEntry": entry}
        if action != "stop":  # the next message begins the session that comes after it
            told["previousSessionEntry"] = entry
        return await self.tell(f"command:{action}", told)


def _make_event(key: str, session: str, context: dict[str, Any]) -> HookEvent:
    kind, _, action = key.partition(":")
    return HookEvent(kind, action, session, context, _now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def hear(turn: "Turn", outcome: Outcome) -> None:
    """The model reads what hooks wrote. The next message may hold it, or what comes of it: then it is written down."""
    for one in outcome.heard:
        if one.hosts is not None:  # somebody else's
            add_hook_limits(turn.conversation, one.hook, one.hosts)


def mark(said: Said) -> str:
    """A hook's text as the model reads it: whose it is, bounded, and sure to end where it ends."""
    text = said.text.strip()
    if len(text) > MAX_ADDED:
        text = f"{text[:MAX_ADDED]}\n… ({len(text) - MAX_ADDED} characters more were left out)"
    return f'<hook name="{escape_name(said.hook)}">\n{escape_marks(text)}\n</hook>'


def mark_all(said: Sequence[Said]) -> str:
    """Several of them, with a limit on all together."""
    texts: list[str] = []
    for one in said:
        text = mark(one)
        if sum(map(len, texts)) + len(text) > MAX_ADDED_IN_ALL:
            texts.append(f'<hook name="{escape_name(one.hook)}">(left out: hooks wrote too much)</hook>')
        else:
            texts.append(text)
    return "\n\n".join(texts)


def escape_marks(text: str) -> str:
    """The same text, which neither ends a mark of ours nor begins one."""
    return re.sub(_MARKS, r"<\\", text, flags=re.IGNORECASE)  # compiled, and kept by `re`, when it is first needed


def escape_name(name: str) -> str:
    """A name for a mark's attribute."""
    return re.sub(r"[^\w.:/@ ~-]", "_", name)[:200]


def tell_added(turn: "Turn", outcome: Outcome | None, where: str) -> str:
    """What hooks wrote for the model, marked; the person is told that there is such a text."""
    added = outcome.added if outcome is not None else ()
    for one in added:
        message = f"The hook '{one.hook}' added {len(one.text)} characters to {where}"
        turn.notice(Noticed(code="hook-added", message=message))
    return mark_all(added)
