"""All hooks of a session: who hears an event, in which order, and what comes of it.

A hook that fails is told, and never stops what it was called for. Those that hear a whole type come before those
that name the event; each in the order they were found.
"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import anyio
from msgspec import structs

from clawft.errors import ClawftError, Diagnostic
from clawft.hooks.events import KINDS, HookEvent, Outcome, Reply, Said, Version, Voice

if TYPE_CHECKING:
    from clawft.trust.state import Standing

__all__ = ["Handler", "Hooks", "Load", "Remembered"]

MAX_PARALLEL = 4


class Handler(Protocol):
    """Something that can be called for events: a hook in TypeScript, or a command."""

    @property
    def name(self) -> str: ...

    @property
    def events(self) -> frozenset[str]:
        """Those it hears, and whole types."""
        ...

    @property
    def strict(self) -> bool:
        """Whether its failure is a no to the tool call that it was asked about."""
        ...

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """Which the text of a stranger's may lead a model to; None for one's own."""
        ...

    def hears(self, event: HookEvent) -> bool:
        """Whether it wants this very event, of those it hears."""
        ...

    async def call(self, event: HookEvent) -> Reply:
        """Raises: ClawftError."""
        ...


Load = Callable[["Sequence[Standing] | None"], tuple[Sequence[Handler], Sequence[Diagnostic]]]


class Remembered:
    """What outlasts a look at the disk: which hooks of sessions ran that run once, and what was said already."""

    def __init__(self) -> None:
        self.done: set[tuple[str, str, str]] = set()
        self.told: set[tuple[str, str]] = set()


class Hooks:
    """`load` gives the handlers as they are now; it is asked when a turn begins. It gets the skills that may bring
    some, or None where nobody has looked for them."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._skills: Sequence[Standing] | None = None
        self._is_fresh = False
        self._handlers: Sequence[Handler] = ()
        self._diagnostics: tuple[Diagnostic, ...] = ()

    def refresh(self, skills: "Sequence[Standing] | None" = None) -> None:
        """Look at the disk again, when an event is next asked about; `skills` are those that are there now."""
        self._is_fresh, self._skills = False, skills

    def wants(self, key: str) -> bool:
        """Whether anybody hears an event."""
        return bool(self._find(key))

    def find_names(self, event: HookEvent) -> tuple[str, ...]:
        """Who wants to hear of this very event, in order."""
        return tuple(dict.fromkeys(one.name for one in self._find(event.key) if one.hears(event)))

    def check(self) -> tuple[Diagnostic, ...]:
        """What keeps hooks that are there from being called."""
        self._look()
        return self._diagnostics

    def _look(self) -> None:
        if self._is_fresh:
            return
        self._is_fresh = True
        try:
            self._handlers, said = self._load(self._skills)
            self._diagnostics = tuple(said)
        except ClawftError as error:  # as when the config was broken meanwhile: those of before stay
            self._diagnostics = (structs.replace(error.diagnostic, severity="warning"),)
        except OSError as error:
            self._diagnostics = (Diagnostic("hook-failed", "warning", f"Hooks cannot be looked for: {error}"),)

    def _find(self, key: str) -> list[Handler]:
        self._look()
        if not self._handlers:
            return []
        kind = key.partition(":")[0]
        general = [one for one in self._handlers if kind in one.events]
        return general + [one for one in self._handlers if key in one.events and one not in general]

    async def fire(self, event: HookEvent) -> Outcome:
        """Tell all who want to hear of an event; what they made of it."""
        handlers = [one for one in self._find(event.key) if one.hears(event)]
        if KINDS[event.key].in_order:
            return await _fire_in_order(handlers, event)
        return await _fire_together(handlers, event)


async def _fire_in_order(handlers: Sequence[Handler], event: HookEvent) -> Outcome:
    outcome = Outcome(event.context)
    for one in handlers:
        reply = await _call(one, structs.replace(event, context=outcome.context))
        outcome = _add(outcome, one, reply, event)
    return outcome


async def _fire_together(handlers: Sequence[Handler], event: HookEvent) -> Outcome:
    replies: dict[int, Reply | Diagnostic] = {}
    limiter = anyio.CapacityLimiter(MAX_PARALLEL)

    async def run(at: int, handler: Handler) -> None:
        async with limiter:
            replies[at] = await _call(handler, event)

    async with anyio.create_task_group() as group:
        for at, one in enumerate(handlers):
            group.start_soon(run, at, one)
    outcome = Outcome()  # what was told is not kept again: nothing of it can have changed
    for at, one in enumerate(handlers):
        outcome = _add(outcome, one, replies[at], event)
    return outcome


async def _call(handler: Handler, event: HookEvent) -> Reply | Diagnostic:
    try:
        return await handler.call(event)
    except ClawftError as error:
        place = os.path.basename(error.diagnostic.where)
        said = f"The hook '{handler.name}' failed at {event.key}: {error}{f' ({place})' if place else ''}"
        return structs.replace(error.diagnostic, severity="warning", message=said)
    except Exception as error:  # whatever is wrong with how it was called, the turn goes on
        said = f"The hook '{handler.name}' could not be called at {event.key}: {type(error).__name__}: {error}"
        return Diagnostic("hook-failed", "warning", said)


def _add(outcome: Outcome, handler: Handler, reply: Reply | Diagnostic, event: HookEvent) -> Outcome:
    """What came of an event with one more answer. The first no counts."""
    if isinstance(reply, Diagnostic):
        blocked = outcome.blocked
        if handler.strict and blocked is None and event.key == "tool:before":
            blocked = Said(handler.name, "it failed, and is set to refuse then")
        return structs.replace(outcome, problems=(*outcome.problems, reply), blocked=blocked)
    name = handler.name
    changed = bool(reply.context) and reply.context != {key: outcome.context.get(key) for key in reply.context}
    context = {**outcome.context, **reply.context} if changed else outcome.context
    said = tuple(Said(name, one) for one in reply.messages)
    added = (Said(name, reply.added),) if reply.added else ()
    blocked = Said(name, reply.blocked) if reply.blocked is not None else None
    asks = Said(name, reply.asks) if reply.asks is not None else None
    is_heard = changed or added or blocked or asks  # why something was refused is read by the model too
    return Outcome(
        context,
        (*outcome.said, *said),
        (*outcome.added, *added),
        outcome.blocked or blocked,
        outcome.asks or asks,
        outcome.problems,
        (*outcome.heard, Voice(name, handler.hosts)) if is_heard else outcome.heard,
        (*outcome.versions, Version(name, context)) if changed else outcome.versions,
    )
