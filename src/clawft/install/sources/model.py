"""What a source is asked and what it answers: references, search hits, exact versions and registries' verdicts."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.locks.model import Kind, Origin

__all__ = [
    "Bringer",
    "Hit",
    "Published",
    "Reference",
    "Registry",
    "Release",
    "Resolved",
    "Shown",
    "Source",
    "Verdict",
    "Version",
]


class Reference(Struct, frozen=True):
    """What a person typed, taken apart. Which fields are set depends on the kind."""

    text: str
    kind: Kind
    registry: str = ""  # the name of a configured registry
    owner: str = ""
    slug: str = ""
    version: str = ""  # as asked for; '' for the newest
    url: str = ""  # of a repository, an index or an archive; of a folder or a local archive its path
    ref: str = ""  # a branch, a tag or a commit
    path: str = ""  # below the repository or the folder
    skill: str = ""  # which one, where there are several


class Verdict(Struct, frozen=True):
    """What a registry says of a version. It never makes our own verdict better."""

    status: Literal["clean", "suspicious", "malicious", "pending", "unknown"]
    reasons: tuple[str, ...] = ()
    summary: str = ""
    yanked: str = ""  # why the version was taken back, where it was and somebody said why


class Hit(Struct, frozen=True):
    """One result of a search; `reference` is what to type to install it."""

    registry: str
    name: str
    reference: str
    owner: str = ""
    summary: str = ""
    version: str = ""
    score: float = 0
    downloads: int = 0
    verdict: Verdict | None = None


class Release(Struct, frozen=True):
    """One version that a registry has, as lists show it."""

    version: str
    created: int = 0  # in milliseconds since 1970
    changelog: str = ""
    verdict: str = ""  # '' where the registry says none
    yanked: str = ""  # why it was taken back, if it was


class Shown(Struct, frozen=True):
    """A skill as its registry shows it, with its versions, newest first."""

    origin: Origin
    summary: str = ""
    latest: str = ""  # '' where none is left to give
    releases: tuple[Release, ...] = ()


class Published(Struct, frozen=True):
    """A file as its source lists it."""

    path: str
    size: int
    sha256: str


class Resolved(Struct, frozen=True):
    """One skill, exactly: what `download` brings is this or nothing."""

    origin: Origin
    name: str  # of its folder, unless the skill says another
    version: str = ""
    commit: str = ""
    url: str = ""  # of the archive
    archive: str = ""  # the sha256 of the archive, in hex
    files: tuple[Published, ...] | None = None  # None: the source does not list them
    verdict: Verdict | None = None
    description: str = ""
    changelog: str = ""
    notes: tuple[Diagnostic, ...] = ()


class Version(Struct, frozen=True):
    """What is installed, as its source knows it."""

    origin: Origin
    version: str = ""
    commit: str = ""
    digest: str = ""


class Bringer(Protocol):
    """Who has the files of an exact version. Every method of these raises ClawftError; Refused for what must not be."""

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        """Put its files into an empty folder, checked against all that the source said; `archive` is set then.

        Nothing of it is run. Raises: Refused.
        """


class Source(Bringer, Protocol):
    """One place that skills come from."""

    async def resolve(self, reference: Reference) -> tuple[Resolved, ...]:
        """What is meant: one skill, or all of a place that holds several. A name that several have is an error."""

    async def renew(self, installed: Version, *, exact: bool = False) -> Resolved:
        """The newest of what is installed; `exact`: just the version and commit that the lock has."""


class Registry(Source, Protocol):
    """A source that can be searched, and may have an opinion on what it gives out."""

    async def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """What fits, best first."""

    async def check(self, installed: Sequence[Version]) -> tuple[Verdict | None, ...]:
        """What it says now of each; None where it says nothing."""
