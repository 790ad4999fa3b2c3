"""Several registries asked side by side; one that fails does not keep the others from answering."""

from collections.abc import Sequence
from itertools import zip_longest

import anyio
from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.sources.choose import Sources
from clawft.sources.model import Hit

__all__ = ["Searched", "choose_registries", "search_registries"]


class Searched(Struct, frozen=True):
    """What was found, best first, and which registries did not answer and why."""

    hits: tuple[Hit, ...]
    failed: dict[str, Diagnostic]


def choose_registries(sources: Sources, name: str) -> tuple[str, ...]:
    """The registries to ask: the one of a name, or all. Raises: NotFound."""
    known = tuple(sources.registries)
    if not known:
        raise NotFound("registry-not-found", "No registry is in use", hint="Run: weft registries add NAME URL")
    if name and name not in known:
        close = find_close(name, known)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("registry-not-found", f"No registry '{name}' is in use", hint=hint)
    return (name,) if name else known


async def search_registries(sources: Sources, names: Sequence[str], query: str, limit: int) -> Searched:
    """Ask each of these registries. Their scores mean nothing to each other: the best of each come first."""
    found: dict[str, tuple[Hit, ...]] = {}
    failed: dict[str, Diagnostic] = {}

    async def ask(name: str) -> None:
        try:
            found[name] = await sources.registry(name).search(query, limit)
        except ClawftError as error:
            failed[name] = error.diagnostic

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(ask, name)
    ranked = zip_longest(*(found.get(name, ()) for name in names))
    hits = [hit for rank in ranked for hit in rank if hit is not None]
    wanted = "-".join(query.lower().split())
    hits.sort(key=lambda hit: hit.name.lower() != wanted)
    return Searched(tuple(hits[:limit]), {name: failed[name] for name in names if name in failed})
