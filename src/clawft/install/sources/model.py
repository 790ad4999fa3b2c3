"""The questions to a source and its answers: references, search hits, exact versions and registries' verdicts."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.install.lockfile.model import SkillOrigin, SourceKind


class SkillReference(Struct, frozen=True):
    """A parsed skill reference, as the user typed it. Which fields are set depends on the kind."""

    text: str
    kind: SourceKind
    registry: str = ""  # the name of a configured registry
    owner: str = ""
    slug: str = ""
    version: str = ""  # as asked for; '' for the newest
    url: str = ""  # of a repository, an index or an archive; of a folder or a local archive its path
    ref: str = ""  # a branch, a tag or a commit
    path: str = ""  # below the repository or the folder
    skill: str = ""  # which one, where there are several


class SourceVerdict(Struct, frozen=True):
    """A registry's verdict on a version. It never improves weft's own verdict."""

    status: Literal["clean", "suspicious", "malicious", "pending", "unknown"]
    reasons: tuple[str, ...] = ()
    summary: str = ""
    yanked: str = ""  # why the version was yanked, if it was and a reason was given


class SourceHit(Struct, frozen=True):
    """One result of a search; `reference` is what to type to install it."""

    registry: str
    name: str
    reference: str
    owner: str = ""
    summary: str = ""
    version: str = ""
    score: float = 0
    downloads: int = 0
    verdict: SourceVerdict | None = None


class SkillRelease(Struct, frozen=True):
    """One version that a registry has, as lists show it."""

    version: str
    created: int = 0  # in milliseconds since 1970
    changelog: str = ""
    verdict: str = ""  # '' where the registry says none
    yanked: str = ""  # why it was taken back, if it was


class ShownSkill(Struct, frozen=True):
    """A skill as its registry shows it, with its versions, newest first."""

    origin: SkillOrigin
    summary: str = ""
    latest: str = ""  # '' where none is left to give
    releases: tuple[SkillRelease, ...] = ()


class SourceFile(Struct, frozen=True):
    """A file as its source lists it."""

    path: str
    size: int
    sha256: str


class ResolvedSkill(Struct, frozen=True):
    """One skill, exactly: what `download` brings is this or nothing."""

    origin: SkillOrigin
    name: str  # of its folder, unless the skill says another
    version: str = ""
    commit: str = ""
    url: str = ""  # of the archive
    archive: str = ""  # the sha256 of the archive, in hex
    files: tuple[SourceFile, ...] | None = None  # None: the source does not list them
    verdict: SourceVerdict | None = None
    description: str = ""
    changelog: str = ""
    notes: tuple[Diagnostic, ...] = ()


class AvailableVersion(Struct, frozen=True):
    """An installed version, as its source knows it."""

    origin: SkillOrigin
    version: str = ""
    commit: str = ""
    digest: str = ""


class Downloader(Protocol):
    """A source that can download the files of an exact version. Every method raises ClawftError; Refused for what is
    not allowed."""

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        """Put its files into an empty folder, checked against all that the source said; `archive` is set then.

        Nothing of it is run. Raises: Refused.
        """


class SkillSource(Downloader, Protocol):
    """One place that skills come from."""

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """Resolve a reference to one skill, or to all skills of a place that holds several. A name that several skills
        have is an error."""

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        """The newest of what is installed; `exact`: just the version and commit that the lock has."""

    async def aclose(self) -> None:
        """Close its connections, and remove the files that it holds."""


class SourceRegistry(SkillSource, Protocol):
    """A source that can be searched, and may have an opinion on what it gives out."""

    async def search(self, query: str, limit: int) -> tuple[SourceHit, ...]:
        """Search for a query, best hit first."""

    async def check(self, installed: Sequence[AvailableVersion]) -> tuple[SourceVerdict | None, ...]:
        """Fetch the source's current verdict on each version; None where it has none."""
