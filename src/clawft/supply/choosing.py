"""From what a person typed to exact versions: each reference means one skill, or those that were chosen of a place."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
from msgspec import Struct, structs

from clawft.errors import ClawftError, NotFound, find_close
from clawft.sources.choose import Sources
from clawft.sources.model import Reference, Resolved, Source
from clawft.supply.install import Finder, Wanted

__all__ = ["Choice", "each", "find_chosen"]

RESOLVES = 8  # at once
MAX_LISTED = 40

T = TypeVar("T")
R = TypeVar("R")


class Choice(Struct, frozen=True):
    """Which skills of a place that holds several."""

    skills: tuple[str, ...] = ()
    every: bool = False


def find_chosen(sources: Sources, reference: Reference, choice: Choice) -> Finder:
    """Who finds what a reference means, when asked to. Raises, then: ClawftError for what is not exact."""

    async def find() -> list[Wanted]:
        source = sources.find(reference)
        return [Wanted(source, one) for one in await _resolve(source, reference, choice)]

    return find


async def each(things: Sequence[T], work: Callable[[T], Awaitable[R]], limit: int = RESOLVES) -> list[R]:
    """The work on each thing, several at once, in their order. Raises: ClawftError, the first there is."""
    room = anyio.Semaphore(limit)
    done: list[R | None] = [None] * len(things)
    errors: list[ClawftError] = []

    async def do(number: int, thing: T) -> None:
        try:
            async with room:
                done[number] = await work(thing)
        except ClawftError as error:
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number, thing in enumerate(things):
            group.start_soon(do, number, thing)
    if errors:
        raise errors[0]
    return done  # type: ignore[return-value]  # all of them were done


async def _resolve(source: Source, reference: Reference, choice: Choice) -> tuple[Resolved, ...]:
    if choice.skills and not reference.skill and not reference.slug:
        found: list[Resolved] = []
        for name in choice.skills:
            found += await _one(source, structs.replace(reference, skill=name))
        return tuple(found)
    if choice.every and not reference.skill:
        return await source.resolve(reference)
    return await _one(source, reference)


async def _one(source: Source, reference: Reference) -> tuple[Resolved, ...]:
    """Just one skill. Raises: NotFound; ClawftError where there are several to choose from."""
    found = await source.resolve(reference)
    if reference.skill:
        named = [one for one in found if one.name == reference.skill] or [
            one for one in found if reference.skill in (one.origin.path, one.origin.path.rpartition("/")[2])
        ]
        if len(named) == 1:
            return tuple(named)
        if not named:
            close = find_close(reference.skill, [one.name for one in found])
            hint = f"did you mean '{close}'? " if close else ""
            hint += f"There are: {_list(found)}" if found else ""
            raise NotFound("skill-not-found", f"There is no skill '{reference.skill}' in {reference.text}", hint=hint)
        found = tuple(named)
    if len(found) == 1:
        return found
    if not found:
        raise NotFound("no-skill", f"There is no skill in {reference.text}", hint="A skill has a SKILL.md")
    message = f"{reference.text} holds {len(found)} skills"
    hint = f"Say which: --skill NAME, or --all. There are: {_list(found)}"
    raise ClawftError("several-skills", message, hint=hint)


def _list(found: Sequence[Resolved]) -> str:
    names = [f"{one.name} ({one.origin.path})" if one.origin.path else one.name for one in found]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more
