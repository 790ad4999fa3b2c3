"""Sources that are asked over the network, opened. Apart from the rest: what lies on this machine needs none of it."""

from typing import Protocol

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.programs import Launcher
from clawft.sources.clawhub import ClawHub
from clawft.sources.contract import Contract
from clawft.sources.fetching import Fetching
from clawft.sources.git import GitRepository
from clawft.sources.model import Registry, Source
from clawft.sources.remote import RemoteArchive
from clawft.sources.wellknown import WellKnown

__all__ = ["Closing", "ClosingRegistry", "open_address", "open_registry"]


class Closing(Source, Protocol):
    """A source that holds connections or files."""

    async def aclose(self) -> None: ...


class ClosingRegistry(Registry, Closing, Protocol):
    """A registry that does."""


def open_registry(
    name: str, settings: RegistrySettings, web: WebSettings, launcher: Launcher, *, default: bool
) -> ClosingRegistry:
    """A registry of the user's. Raises: ClawftError for one that has no token where it should."""
    token = settings.token.resolve(launcher.environ) if settings.token else ""
    if settings.token and not token:
        hint = f"Set it, or give it anew: weft registries token {name}"
        message = f"The token of the registry '{name}' is not set: {settings.token}"
        raise ClawftError("source-token", message, hint=hint)
    fetching = Fetching(settings.url, web, token=token, name=name)
    if settings.kind == "well-known":
        return WellKnown(settings.url, fetching, name=name, default=default)
    if settings.kind == "contract":
        return Contract(name, settings.url, fetching, default=default)

    def open_repository(url: str) -> GitRepository:
        return GitRepository(url, web, launcher, typed=False)

    return ClawHub(name, settings.url, fetching, open_repository, default=default)


def open_address(kind: str, url: str, web: WebSettings, launcher: Launcher, *, typed: bool) -> Closing:
    """What is at an address; `typed`: a person named it, so that it may be a private one. Raises: ClawftError."""
    if kind == "well-known":
        return WellKnown(url, Fetching(url, web, typed=typed))
    if kind == "archive":
        return RemoteArchive(url, Fetching(url, web, typed=typed))
    if kind == "git":
        return GitRepository(url, web, launcher, typed=typed)
    raise ClawftError("source-kind", f"{kind} is a source that cannot be asked")
