"""What a hub keeps: skills, their immutable versions and who may do what."""

from typing import Literal

from msgspec import Struct

__all__ = ["SCOPES", "Draft", "HubFile", "HubSkill", "HubToken", "HubVersion", "Scope"]

Scope = Literal["read", "publish", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "publish", "admin")


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
    digest: str  # of the folder (D57)
    fingerprint: str  # ClawHub's
    archive: str  # the sha256 of its zip
    archive_size: int
    verdict: Literal["clean", "suspicious", "malicious"]
    reasons: tuple[str, ...] = ()  # rules that said so
    engine: str = ""
    yanked: str = ""
    tags: tuple[str, ...] = ()


class Draft(Struct, frozen=True):
    """What somebody wants to publish, with every file's bytes already kept."""

    owner: str
    slug: str
    display_name: str
    version: str
    changelog: str
    files: tuple[HubFile, ...]
    tags: tuple[str, ...] = ("latest",)


class HubToken(Struct, frozen=True):
    """Who may do what; the token itself is not kept, only its hash."""

    id: str
    owner: str
    scopes: tuple[Scope, ...]
    label: str
    created: int
    expires: int = 0  # 0: never
    revoked: int = 0
