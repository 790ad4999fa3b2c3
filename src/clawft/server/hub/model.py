"""The records of a hub: skills, their immutable versions, and tokens."""

from typing import Literal

from msgspec import Struct

HubScope = Literal["read", "publish", "admin"]
SCOPES: tuple[HubScope, ...] = ("read", "publish", "admin")
NO_REASON = "yanked"  # what a version is yanked for if nobody says why


class HubFile(Struct, frozen=True):
    """One file of a version; its bytes are kept under their hash."""

    path: str
    size: int
    sha256: str
    content_type: str = "application/octet-stream"
    executable: bool = False


class HubSkill(Struct, frozen=True):
    """A skill of an owner. Times are milliseconds since 1970."""

    id: int
    owner: str
    slug: str
    display_name: str
    summary: str
    created: int
    updated: int
    latest: str  # the newest version that is not yanked; '' if there is none
    downloads: int = 0
    deleted: bool = False


class HubVersion(Struct, frozen=True):
    """One version: its content never changes. `yanked` says why nobody is given it any more unless they name it."""

    skill: int
    version: str
    created: int
    changelog: str
    publisher: str
    files: tuple[HubFile, ...]
    digest: str  # of the folder
    fingerprint: str  # ClawHub's; '' where the order of names is not known
    archive: str  # the sha256 of its zip
    archive_size: int
    verdict: Literal["clean", "suspicious", "malicious"]
    reasons: tuple[str, ...] = ()  # rules that said so
    engine: str = ""
    yanked: str = ""
    tags: tuple[str, ...] = ()
    download: str = ""  # the sha256 of the zip that ClawHub's clients get, which has `_meta.json` too
    download_size: int = 0
    dependencies: tuple[str, ...] = ()  # other skills it names, as its author wrote them
    bundle: str = ""  # ClawHub's fingerprint of the download
    front: str = "{}"  # the frontmatter of its SKILL.md as JSON; empty where that could not be to the letter


class HubRelease(Struct, frozen=True):
    """A version as lists show it: without its files, and with only the beginning of its changelog."""

    version: str
    created: int
    changelog: str
    verdict: Literal["clean", "suspicious", "malicious"]
    digest: str
    fingerprint: str
    archive: str
    archive_size: int
    reasons: tuple[str, ...] = ()
    engine: str = ""
    yanked: str = ""


class HubListing(Struct, frozen=True):
    """A skill in a list, with its newest version. `score` is how well it fits what was searched."""

    skill: HubSkill
    release: HubRelease | None
    score: float = 0


class HubPage(Struct, frozen=True):
    """A part of a list; `cursor` asks for the next one, '' at the end."""

    items: tuple[HubListing, ...]
    cursor: str = ""


class OwnerUsage(Struct, frozen=True):
    """The storage that an owner uses."""

    skills: int
    versions: int
    bytes: int


class CheckedDraft(Struct, frozen=True):
    """The results of checking a draft before it is stored."""

    digest: str
    fingerprint: str
    verdict: Literal["clean", "suspicious", "malicious"]
    summary: str  # the skill's own description
    reasons: tuple[str, ...] = ()
    engine: str = ""
    front: str = "{}"
    dependencies: tuple[str, ...] = ()


class PublicationDraft(Struct, frozen=True):
    """A draft of a version to publish, with the bytes of every file already stored."""

    owner: str
    slug: str
    display_name: str
    version: str
    changelog: str
    files: tuple[HubFile, ...]
    tags: tuple[str, ...] = ("latest",)


class HubToken(Struct, frozen=True):
    """A token with its owner and scopes; only its hash is stored."""

    id: str
    owner: str
    scopes: tuple[HubScope, ...]
    label: str
    created: int
    expires: int = 0  # 0: never
    revoked: int = 0
