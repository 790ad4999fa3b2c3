"""All hooks of a session: which handle an event, in which order, and with what result.

A failing hook is reported, and never stops what it was called for. Hooks for a whole type of events come before hooks
that name the event; each group in the order it was found.
"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import anyio
from msgspec import structs

from clawft.agent.hooks.events import KINDS, ContextVersion, EventOutcome, HookEvent, HookReply, HookText, HookVoice
from clawft.errors import ClawftError, Diagnostic

if TYPE_CHECKING:
    from clawft.trust.status import SkillStatus


MAX_PARALLEL = 4


class HookHandler(Protocol):
    """Something that can be called for events: a hook in TypeScript, or a command."""

    @property
    def name(self) -> str: ...

    @property
    def events(self) -> frozenset[str]:
        """Those it hears, and whole types."""
        ...

    @property
    def strict(self) -> bool:
        """Return whether its failure is a no to the tool call that it was asked about."""
        ...

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The hosts that the hook's text may lead the model to; None for the user's own hook."""
        ...

    def matches_event(self, event: HookEvent) -> bool:
        """Return whether it wants this very event, of those it hears."""
        ...

    async def call(self, event: HookEvent) -> HookReply:
        """Raises: ClawftError."""
        ...


Load = Callable[["Sequence[SkillStatus] | None"], tuple[Sequence[HookHandler], Sequence[Diagnostic]]]


class HookRunHistory:
    """The history that survives reloading hooks from disk: which run-once hooks ran in which session, and which notices
    were shown."""

    def __init__(self) -> None:
        self.done: set[tuple[str, str, str]] = set()
        self.noticed: set[tuple[str, str]] = set()


class Hooks:
    """`load` gives the handlers as they are now; it is asked when a turn begins. It gets the skills that may bring
    some, or None where nobody has looked for them."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._skills: Sequence[SkillStatus] | None = None
        self._is_fresh = False
        self._handlers: Sequence[HookHandler] = ()
        self._diagnostics: tuple[Diagnostic, ...] = ()

    def refresh(self, skills: "Sequence[SkillStatus] | None" = None) -> None:
        """Look at the disk again, when an event is next asked about; `skills` are those that are there now."""
        self._is_fresh, self._skills = False, skills

    def wants(self, key: str) -> bool:
        """Return whether anybody hears an event."""
        return bool(self._find(key))

    def find_names(self, event: HookEvent) -> tuple[str, ...]:
        """Return the names of the hooks that handle this event, in order."""
        return tuple(dict.fromkeys(handler.name for handler in self._find(event.key) if handler.matches_event(event)))

    def check(self) -> tuple[Diagnostic, ...]:
        """Return the problems that keep existing hooks from being called."""
        self._look()
        return self._diagnostics

    def _look(self) -> None:
        if self._is_fresh:
            return
        self._is_fresh = True
        try:
            self._handlers, diagnostics = self._load(self._skills)
            self._diagnostics = tuple(diagnostics)
        except ClawftError as error:  # as when the config was broken meanwhile: those of before stay
            self._diagnostics = (structs.replace(error.diagnostic, severity="warning"),)
        except OSError as error:
            self._diagnostics = (Diagnostic("hook-failed", "warning", f"Hooks cannot be looked for: {error}"),)

    def _find(self, key: str) -> list[HookHandler]:
        self._look()
        if not self._handlers:
            return []
        kind = key.partition(":")[0]
        general = [handler for handler in self._handlers if kind in handler.events]
        return general + [handler for handler in self._handlers if key in handler.events and handler not in general]

    async def fire(self, event: HookEvent) -> EventOutcome:
        """Tell all who want to hear of an event; what they made of it."""
        handlers = [handler for handler in self._find(event.key) if handler.matches_event(event)]
        if KINDS[event.key].in_order:
            return await _fire_in_order(handlers, event)
        return await _fire_together(handlers, event)


async def _fire_in_order(handlers: Sequence[HookHandler], event: HookEvent) -> EventOutcome:
    outcome = EventOutcome(event.context)
    for handler in handlers:
        reply = await _call(handler, structs.replace(event, context=outcome.context))
        outcome = _add(outcome, handler, reply, event)
    return outcome


async def _fire_together(handlers: Sequence[HookHandler], event: HookEvent) -> EventOutcome:
    replies: dict[int, HookReply | Diagnostic] = {}
    limiter = anyio.CapacityLimiter(MAX_PARALLEL)

    async def run(at: int, handler: HookHandler) -> None:
        async with limiter:
            replies[at] = await _call(handler, event)

    async with anyio.create_task_group() as group:
        for at, hook_handler in enumerate(handlers):
            group.start_soon(run, at, hook_handler)
    outcome = EventOutcome()  # without the context, since hooks that run in parallel cannot change it
    for at, hook_handler in enumerate(handlers):
        outcome = _add(outcome, hook_handler, replies[at], event)
    return outcome


async def _call(handler: HookHandler, event: HookEvent) -> HookReply | Diagnostic:
    try:
        return await handler.call(event)
    except ClawftError as error:
        place = os.path.basename(error.diagnostic.where)
        message = f"The hook '{handler.name}' failed at {event.key}: {error}{f' ({place})' if place else ''}"
        return structs.replace(error.diagnostic, severity="warning", message=message)
    except Exception as error:  # whatever is wrong with how it was called, the turn goes on
        message = f"The hook '{handler.name}' could not be called at {event.key}: {type(error).__name__}: {error}"
        return Diagnostic("hook-failed", "warning", message)


def _add(outcome: EventOutcome, handler: HookHandler, reply: HookReply | Diagnostic, event: HookEvent) -> EventOutcome:
    """Add one more reply to the outcome of an event. The first refusal wins."""
    if isinstance(reply, Diagnostic):
        blocked = outcome.blocked
        if handler.strict and blocked is None and event.key == "tool:before":
            blocked = HookText(handler.name, "it failed, and is set to refuse then")
        return structs.replace(outcome, problems=(*outcome.problems, reply), blocked=blocked)
    name = handler.name
    changed = bool(reply.context) and reply.context != {key: outcome.context.get(key) for key in reply.context}
    context = {**outcome.context, **reply.context} if changed else outcome.context
    messages = tuple(HookText(name, message) for message in reply.messages)
    added = (HookText(name, reply.added),) if reply.added else ()
    blocked = HookText(name, reply.blocked) if reply.blocked is not None else None
    asks = HookText(name, reply.asks) if reply.asks is not None else None
    reaches_model = changed or added or blocked or asks  # why something was refused is read by the model too
    return EventOutcome(
        context,
        (*outcome.texts, *messages),
        (*outcome.added, *added),
        outcome.blocked or blocked,
        outcome.asks or asks,
        outcome.problems,
        (*outcome.voices, HookVoice(name, handler.hosts)) if reaches_model else outcome.voices,
        (*outcome.versions, ContextVersion(name, context)) if changed else outcome.versions,
    )
