"""What happens and hooks hear of: an event, what may come back for each kind, and what all of it amounts to."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.format.hook import EVENTS

__all__ = [
    "KINDS",
    "BootstrapFile",
    "EventKind",
    "HookEvent",
    "HookFailed",
    "Outcome",
    "Reply",
    "Said",
    "Version",
    "Voice",
    "read_reply",
]

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
    """What a hook may decide of a tool call, or of a message: that it is not to be."""

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


class Reply(Struct, frozen=True):
    """What one handler answered, checked. `added` is for the model; `blocked` and `asks` are reasons."""

    context: dict[str, Any] = {}
    messages: tuple[str, ...] = ()
    added: str = ""
    blocked: str | None = None
    asks: str | None = None
    printed: str = ""
    time_ms: float = 0


class Said(Struct, frozen=True):
    """A text, and which hook said it."""

    hook: str
    text: str


class Voice(Struct, frozen=True):
    """A hook whose words reach the model, and the hosts that a stranger's was approved with; None: one's own."""

    hook: str
    hosts: tuple[str, ...] | None = None


class Version(Struct, frozen=True):
    """What an event's context was after one hook had changed it."""

    hook: str
    context: dict[str, Any]


class Outcome(Struct, frozen=True):
    """What came of an event, of all hooks together."""

    context: dict[str, Any] = {}  # as they left it, where they may change it
    said: tuple[Said, ...] = ()
    added: tuple[Said, ...] = ()
    blocked: Said | None = None
    asks: Said | None = None
    problems: tuple[Diagnostic, ...] = ()
    heard: tuple[Voice, ...] = ()
    versions: tuple[Version, ...] = ()  # one for each hook that changed something, in their order


class _Result(Struct, frozen=True):
    context: dict[str, Any] = {}
    messages: Annotated[tuple[_Reason, ...], Meta(max_length=MAX_MESSAGES)] = ()


def read_reply(event: HookEvent, answer: Any, *, printed: str = "", time_ms: float = 0) -> Reply:
    """The answer of a handler, `{context, messages}` (D58), as far as its event lets it have a say.

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
    context = _to_builtins(changes) if kind.in_order else {}
    return Reply(context, tuple(one for one in result.messages if one.strip()), "", blocked, None, printed, time_ms)


def _to_builtins(changes: Struct) -> dict[str, Any]:
    """What counts of a context, as it is told: a tuple is no list, and would be a change."""
    plain: dict[str, Any] = msgspec.to_builtins(changes)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}
