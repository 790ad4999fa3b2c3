"""A registry of the plain contract (R168): `GET /skills/search?q&limit`; `GET /skills/{id}/download`, a tar.gz."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.locks.model import Origin
from clawft.sources.arriving import arrive, has_document, source_changed
from clawft.sources.fetching import Fetching
from clawft.sources.model import Hit, Reference, Resolved, Verdict, Version
from clawft.sources.plain import plain_line

__all__ = ["Contract"]

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
    said: _Listing


class Contract:
    """One such registry."""

    def __init__(self, name: str, url: str, fetching: Fetching, *, default: bool = False) -> None:
        """`default`: a name without a registry means this one."""
        self.name = name
        self._url = url.rstrip("/")
        self._fetching = fetching
        self._prefix = "" if default else f"{name}:"

    async def aclose(self) -> None:
        await self._fetching.aclose()

    async def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        hits = []
        for one in (await self._ask(query, limit))[:limit]:
            said = one.said
            summary, version = plain_line(said.description or ""), plain_line(said.version or "", 40)
            reference = f"{self._prefix}{f'@{one.owner}/' if one.owner else ''}{one.slug}"
            found = (said.score or 0, int(said.downloads or 0))
            hits.append(Hit(self.name, one.slug, reference, one.owner, summary, version, *found))
        return tuple(hits)

    async def resolve(self, reference: Reference) -> tuple[Resolved, ...]:
        """Exactly one: what a search only resembles is not taken. Raises: ClawftError; NotFound."""
        return (await self._resolve(reference.owner, reference.slug, reference.version),)

    async def renew(self, installed: Version, *, exact: bool = False) -> Resolved:
        origin = installed.origin
        return await self._resolve(origin.owner, origin.slug, installed.version if exact else "")

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        came = await arrive(self._fetching, resolved, folder)
        if not has_document(folder):
            raise source_changed(resolved.name, "The archive has no SKILL.md at its top")
        return came

    async def check(self, installed: Sequence[Version]) -> tuple[Verdict | None, ...]:
        """The contract has no verdicts."""
        return (None,) * len(installed)

    async def _resolve(self, owner: str, slug: str, version: str) -> Resolved:
        wanted = f"@{owner}/{slug}" if owner else slug
        if ".." in wanted or not all(_NAME.fullmatch(one) for one in (slug, owner or slug)):
            raise ClawftError("reference-invalid", f"{wanted[:80]!a} is no name of a skill in a registry")
        one = self._pick(await self._ask(slug, _LOOKED_AT), owner, slug)
        if one is None:
            hint = f"Run: weft skills search --hub {slug}"
            raise NotFound("source-not-found", f"'{self.name}' has no skill '{wanted}'", hint=hint)
        said = one.said
        if version and said.version != version:
            message = f"'{self.name}' has {wanted} in version {plain_line(said.version or '(unnamed)', 40)} only"
            raise NotFound("source-not-found", message)
        digest = _SHA256.fullmatch(said.sha256 or said.digest or "")
        return Resolved(
            Origin("contract", self._url, one.owner, slug),
            slug,
            plain_line(said.version or "", 40),
            url=f"{self._url}/skills/{quote(one.id, safe='~')}/download",
            archive=digest[1] if digest else "",
            description=plain_line(said.description or ""),
            notes=() if digest else (self._unverified(slug),),
        )

    def _pick(self, listed: list[_Listed], owner: str, slug: str) -> _Listed | None:
        """The one that is named, by its id or by its name and owner. Raises: ClawftError where several are."""
        exact = [one for one in listed if one.id == slug and not owner]
        named = exact or [one for one in listed if one.slug == slug and owner in ("", one.owner)]
        if len({one.id for one in named}) > 1:
            owners = sorted({f"{self._prefix}@{one.owner}/{slug}" for one in named if one.owner})
            hint = f"Name one of them: {', '.join(owners[:20])}"
            raise ClawftError("source-ambiguous", f"Several owners have a skill '{slug}'", hint=hint)
        return named[0] if named else None

    def _unverified(self, slug: str) -> Diagnostic:
        message = f"'{self.name}' gives no digest of {slug}: what comes cannot be checked against anything"
        return Diagnostic("source-unverified", "warning", message)

    async def _ask(self, query: str, limit: int) -> list[_Listed]:
        """What the registry finds, each with a name that can be typed. Raises: ClawftError."""
        address = f"{self._url}/skills/search?{urlencode({'q': query, 'limit': limit})}"
        answer: Any = await self._fetching.ask(address, Any)
        if isinstance(answer, dict):
            answer = next((answer[key] for key in ("skills", "results", "items") if key in answer), None)
        if not isinstance(answer, list):
            message = f"'{self.name}' answers a search with no list"
            raise ClawftError("source-answer", message, hint="Is this its address, and its kind?")
        found = []
        for one in answer[: 10 * _LOOKED_AT]:
            try:
                listing = msgspec.convert(one, _Listing)
            except msgspec.ValidationError:
                continue
            if (one_listed := _read(listing)) is not None:
                found.append(one_listed)
        return found


def _read(said: _Listing) -> _Listed | None:
    """None for what nobody should type."""
    whole = said.id or said.name or ""
    match = _ID.fullmatch(whole)
    if match is None or ".." in whole:
        return None
    author = said.author if isinstance(said.author, str) and _NAME.fullmatch(said.author) else ""
    slug = said.name if said.name and _NAME.fullmatch(said.name) and ".." not in said.name else match["slug"]
    return _Listed(whole, match["owner"] or author, slug, said)
