"""Events that hooks handle: the event, the replies allowed for each kind, their outcome, and JSON to and from hooks."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.skills.parse.hooks import EVENTS


def write_json(value: Any) -> bytes:
    """A value for a hook. A folder whose name is no UTF-8 must not keep a hook from hearing what happens in it."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def read_json(text: str | bytes) -> Any:
    """Parse JSON that a hook wrote, replacing characters that could not be encoded again. Raises: ValueError,
    RecursionError."""
    value = json.loads(text)
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


MAX_MESSAGES = 20
_Text = Annotated[str, Meta(max_length=200_000)]
_Reason = Annotated[str, Meta(max_length=4_000)]


class HookFailed(ClawftError):
    """A hook gave no answer, or none that can be used.

    Codes: `hook-failed`, `hook-denied`, `hook-timeout`, `hook-flooded`, `hook-memory`, `hook-ended`, `hook-result`.
    """


class HookEvent(Struct, frozen=True):
    """Something that happened. `context` is in the words of OpenClaw, and holds no secret."""

    type: str
    action: str
    session_key: str = ""
    context: dict[str, Any] = {}
    timestamp: str = ""
    mode: str = ""  # of the conversation
    turn: int = 0
    skills: tuple[str, ...] = ()  # those that are loaded in the conversation

    @property
    def key(self) -> str:
        return f"{self.type}:{self.action}"

    def to_dict(self) -> dict[str, Any]:
        """The event as handlers get it."""
        return {
            "type": self.type,
            "action": self.action,
            "sessionKey": self.session_key,
            "timestamp": self.timestamp,
            "messages": [],
            "context": self.context,
        }

    def to_call(self) -> dict[str, Any]:
        """The event with what of its context counts in an answer."""
        return {"event": self.to_dict(), "counts": KINDS[self.key].changes.__struct_fields__}


class BootstrapFile(Struct, frozen=True, omit_defaults=True):
    """A text of the system prompt; a `virtual` one is no file."""

    path: Annotated[str, Meta(min_length=1, max_length=500)]
    content: _Text = ""
    name: Annotated[str, Meta(max_length=500)] = ""
    virtual: bool = False
    missing: bool = False


class _Bootstrap(Struct, frozen=True):
    bootstrapFiles: Annotated[tuple[BootstrapFile, ...], Meta(max_length=100)] = ()  # noqa: N815  (OpenClaw's name)


class _Verdict(Struct, frozen=True):
    """The decision of a hook to block a tool call or a message."""

    block: bool = False
    blockReason: _Reason = ""  # noqa: N815  (OpenClaw's name)


class _Nothing(Struct, frozen=True):
    pass


class EventKind(Struct, frozen=True):
    """`changes` is what of the context counts when a hook is done. `in_order`: each hook sees what those before it
    changed. `frequent`: a process that is kept pays."""

    changes: type[Struct] = _Nothing
    in_order: bool = False
    frequent: bool = False


KINDS: Mapping[str, EventKind] = {name: EventKind() for name in EVENTS} | {
    "agent:bootstrap": EventKind(_Bootstrap, in_order=True),
    "agent:stop": EventKind(_Verdict),
    "message:received": EventKind(_Verdict, frequent=True),
    "message:preprocessed": EventKind(frequent=True),
    "message:sent": EventKind(frequent=True),
    "tool:before": EventKind(_Verdict, frequent=True),
    "tool:after": EventKind(frequent=True),
}


class HookReply(Struct, frozen=True):
    """The checked answer of one handler. `added` is for the model; `blocked` and `asks` are reasons."""

    context: dict[str, Any] = {}
    messages: tuple[str, ...] = ()
    added: str = ""
    blocked: str | None = None
    asks: str | None = None
    printed: str = ""
    time_ms: float = 0


class HookText(Struct, frozen=True):
    """A text, and which hook said it."""

    hook: str
    text: str


class HookVoice(Struct, frozen=True):
    """A hook whose text reaches the model, and the hosts approved for it; None for the user's own hook."""

    hook: str
    hosts: tuple[str, ...] | None = None


class ContextVersion(Struct, frozen=True):
    """The context of an event after one hook changed it."""

    hook: str
    context: dict[str, Any]


class EventOutcome(Struct, frozen=True):
    """The result of an event, from all hooks together."""

    context: dict[str, Any] = {}  # as they left it, where they may change it
    texts: tuple[HookText, ...] = ()
    added: tuple[HookText, ...] = ()
    blocked: HookText | None = None
    asks: HookText | None = None
    problems: tuple[Diagnostic, ...] = ()
    voices: tuple[HookVoice, ...] = ()
    versions: tuple[ContextVersion, ...] = ()  # one for each hook that changed something, in their order


class _Result(Struct, frozen=True):
    context: dict[str, Any] = {}
    messages: Annotated[tuple[_Reason, ...], Meta(max_length=MAX_MESSAGES)] = ()


def read_reply(event: HookEvent, answer: Any, *, printed: str = "", time_ms: float = 0) -> HookReply:
    """Check the answer of a handler, `{context, messages}`, and read what its event lets it decide.

    Raises: HookFailed.
    """
    kind = KINDS[event.key]
    try:
        result = msgspec.convert(answer, _Result)
        changes = msgspec.convert(result.context, kind.changes)
    except msgspec.ValidationError as error:
        raise HookFailed("hook-result", f"It answered something that {event.key} does not know: {error}") from error
    blocked = None
    if isinstance(changes, _Verdict) and changes.block:
        blocked = changes.blockReason.strip() or "it gave no reason"
    elif result.context.get("block") is True and not isinstance(changes, _Verdict):
        raise HookFailed("hook-result", f"It blocks, and nothing can be blocked at {event.key}")
    plain: dict[str, Any] = msgspec.to_builtins(changes) if kind.in_order else {}
    # Tuples would count as a change.
    context = {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}
    return HookReply(
        context, tuple(message for message in result.messages if message.strip()), "", blocked, None, printed, time_ms
    )


class MissingHook:
    """A placeholder for a hook with `on_failure = "deny"` that cannot run: it refuses every tool call it would be asked
    about."""

    strict = True
    hosts: tuple[str, ...] | None = None
    events = frozenset({"tool:before"})

    def __init__(self, name: str, why: Diagnostic | None) -> None:
        self.name = name
        self._why = why

    def matches_event(self, event: HookEvent) -> bool:
        return event.key in self.events

    async def call(self, event: HookEvent) -> HookReply:
        """Raises: HookFailed."""
        why, hint = (self._why.message, self._why.hint) if self._why else ("it is not there", "")
        raise HookFailed("hook-failed", f"it cannot be asked about {event.key}: {why}", hint=hint)
