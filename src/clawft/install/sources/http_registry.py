"""A registry with the plain HTTP contract: search, and download of a tar.gz."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.address import plain_line
from clawft.install.sources.http import SourceConnection
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference, SourceHit, SourceVerdict
from clawft.install.sources.remote import download_skill_archive

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_ID = re.compile(r"(?:(?P<owner>[A-Za-z0-9][A-Za-z0-9._-]{0,95})[/~])?(?P<slug>[A-Za-z0-9][A-Za-z0-9._-]{0,95})")
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_LOOKED_AT = 50  # results, to find the one that is meant exactly


class _Listing(Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    author: Any = None
    description: str | None = None
    version: str | None = None
    sha256: str | None = None
    digest: str | None = None
    score: float | None = None
    downloads: float | None = None


class _Listed(Struct, frozen=True):
    """A result whose names can be typed and put into an address."""

    id: str
    owner: str
    slug: str
    listing: _Listing


class HttpRegistry:
    """One such registry."""

    def __init__(self, name: str, url: str, fetching: SourceConnection, *, default: bool = False) -> None:
        """`default`: a name without a registry means this one."""
        self.name = name
        self._url = url.rstrip("/")
        self._fetching = fetching
        self._prefix = "" if default else f"{name}:"

    async def aclose(self) -> None:
        await self._fetching.aclose()

    async def search(self, query: str, limit: int) -> tuple[SourceHit, ...]:
        hits = []
        for hit in (await self._ask(query, limit))[:limit]:
            listing = hit.listing
            summary, version = plain_line(listing.description or ""), plain_line(listing.version or "", 40)
            reference = f"{self._prefix}{f'@{hit.owner}/' if hit.owner else ''}{hit.slug}"
            found = (listing.score or 0, int(listing.downloads or 0))
            hits.append(SourceHit(self.name, hit.slug, reference, hit.owner, summary, version, *found))
        return tuple(hits)

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """Exactly one: what a search only resembles is not taken. Raises: ClawftError; NotFound."""
        return (await self._resolve(reference.owner, reference.slug, reference.version),)

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        origin = installed.origin
        return await self._resolve(origin.owner, origin.slug, installed.version if exact else "")

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        return await download_skill_archive(self._fetching, resolved, folder)

    async def check(self, installed: Sequence[AvailableVersion]) -> tuple[SourceVerdict | None, ...]:
        """The contract has no verdicts."""
        return (None,) * len(installed)

    async def _resolve(self, owner: str, slug: str, version: str) -> ResolvedSkill:
        wanted = f"@{owner}/{slug}" if owner else slug
        if ".." in wanted or not all(_NAME.fullmatch(part) for part in (slug, owner or slug)):
            raise ClawftError("reference-invalid", f"{wanted[:80]!a} is no name of a skill in a registry")
        one = self._pick(await self._ask(slug, _LOOKED_AT), owner, slug)
        if one is None:
            hint = f"Run: weft skills search --hub {slug}"
            raise NotFound("source-not-found", f"'{self.name}' has no skill '{wanted}'", hint=hint)
        listing = one.listing
        if version and listing.version != version:
            message = f"'{self.name}' has {wanted} in version {plain_line(listing.version or '(unnamed)', 40)} only"
            raise NotFound("source-not-found", message)
        digest = _SHA256.fullmatch(listing.sha256 or listing.digest or "")
        message = f"'{self.name}' gives no digest of {slug}: what comes cannot be checked against anything"
        return ResolvedSkill(
            SkillOrigin("contract", self._url, one.owner, slug),
            slug,
            plain_line(listing.version or "", 40),
            url=f"{self._url}/skills/{quote(one.id, safe='~')}/download",
            archive=digest[1] if digest else "",
            description=plain_line(listing.description or ""),
            notes=() if digest else (Diagnostic("source-unverified", "warning", message),),
        )

    def _pick(self, listed: list[_Listed], owner: str, slug: str) -> _Listed | None:
        """The one that is named, by its id or by its name and owner. Raises: ClawftError where several are."""
        exact = [hit for hit in listed if hit.id == slug and not owner]
        named = exact or [hit for hit in listed if hit.slug == slug and owner in ("", hit.owner)]
        if len({hit.id for hit in named}) > 1:
            owners = sorted({f"{self._prefix}@{hit.owner}/{slug}" for hit in named if hit.owner})
            hint = f"Name one of them: {', '.join(owners[:20])}"
            raise ClawftError("source-ambiguous", f"Several owners have a skill '{slug}'", hint=hint)
        return named[0] if named else None

    async def _ask(self, query: str, limit: int) -> list[_Listed]:
        """Search the registry, and return the hits whose names can be typed. Raises: ClawftError."""
        address = f"{self._url}/skills/search?{urlencode({'q': query, 'limit': limit})}"
        answer: Any = await self._fetching.ask(address, Any)
        if isinstance(answer, dict):
            answer = next((answer[key] for key in ("skills", "results", "items") if key in answer), None)
        if not isinstance(answer, list):
            message = f"'{self.name}' answers a search with no list"
            raise ClawftError("source-answer", message, hint="Is this its address, and its kind?")
        found = []
        for raw in answer[: 10 * _LOOKED_AT]:
            try:
                listing = msgspec.convert(raw, _Listing)
            except msgspec.ValidationError:
                continue
            if (one_listed := _read(listing)) is not None:
                found.append(one_listed)
        return found


def _read(listing: _Listing) -> _Listed | None:
    """None for what nobody should type."""
    whole = listing.id or listing.name or ""
    match = _ID.fullmatch(whole)
    if match is None or ".." in whole:
        return None
    author = listing.author if isinstance(listing.author, str) and _NAME.fullmatch(listing.author) else ""
    slug = (
        listing.name if listing.name and _NAME.fullmatch(listing.name) and ".." not in listing.name else match["slug"]
    )
    return _Listed(whole, match["owner"] or author, slug, listing)
