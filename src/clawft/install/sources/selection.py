"""Which source answers for a reference, or for where something came from. Each is opened once, and all are closed."""

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import Refused
from clawft.locks.model import Origin
from clawft.programs import Launcher
from clawft.sources.local import LocalSource
from clawft.sources.model import Reference, Registry, Source

if TYPE_CHECKING:
    from clawft.sources.opening import Closing, ClosingRegistry

__all__ = ["REGISTRIES", "Sources"]

REGISTRIES = ("clawhub", "contract")  # asked only if they are the user's


class Sources:
    """All sources there are, for one command: `async with` it, and everything it opened is closed."""

    def __init__(self, registries: Mapping[str, RegistrySettings], settings: WebSettings, launcher: Launcher) -> None:
        """`registries`: those that may be asked, the default one first."""
        self.registries = registries
        self._settings = settings
        self._launcher = launcher
        self._open: dict[tuple[str, ...], Closing] = {}
        self._registries: dict[str, ClosingRegistry] = {}

    async def __aenter__(self) -> "Sources":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        for held in (self._open, self._registries):
            while held:
                await held.popitem()[1].aclose()

    def find(self, wanted: Reference | Origin, *, own: bool = False) -> Source:
        """What answers. An origin is what a lock says: a registry must be one of the user's, and any other address on a
        private network is asked only if the lock is the user's `own`, not a project's.

        Raises: ClawftError; Refused.
        """
        if wanted.kind in ("folder", "archive") and "://" not in wanted.url:
            return LocalSource()
        if isinstance(wanted, Reference):
            if wanted.registry:
                return self.registry(wanted.registry)
            return self._find_elsewhere(wanted.kind, wanted.url, typed=True)
        if wanted.kind in REGISTRIES or self._name_registry(wanted):
            return self.find_registry(wanted)
        return self._find_elsewhere(wanted.kind, wanted.url, typed=own)

    def find_registry(self, origin: Origin) -> Registry:
        """The registry that something came from. Raises: ClawftError; Refused for one that is not the user's."""
        name = self._name_registry(origin)
        if not name:
            hint = f"If you trust it: weft registries add NAME {origin.url[:200]!a}"
            raise Refused("registry-unknown", f"{origin.url[:80]!a} is no registry of yours", hint=hint)
        return self.registry(name)

    def registry(self, name: str) -> Registry:
        """A registry by its name. Raises: ClawftError."""
        if name not in self._registries:
            from clawft.sources.opening import open_registry

            given = (self.registries[name], self._settings, self._launcher)
            self._registries[name] = open_registry(name, *given, default=name == next(iter(self.registries)))
        return self._registries[name]

    def _name_registry(self, origin: Origin) -> str:
        """The name of the registry that something came from; '' if it was none of those here."""
        place = origin.url.rstrip("/")
        named = (
            name for name, one in self.registries.items() if (one.kind, one.url.rstrip("/")) == (origin.kind, place)
        )
        return next(named, "")

    def _find_elsewhere(self, kind: str, url: str, *, typed: bool) -> Source:
        key = (kind, url, str(typed))
        if key not in self._open:
            from clawft.sources.opening import open_address

            self._open[key] = open_address(kind, url, self._settings, self._launcher, typed=typed)
        return self._open[key]
