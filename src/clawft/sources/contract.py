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

_ID = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,95}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_LOOKED_AT = 50  # results, to find the one that is meant exactly


class _Listing(Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    description: str | None = None
    version: str | None = None
    sha256: str | None = None
    digest: str | None = None
    score: float | None = None
    downloads: float | None = None


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
            owner, _, slug = _id(one).rpartition("/")
            summary, version = plain_line(one.description or ""), plain_line(one.version or "", 40)
            reference = f"{self._prefix}{f'@{owner}/' if owner else ''}{slug}"
            found = (one.score or 0, int(one.downloads or 0))
            hits.append(Hit(self.name, slug, reference, owner, summary, version, *found))
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
        wanted = f"{owner}/{slug}" if owner else slug
        if not _ID.fullmatch(wanted) or ".." in wanted:
            raise ClawftError("reference-invalid", f"{wanted[:80]!a} is no name of a skill in a registry")
        listed = await self._ask(slug, _LOOKED_AT)
        named = [one for one in listed if _id(one) == wanted]
        others = [one for one in listed if not owner and _id(one).endswith(f"/{slug}")]
        if not named and others:
            hint = f"Name one of them: {', '.join(sorted(f'@{_id(one)}' for one in others)[:20])}"
            raise ClawftError("source-ambiguous", f"'{slug}' belongs to an owner there", hint=hint)
        if not named:
            hint = f"Run: weft skills search --hub {slug}"
            raise NotFound("source-not-found", f"'{self.name}' has no skill '{wanted}'", hint=hint)
        one = named[0]
        if version and one.version != version:
            message = f"'{self.name}' has {wanted} in version {plain_line(one.version or '(unnamed)', 40)} only"
            raise NotFound("source-not-found", message)
        digest = _SHA256.fullmatch(one.sha256 or one.digest or "")
        notes = () if digest else (self._unverified(slug),)
        return Resolved(
            Origin("contract", self._url, owner, slug),
            slug,
            plain_line(one.version or "", 40),
            url=f"{self._url}/skills/{quote(wanted, safe='')}/download",
            archive=digest[1] if digest else "",
            description=plain_line(one.description or ""),
            notes=notes,
        )

    def _unverified(self, slug: str) -> Diagnostic:
        message = f"'{self.name}' gives no digest of {slug}: what comes cannot be checked against anything"
        return Diagnostic("source-unverified", "warning", message)

    async def _ask(self, query: str, limit: int) -> list[_Listing]:
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
            if _ID.fullmatch(_id(listing)) and ".." not in _id(listing):
                found.append(listing)
        return found


def _id(one: _Listing) -> str:
    return one.id or one.name or ""
