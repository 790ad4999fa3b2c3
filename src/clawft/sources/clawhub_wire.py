"""ClawHub's answers, as far as they are used. Whatever else is in them is not looked at."""

from typing import Any, Literal

from msgspec import Struct, field

from clawft.sources.model import Published, Verdict
from clawft.sources.plain import plain_line

__all__ = [
    "Ambiguous",
    "Discovery",
    "GitHubHandoff",
    "Install",
    "Listed",
    "Results",
    "SkillAnswer",
    "Verdicts",
    "Verified",
    "VersionAnswer",
    "Versions",
    "read_security",
    "yank_reason",
]

Status = Literal["clean", "suspicious", "malicious", "pending", "unknown"]
_UNSAID = "yanked"  # what `weft hub serve` has for a reason where none was given
_STATUS: dict[str, Status] = {one: one for one in ("clean", "suspicious", "malicious", "pending")}


class Discovery(Struct, frozen=True, rename="camel"):
    api_base: str | None = None
    registry: str | None = None
    verify_batch: int = 0  # of `weft hub serve`: how many versions it tells of at once


class Listed(Struct, frozen=True):
    """A file of a version."""

    path: str
    size: int
    sha256: str

    def publish(self) -> Published:
        return Published(self.path, self.size, self.sha256.lower())


class _Handle(Struct, frozen=True):
    handle: str | None = None


class _Named(Struct, frozen=True):
    version: str | None = None


class Found(Struct, frozen=True, rename="camel"):
    score: float | None = None
    slug: str | None = None
    owner_handle: str | None = None
    owner: _Handle | None = None
    display_name: str | None = None
    summary: str | None = None
    version: str | None = None
    downloads: float | None = None
    install: dict[str, Any] | None = None


class Results(Struct, frozen=True):
    results: list[Any]  # one that cannot be read does not hide the others


class _Moderation(Struct, frozen=True, rename="camel"):
    is_suspicious: bool = False
    is_malware_blocked: bool = False
    verdict: str | None = None
    reason_codes: list[str] = field(default_factory=list)
    summary: str | None = None

    def judge(self) -> Verdict:
        status: Status = _STATUS.get(self.verdict or "", "unknown")
        status = "malicious" if self.is_malware_blocked else "suspicious" if self.is_suspicious else status
        return Verdict(status, _plain(self.reason_codes), plain_line(self.summary or ""))


class _Skill(Struct, frozen=True, rename="camel"):
    slug: str
    summary: str | None = None


class SkillAnswer(Struct, frozen=True, rename="camel"):
    """Of `/skills/{slug}`."""

    skill: _Skill
    latest_version: _Named | None = None
    owner: _Handle | None = None
    moderation: _Moderation | None = None


class _Security(Struct, frozen=True):
    status: str | None = None
    summary: str | None = None


class _VersionFiles(Struct, frozen=True):
    version: str
    changelog: str | None = None
    files: list[Listed] | None = None
    security: _Security | None = None


class VersionAnswer(Struct, frozen=True):
    """Of `/skills/{slug}/versions/{v}`."""

    version: _VersionFiles


class _Line(Struct, frozen=True, rename="camel"):
    version: str | None = None
    created_at: float | None = None
    changelog: str | None = None
    yanked: str | None = None


class Versions(Struct, frozen=True, rename="camel"):
    """Of `/skills/{slug}/versions`, newest first."""

    items: list[_Line] = field(default_factory=list)
    next_cursor: str | None = None


class _Packed(Struct, frozen=True):
    """The archive of a version; `weft hub serve` says it here, and saves us the index."""

    url: str
    digest: str


class _Artifact(Struct, frozen=True):
    files: list[Listed] | None = None
    archive: _Packed | None = None


class Verified(Struct, frozen=True, rename="camel"):
    """Of `/skills/{slug}/verify`, and one item of `/skills/-/security-verdicts`."""

    slug: str | None = None
    version: str | None = None
    publisher_handle: str | None = None
    requested_slug: str | None = None
    requested_owner_handle: str | None = None
    reasons: list[str] = field(default_factory=list)
    yanked: str | None = None
    changelog: str | None = None  # `weft hub serve` says it here
    artifact: _Artifact | None = None
    security: _Security | None = None


class Verdicts(Struct, frozen=True):
    items: list[Any]


class GitHubHandoff(Struct, frozen=True, rename="camel"):
    repo: str
    path: str
    commit: str
    content_hash: str


class _Archive(Struct, frozen=True):
    version: str


class Install(Struct, frozen=True, rename="camel"):
    """Of `/skills/{slug}/install`."""

    ok: bool
    install_kind: str | None = None
    archive: _Archive | None = None
    github: GitHubHandoff | None = None
    reason: str | None = None
    message: str | None = None


class Ambiguous(Struct, frozen=True):
    """Of a 409: whose skills go by the slug."""

    matches: list[dict[str, Any]] = field(default_factory=list)

    def owners(self) -> list[str]:
        said = [(one.get("ownerHandle"), one.get("owner"), one.get("handle")) for one in self.matches]
        nested = [next((value for value in three if value), None) for three in said]
        handles = [one.get("handle") if isinstance(one, dict) else one for one in nested]
        return sorted({plain_line(one, 40) for one in handles if isinstance(one, str)})


def read_security(said: Verified) -> Verdict | None:
    """The registry's verdict on one version."""
    if said.security is None and not said.reasons:
        return None
    status = _STATUS.get((said.security and said.security.status) or "", "unknown")
    if any("malware" in reason or "malicious" in reason for reason in said.reasons):
        status = "malicious"
    summary = said.security.summary if said.security else None
    return Verdict(status, _plain(said.reasons), plain_line(summary or ""), yank_reason(said))


def yank_reason(said: Verified) -> str:
    """Why a version was taken back, where somebody said why."""
    return "" if said.yanked == _UNSAID else plain_line(said.yanked or "", 200)


def _plain(reasons: list[str]) -> tuple[str, ...]:
    return tuple(plain_line(one, 80) for one in reasons[:20])
