"""The sources of one command: select the one for a reference, and search several registries."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import TracebackType

import anyio
from msgspec import Struct

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.local import LocalSource
from clawft.install.sources.model import SkillReference, SkillSource, SourceHit, SourceRegistry
from clawft.trust.programs import HostPrograms

REGISTRIES = ("clawhub", "contract")  # asked only if they are the user's


class SkillSources:
    """All sources there are, for one command: `async with` it, and everything it opened is closed."""

    def __init__(
        self, registries: Mapping[str, RegistrySettings], settings: WebSettings, host_programs: HostPrograms
    ) -> None:
        """`registries`: those that may be asked, the default one first."""
        self.registries = registries
        self._settings = settings
        self._host_programs = host_programs
        self._open: dict[tuple[str, ...], SkillSource] = {}
        self._registries: dict[str, SourceRegistry] = {}

    async def __aenter__(self) -> "SkillSources":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        for held in (self._open, self._registries):
            while held:
                await held.popitem()[1].aclose()

    def find(self, wanted: SkillReference | SkillOrigin, *, own: bool = False) -> SkillSource:
        """Find the source for a reference or an origin. An origin comes from a lock: a registry must be one of the
        user's, and any other address on a private network is asked only if the lock is the user's `own`, not a
        project's.

        Raises: ClawftError; Refused.
        """
        if wanted.kind in ("folder", "archive") and "://" not in wanted.url:
            return LocalSource()
        if isinstance(wanted, SkillReference):
            if wanted.registry:
                return self.registry(wanted.registry)
            return self._find_elsewhere(wanted.kind, wanted.url, typed=True)
        if wanted.kind in REGISTRIES or self._name_registry(wanted):
            return self.find_registry(wanted)
        return self._find_elsewhere(wanted.kind, wanted.url, typed=own)

    def find_registry(self, origin: SkillOrigin) -> SourceRegistry:
        """The registry that something came from. Raises: ClawftError; Refused for one that is not the user's."""
        name = self._name_registry(origin)
        if not name:
            hint = f"If you trust it: weft registries add NAME {origin.url[:200]!a}"
            raise Refused("registry-unknown", f"{origin.url[:80]!a} is no registry of yours", hint=hint)
        return self.registry(name)

    def registry(self, name: str) -> SourceRegistry:
        """A registry by its name. Raises: ClawftError."""
        if name not in self._registries:
            from clawft.install.sources.network import open_registry

            arguments = (self.registries[name], self._settings, self._host_programs)
            self._registries[name] = open_registry(name, *arguments, default=name == next(iter(self.registries)))
        return self._registries[name]

    def _name_registry(self, origin: SkillOrigin) -> str:
        """The name of the registry that something came from; '' if it was none of those here."""
        place = origin.url.rstrip("/")
        named = (
            name
            for name, registry in self.registries.items()
            if (registry.kind, registry.url.rstrip("/")) == (origin.kind, place)
        )
        return next(named, "")

    def _find_elsewhere(self, kind: str, url: str, *, typed: bool) -> SkillSource:
        key = (kind, url, str(typed))
        if key not in self._open:
            from clawft.install.sources.network import open_address

            self._open[key] = open_address(kind, url, self._settings, self._host_programs, typed=typed)
        return self._open[key]


class RegistrySearch(Struct, frozen=True):
    """The hits of a search, best first, and the errors of the registries that did not answer."""

    hits: tuple[SourceHit, ...]
    failed: dict[str, Diagnostic]


def choose_registries(sources: SkillSources, name: str) -> tuple[str, ...]:
    """The registries to ask: the one of a name, or all. Raises: NotFound."""
    known = tuple(sources.registries)
    if not known:
        raise NotFound("registry-not-found", "No registry is in use", hint="Run: weft registries add NAME URL")
    if name and name not in known:
        close = find_close(name, known)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("registry-not-found", f"No registry '{name}' is in use", hint=hint)
    return (name,) if name else known


async def search_registries(sources: SkillSources, names: Sequence[str], query: str, limit: int) -> RegistrySearch:
    """Ask each of these registries. Their scores mean nothing to each other: the best of each come first."""
    found: dict[str, tuple[SourceHit, ...]] = {}
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
    return RegistrySearch(tuple(hits[:limit]), {name: failed[name] for name in names if name in failed})
