"""Open the sources that are asked over the network. Loaded only where one is needed."""

from functools import partial

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.install.sources.clawhub import ClawHub
from clawft.install.sources.git import GitRepository
from clawft.install.sources.http import SourceConnection
from clawft.install.sources.http_registry import HttpRegistry
from clawft.install.sources.model import SkillSource, SourceRegistry
from clawft.install.sources.remote import RemoteArchive
from clawft.install.sources.wellknown import WellKnown
from clawft.trust.programs import HostPrograms


def open_registry(
    name: str, settings: RegistrySettings, web: WebSettings, host_programs: HostPrograms, *, default: bool
) -> SourceRegistry:
    """A registry of the user's. Raises: ClawftError for one that has no token where it should."""
    token = settings.token.resolve(host_programs.environ) if settings.token else ""
    if settings.token and not token:
        hint = f"Set it, or give it anew: weft registries token {name}"
        message = f"The token of the registry '{name}' is not set: {settings.token}"
        raise ClawftError("source-token", message, hint=hint)
    fetching = SourceConnection(settings.url, web, token=token, name=name)
    if settings.kind == "well-known":
        return WellKnown(settings.url, fetching, name=name, default=default)
    if settings.kind == "contract":
        return HttpRegistry(name, settings.url, fetching, default=default)
    repositories = partial(GitRepository, settings=web, host_programs=host_programs, typed=False)
    return ClawHub(name, settings.url, fetching, repositories, default=default)


def open_address(kind: str, url: str, web: WebSettings, host_programs: HostPrograms, *, typed: bool) -> SkillSource:
    """Open the source at an address; `typed`: the user typed it, so that it may be on a private network. Raises:
    ClawftError."""
    if kind == "well-known":
        return WellKnown(url, SourceConnection(url, web, typed=typed))
    if kind == "archive":
        return RemoteArchive(url, SourceConnection(url, web, typed=typed))
    if kind == "git":
        return GitRepository(url, web, host_programs, typed=typed)
    raise ClawftError("source-kind", f"{kind} is a source that cannot be asked")
