"""The ClawHub API: messages, search results, versions and batched verdicts."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal
from urllib.parse import quote

import anyio
import msgspec
from msgspec import Struct, field

from clawft.errors import ClawftError, Diagnostic
from clawft.install.sources.address import plain_line
from clawft.install.sources.http import FetchRequest, SourceConnection
from clawft.install.sources.model import ResolvedSkill, SkillRelease, SourceFile, SourceHit, SourceVerdict

ClawhubStatus = Literal["clean", "suspicious", "malicious", "pending", "unknown"]
_UNSAID = "yanked"  # what `weft hub serve` has for a reason where none was given
_STATUS: dict[str, ClawhubStatus] = {status: status for status in ("clean", "suspicious", "malicious", "pending")}


class ClawHubDiscovery(Struct, frozen=True, rename="camel"):
    api_base: str | None = None
    registry: str | None = None
    verify_batch: int = 0  # of `weft hub serve`: how many versions it tells of at once


class ClawHubFile(Struct, frozen=True):
    """A file of a version."""

    path: str
    size: int
    sha256: str

    def publish(self) -> SourceFile:
        return SourceFile(self.path, self.size, self.sha256.lower())


class _Handle(Struct, frozen=True):
    handle: str | None = None


class _Named(Struct, frozen=True):
    version: str | None = None


class ClawHubHit(Struct, frozen=True, rename="camel"):
    score: float | None = None
    slug: str | None = None
    owner_handle: str | None = None
    owner: _Handle | None = None
    display_name: str | None = None
    summary: str | None = None
    version: str | None = None
    downloads: float | None = None
    install: dict[str, Any] | None = None


class ClawHubHits(Struct, frozen=True):
    results: list[Any]  # one that cannot be read does not hide the others


class _Moderation(Struct, frozen=True, rename="camel"):
    is_suspicious: bool = False
    is_malware_blocked: bool = False
    verdict: str | None = None
    reason_codes: list[str] = field(default_factory=list)
    summary: str | None = None

    def judge(self) -> SourceVerdict:
        status: ClawhubStatus = _STATUS.get(self.verdict or "", "unknown")
        status = "malicious" if self.is_malware_blocked else "suspicious" if self.is_suspicious else status
        return SourceVerdict(status, _plain(self.reason_codes), plain_line(self.summary or ""))


class _Skill(Struct, frozen=True, rename="camel"):
    slug: str
    summary: str | None = None


class ClawHubSkill(Struct, frozen=True, rename="camel"):
    """The answer of `/skills/{slug}`."""

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
    files: list[ClawHubFile] | None = None
    security: _Security | None = None


class ClawHubVersion(Struct, frozen=True):
    """The answer of `/skills/{slug}/versions/{v}`."""

    version: _VersionFiles


class _Line(Struct, frozen=True, rename="camel"):
    version: str | None = None
    created_at: float | None = None
    changelog: str | None = None
    yanked: str | None = None


class ClawHubVersions(Struct, frozen=True, rename="camel"):
    """The answer of `/skills/{slug}/versions`, newest first."""

    items: list[_Line] = field(default_factory=list)
    next_cursor: str | None = None


class _Packed(Struct, frozen=True):
    """The archive of a version; `weft hub serve` says it here, and saves us the index."""

    url: str
    digest: str


class _Artifact(Struct, frozen=True):
    files: list[ClawHubFile] | None = None
    archive: _Packed | None = None


class ClawHubVerification(Struct, frozen=True, rename="camel"):
    """The answer of `/skills/{slug}/verify`, and one item of `/skills/-/security-verdicts`."""

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


class ClawHubVerdicts(Struct, frozen=True):
    items: list[Any]


class GitHubHandoff(Struct, frozen=True, rename="camel"):
    repo: str
    path: str
    commit: str
    content_hash: str


class _Archive(Struct, frozen=True):
    version: str


class ClawHubInstall(Struct, frozen=True, rename="camel"):
    """The answer of `/skills/{slug}/install`."""

    ok: bool
    archive: _Archive | None = None
    github: GitHubHandoff | None = None
    reason: str | None = None
    message: str | None = None


class ClawHubAmbiguity(Struct, frozen=True):
    """The answer with status 409: the owners whose skills share the slug."""

    matches: list[dict[str, Any]] = field(default_factory=list)

    def owners(self) -> list[str]:
        candidates = [
            (candidate.get("ownerHandle"), candidate.get("owner"), candidate.get("handle"))
            for candidate in self.matches
        ]
        nested = [next((value for value in three if value), None) for three in candidates]
        handles = [entry.get("handle") if isinstance(entry, dict) else entry for entry in nested]
        return sorted({plain_line(handle, 40) for handle in handles if isinstance(handle, str)})


def read_security(verification: ClawHubVerification) -> SourceVerdict | None:
    """The registry's verdict on one version."""
    if verification.security is None and not verification.reasons:
        return None
    status = _STATUS.get((verification.security and verification.security.status) or "", "unknown")
    if any("malware" in reason or "malicious" in reason for reason in verification.reasons):
        status = "malicious"
    summary = verification.security.summary if verification.security else None
    return SourceVerdict(status, _plain(verification.reasons), plain_line(summary or ""), yank_reason(verification))


def yank_reason(verification: ClawHubVerification) -> str:
    """Return why a version was yanked, '' where no reason was given."""
    return "" if verification.yanked == _UNSAID else plain_line(verification.yanked or "", 200)


def _plain(reasons: list[str]) -> tuple[str, ...]:
    return tuple(plain_line(reason, 80) for reason in reasons[:20])


_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
_REFERENCE = re.compile(r"skills-sh:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


def read_hits(answer: ClawHubHits, registry: str, *, default: bool = False) -> list[SourceHit]:
    """Every result that could be typed; what is no name is no result."""
    hits = []
    for result in answer.results:
        try:
            found = msgspec.convert(result, ClawHubHit)
        except msgspec.ValidationError:
            continue
        owner = found.owner_handle or (found.owner.handle if found.owner else None) or ""
        reference = _reference(found, owner, "" if default else f"{registry}:")
        if reference:
            hits.append(
                SourceHit(
                    registry,
                    (found.slug or reference.rpartition("/")[2]),
                    reference,
                    owner=owner,
                    summary=plain_line(found.summary or found.display_name or ""),
                    version=plain_line(found.version or "", 40),
                    score=found.score or 0,
                    downloads=int(found.downloads or 0),
                )
            )
    return hits


def _reference(found: ClawHubHit, owner: str, prefix: str) -> str:
    """Return the reference to type for a hit; '' for one that is not safe to type."""
    named = (found.install or {}).get("reference")
    if isinstance(named, str) and _REFERENCE.fullmatch(named):
        return named
    if not found.slug or not _NAME.fullmatch(found.slug) or (owner and not _NAME.fullmatch(owner)):
        return ""
    return f"{prefix}@{owner}/{found.slug}" if owner else f"{prefix}{found.slug}"


MAX_PAGES = 10
MAX_CHANGELOG = 2_000
_PAGE = "100"
_LATEST = 1 << 52  # a moment

Address = Callable[[str, dict[str, str]], Awaitable[str]]


async def fetch_releases(fetching: SourceConnection, address: Address, owner: str, slug: str) -> list[SkillRelease]:
    """Newest first, as far as the registry lists them; without verdicts. Raises: ClawftError."""
    found: list[SkillRelease] = []
    cursor = ""
    for _ in range(MAX_PAGES):
        asked = {"ownerHandle": owner, "limit": _PAGE, "cursor": cursor}
        answer = await fetching.ask(await address(f"skills/{quote(slug)}/versions", asked), ClawHubVersions)
        found += [
            SkillRelease(
                plain_line(item.version, 40),
                int(min(max(item.created_at or 0, 0), _LATEST)),
                plain_line(item.changelog or "", MAX_CHANGELOG),
                yanked=plain_line(item.yanked or "", 200),
            )
            for item in answer.items
            if item.version
        ]
        cursor = answer.next_cursor or ""
        if not cursor or not answer.items:
            break
    return found


async def fetch_changelog(fetching: SourceConnection, address: Address, found: ResolvedSkill) -> str:
    """Fetch the changelog of a version; '' where it is not available, which never stops an install."""
    path = f"skills/{quote(found.origin.slug)}/versions/{quote(found.version)}"
    try:
        answer = await fetching.ask(await address(path, {"ownerHandle": found.origin.owner}), ClawHubVersion)
    except ClawftError:
        return ""
    return plain_line(answer.version.changelog or "", MAX_CHANGELOG)


def make_yanked_diagnostic(found: ClawHubVerification) -> tuple[Diagnostic, ...]:
    """Warn that a version was yanked: a user who asks for it by name still gets it."""
    if not found.yanked:
        return ()
    why = yank_reason(found)
    message = f"{found.slug} {found.version} was taken back by who published it{f': {why}' if why else ''}"
    return (Diagnostic("source-yanked", "warning", message, hint="Use another version"),)


_MOST = 100


class _Question(Struct, eq=False):
    slug: str
    owner: str
    version: str
    answered: bool = False
    answer: ClawHubVerification | None = None


class VerdictBatch:
    """Questions to one registry. `address` gives where its interface is."""

    def __init__(self, fetching: SourceConnection, address: Callable[[str], Awaitable[str]]) -> None:
        self.most = 0  # how many versions the registry takes at once; 0: it does not
        self._fetching = fetching
        self._address = address
        self._turn = anyio.Lock()
        self._waiting: list[_Question] = []

    async def ask(self, owner: str, slug: str, version: str) -> ClawHubVerification | None:
        """Fetch the verdict on one version in a batch; None where it must be asked for by itself, at least to learn
        why."""
        question = _Question(slug, owner, version)
        self._waiting.append(question)
        async with self._turn:
            if not question.answered and self.most:
                most = min(self.most, _MOST)
                now, self._waiting = self._waiting[:most], self._waiting[most:]
                await self._send(now)
        return question.answer

    async def _send(self, questions: list[_Question]) -> None:
        items = [
            {"slug": question.slug, "ownerHandle": question.owner or None, "version": question.version}
            for question in questions
        ]
        body = msgspec.json.encode({"items": items})
        try:
            verdicts = await self._fetching.ask(
                await self._address("skills/-/verify"), ClawHubVerdicts, FetchRequest("POST", body)
            )
        except ClawftError:
            self.most = 0
            verdicts = ClawHubVerdicts([])
        for question, item in zip(questions, verdicts.items, strict=False):
            question.answer = _read(item, question)
        for question in questions:
            question.answered = True


def _read(item: Any, question: _Question) -> ClawHubVerification | None:
    """One answer, if it is one, to this very question."""
    try:
        found = msgspec.convert(item, ClawHubVerification)
    except (msgspec.ValidationError, RecursionError):
        return None
    return found if found.artifact is not None and found.requested_slug == question.slug else None
