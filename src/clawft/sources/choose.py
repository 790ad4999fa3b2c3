"""Which source answers for a reference, or for where something came from. Each is opened once, and all are closed."""

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Refused
from clawft.locks.model import Origin
from clawft.sources.clawhub import ClawHub
from clawft.sources.contract import Contract
from clawft.sources.fetching import Fetching
from clawft.sources.git import GitRepository
from clawft.sources.local import LocalSource
from clawft.sources.model import Reference, Source
from clawft.sources.remote import RemoteArchive
from clawft.sources.wellknown import WellKnown

__all__ = ["Sources"]

_REGISTRIES = ("clawhub", "contract")


class _Closing(Source, Protocol):
    async def aclose(self) -> None: ...


class Sources:
    """All sources there are, for one command: `async with` it, and everything it opened is closed."""

    def __init__(
        self, registries: Mapping[str, RegistrySettings], settings: WebSettings, environ: Mapping[str, str]
    ) -> None:
        """`registries`: those that may be asked, the default one first."""
        self.registries = registries
        self._settings = settings
        self._environ = environ
        self._open: dict[tuple[str, ...], _Closing] = {}

    async def __aenter__(self) -> "Sources":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        while self._open:
            await self._open.popitem()[1].aclose()

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
        name = self._find_registry(wanted)
        if name:
            return self.registry(name)
        if wanted.kind in _REGISTRIES:
            hint = f"If you trust it: weft registries add NAME {wanted.url[:200]!a}"
            raise Refused("registry-unknown", f"{wanted.url[:80]!a} is no registry of yours", hint=hint)
        return self._find_elsewhere(wanted.kind, wanted.url, typed=own)

    def registry(self, name: str) -> Source:
        """A registry by its name. Raises: ClawftError."""
        if ("registry", name) not in self._open:
            self._open["registry", name] = self._open_registry(name, self.registries[name])
        return self._open["registry", name]

    def _find_registry(self, origin: Origin) -> str:
        """The name of the registry that something came from; '' if it was none of those here."""
        place = origin.url.rstrip("/")
        named = (
            name for name, one in self.registries.items() if (one.kind, one.url.rstrip("/")) == (origin.kind, place)
        )
        return next(named, "")

    def _open_registry(self, name: str, settings: RegistrySettings) -> _Closing:
        token = settings.token.resolve(self._environ) if settings.token else ""
        if settings.token and not token:
            hint = f"Set it, or give it anew: weft registries add {name} {settings.url} --token"
            raise ClawftError(
                "source-token", f"The token of the registry '{name}' is not set: {settings.token}", hint=hint
            )
        fetching = Fetching(settings.url, self._settings, token=token)
        default = name == next(iter(self.registries))
        if settings.kind == "well-known":
            return WellKnown(settings.url, fetching, name=name, default=default)
        kind = ClawHub if settings.kind == "clawhub" else Contract
        return kind(name, settings.url, fetching, default=default)

    def _find_elsewhere(self, kind: str, url: str, *, typed: bool) -> Source:
        key = (kind, url, str(typed))
        if key not in self._open:
            self._open[key] = self._open_elsewhere(kind, url, typed=typed)
        return self._open[key]

    def _open_elsewhere(self, kind: str, url: str, *, typed: bool) -> _Closing:
        if kind == "well-known":
            return WellKnown(url, Fetching(url, self._settings, typed=typed))
        if kind == "archive":
            return RemoteArchive(url, Fetching(url, self._settings, typed=typed))
        if kind == "git":
            return GitRepository(url, self._settings, self._environ, typed=typed)
        raise ClawftError("source-kind", f"{kind} is a source that cannot be asked")
