"""ClawHub, and whatever speaks as it does, such as `weft hub serve`.

A version is resolved exactly: its owner, its files with their sha256, the registry's verdict, and the archive's digest
where the registry has one. What is downloaded is that, or it is refused.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import anyio
import msgspec
from msgspec import structs

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.locks.model import Origin
from clawft.sources.arriving import arrive, check_files, clear_folder, hash_files
from clawft.sources.clawhub_search import read_hits
from clawft.sources.clawhub_together import Together
from clawft.sources.clawhub_versions import MAX_CHANGELOG, fetch_changelog, fetch_releases, tell_yanked
from clawft.sources.clawhub_wire import (
    Ambiguous,
    Discovery,
    Install,
    Results,
    SkillAnswer,
    Verdicts,
    Verified,
    VersionAnswer,
    read_security,
)
from clawft.sources.fetching import Fetching, Outgoing
from clawft.sources.github import Repositories, fetch_handoff, handoff_path, handoff_url
from clawft.sources.index import Entry, parse_index
from clawft.sources.model import Hit, Published, Reference, Resolved, Shown, Verdict, Version
from clawft.sources.plain import join_url, plain_line
from clawft.sources.status import HttpError

__all__ = ["ClawHub"]

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,94}[a-z0-9])?")
_OWNER = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?", re.IGNORECASE)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,127}")
_SKILLS_SH = "skills-sh:"
_MADE = frozenset({"_meta.json", "skill-card.md"})  # the registry puts them into archives
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_BATCH = 100
_SHOWN = 20  # versions, in a hint


class ClawHub:
    """One registry."""

    def __init__(
        self,
        name: str,
        url: str,
        fetching: Fetching,
        repositories: Repositories | None = None,
        *,
        default: bool = False,
    ) -> None:
        """`repositories` opens one of those that it hands over to, for who downloads; `default`: a name without a
        registry means this one."""
        self.name = name
        self._url = url.rstrip("/")
        self._fetching = fetching
        self._repositories = repositories
        self._default = default
        self._prefix = "" if default else f"{name}:"
        self._base = ""
        self._discovering = anyio.Lock()
        self._together = Together(fetching, self.address)

    async def aclose(self) -> None:
        await self._fetching.aclose()

    async def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """What fits, with the registry's verdicts."""
        asked = {"q": query, "limit": str(limit)}
        found = await self._fetching.ask(await self.address("search", asked), Results)
        hits = read_hits(found, self.name, default=self._default)[:limit]
        # What skills.sh lists is no skill of this registry, though one may have the same name.
        own = [one for one in hits if not one.reference.startswith(_SKILLS_SH)]
        known = [Version(Origin("clawhub", self._url, one.owner, one.name), one.version) for one in own]
        try:
            said = dict(zip(own, await self.check(known), strict=True))
        except ClawftError as error:
            said = dict.fromkeys(own, Verdict("unknown", (), str(error)))
        return tuple(structs.replace(hit, verdict=said.get(hit)) for hit in hits)

    async def resolve(self, reference: Reference) -> tuple[Resolved, ...]:
        """Exactly one. Raises: ClawftError; NotFound."""
        return (await self._resolve(reference.owner, reference.slug, reference.version),)

    async def show(self, reference: Reference) -> Shown:
        """What the registry has of a skill: all versions, or the one that is named. Raises: ClawftError; NotFound."""
        slug, version = reference.slug, reference.version
        _check_names(reference.owner, slug, version)
        answer = await self._ask_skill(reference.owner, slug)
        owner = (answer.owner.handle if answer.owner else None) or reference.owner
        origin = Origin("clawhub", self._url, owner, slug)
        found = await fetch_releases(self._fetching, self.address, owner, slug)
        if version and all(one.version != version for one in found):
            raise await self._no_version(owner, slug, version)
        found = [one for one in found if version in ("", one.version)]
        try:
            said = await self.check([Version(origin, one.version) for one in found[:_BATCH]])
        except ClawftError:
            said = ()
        verdicts = dict(zip(found, [one.status if one else "" for one in said], strict=False))
        releases = tuple(structs.replace(one, verdict=verdicts.get(one, "")) for one in found)
        latest = (answer.latest_version.version if answer.latest_version else None) or ""
        return Shown(origin, plain_line(answer.skill.summary or ""), plain_line(latest, 40), releases)

    async def renew(self, installed: Version, *, exact: bool = False) -> Resolved:
        origin = installed.origin
        found = await self._resolve(origin.owner, origin.slug, installed.version if exact else "")
        if exact or found.changelog or found.version in ("", installed.version):
            return found
        return structs.replace(found, changelog=await fetch_changelog(self._fetching, self.address, found))

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        if resolved.commit and not resolved.archive and self._repositories is not None:
            return await fetch_handoff(self._repositories, resolved, folder)
        came = await arrive(self._fetching, resolved, folder)
        drop_made(folder, resolved.files or ())
        if resolved.files is not None:
            try:
                check_files(resolved.name, hash_files(folder), resolved.files)
            except Refused:
                clear_folder(folder)
                raise
        return came

    async def check(self, installed: Sequence[Version]) -> tuple[Verdict | None, ...]:
        """What the registry says now, asked for in batches."""
        said: dict[tuple[str, str, str], Verdict | None] = {}
        askable = [one for one in installed if _SLUG.fullmatch(one.origin.slug) and _VERSION.fullmatch(one.version)]
        for start in range(0, len(askable), _BATCH):
            said |= await self._ask_verdicts(askable[start : start + _BATCH])
        return tuple(said.get((one.origin.slug, one.origin.owner, one.version)) for one in installed)

    async def _ask_verdicts(self, asked: Sequence[Version]) -> dict[tuple[str, str, str], Verdict | None]:
        items = [_verdict_item(one) for one in asked]
        body = msgspec.json.encode({"items": items})
        answer = await self._fetching.ask(
            await self.address("skills/-/security-verdicts"), Verdicts, Outgoing("POST", body)
        )
        found: dict[tuple[str, str, str], Verdict | None] = {}
        for one in answer.items:
            try:
                item = msgspec.convert(one, Verified)
            except msgspec.ValidationError:
                continue  # of that one nothing is said
            slug = item.requested_slug or item.slug or ""
            owner = item.requested_owner_handle or item.publisher_handle or ""
            for key in ((slug, owner), (slug, "")):
                found.setdefault((*key, item.version or ""), read_security(item))
        return found

    async def address(self, path: str, query: dict[str, str] | None = None) -> str:
        """An address of the interface; where that is, the site says. Raises: ClawftError."""
        async with self._discovering:
            if not self._base:
                self._base = await self._discover()
        asked = urlencode({key: value for key, value in (query or {}).items() if value})
        return f"{self._base}/api/v1/{path}" + (f"?{asked}" if asked else "")

    async def _discover(self) -> str:
        """Where the interface is: said at the top of a site; an address with a path is taken as it is."""
        if urlsplit(self._url).path.strip("/"):
            return self._url
        for name in ("clawhub.json", "clawdhub.json"):
            try:
                said = await self._fetching.ask(f"{self._url}/.well-known/{name}", Discovery)
            except ClawftError as error:
                if error.code == "source-answer" or getattr(error, "status", 0) in (404, 405, 410):
                    continue  # it says nothing, or shows people a page
                raise
            base = (said.api_base or said.registry or self._url).rstrip("/")
            self._fetching.judge(base)
            self._together.most = said.verify_batch
            return base
        return self._url

    async def _resolve(self, owner: str, slug: str, version: str) -> Resolved:
        if slug.startswith(_SKILLS_SH):
            return await self._resolve_skills_sh(slug)
        _check_names(owner, slug, version)
        found = await self._verify(owner, slug, version)
        if found is None:
            return await self._resolve_plainly(owner, slug, version)
        who, exact = found.publisher_handle or owner, found.version or ""
        if not exact or (version and exact != version) or (found.slug or slug) != slug:
            return await self._resolve_plainly(owner, slug, version)
        self._check_owner(who, owner, slug)
        _check_names(who, slug, exact)
        listed = found.artifact.files if found.artifact else None
        files = None if listed is None else tuple(one.publish() for one in listed)
        origin, verdict, notes = Origin("clawhub", self._url, who, slug), read_security(found), tell_yanked(found)
        changelog = plain_line(found.changelog or "", MAX_CHANGELOG)
        named = Resolved(origin, slug, exact, files=files, verdict=verdict, changelog=changelog, notes=notes)
        packed = found.artifact.archive if found.artifact else None
        digest = _DIGEST.fullmatch(packed.digest) if packed else None
        if packed is None or digest is None:
            return await self._with_archive(named)
        url = join_url(await self.address(f"skills/{quote(slug)}/verify"), packed.url)
        return structs.replace(named, url=url, archive=digest[1])

    async def _verify(self, owner: str, slug: str, version: str) -> Verified | None:
        """All that is said of a version in one answer; None where the registry has no such answer."""
        address = await self.address(f"skills/{quote(slug)}/verify", {"ownerHandle": owner, "version": version})
        if self._together.most and (found := await self._together.ask(owner, slug, version)) is not None:
            return found
        try:
            return await self._fetching.ask(address, Verified)
        except HttpError as error:
            await self._tell_ambiguous(error, slug)
            if error.status in (404, 405, 501):
                return None
            raise

    async def _resolve_plainly(self, owner: str, slug: str, version: str) -> Resolved:
        """The same in several answers. Raises: ClawftError."""
        answer = await self._ask_skill(owner, slug)
        who = (answer.owner.handle if answer.owner else None) or owner
        exact = version or (answer.latest_version.version if answer.latest_version else None) or ""
        _check_names(who, slug, exact)
        found = Resolved(
            Origin("clawhub", self._url, who, slug),
            slug,
            exact,
            verdict=answer.moderation.judge() if answer.moderation else None,
            description=answer.skill.summary or "",
        )
        if not exact:
            return await self._resolve_handoff(found)
        address = await self.address(f"skills/{quote(slug)}/versions/{quote(exact)}", {"ownerHandle": who})
        try:
            listed = (await self._fetching.ask(address, VersionAnswer)).version
        except HttpError as error:
            if error.status == 404 and version:
                raise await self._no_version(who, slug, version) from error
            raise
        files = None if listed.files is None else tuple(one.publish() for one in listed.files)
        changelog = plain_line(listed.changelog or "", MAX_CHANGELOG)
        return await self._with_archive(structs.replace(found, files=files, changelog=changelog))

    async def _ask_skill(self, owner: str, slug: str) -> SkillAnswer:
        """What is said of a skill of this owner, or of anybody. Raises: ClawftError; NotFound."""
        address = await self.address(f"skills/{quote(slug)}", {"ownerHandle": owner})
        try:
            answer = await self._fetching.ask(address, SkillAnswer)
        except HttpError as error:
            await self._tell_ambiguous(error, slug)
            if error.status == 404:
                raise _not_found(self.name, owner, slug) from error
            raise
        if answer.skill.slug != slug:
            raise ClawftError("source-answer", f"'{self.name}' answers with another skill than '{slug}'")
        self._check_owner((answer.owner.handle if answer.owner else None) or owner, owner, slug)
        return answer

    async def _no_version(self, owner: str, slug: str, version: str) -> NotFound:
        """That a skill is there and this version of it is not, with those that are."""
        there: list[str] = []
        with suppress(ClawftError):
            releases = await fetch_releases(self._fetching, self.address, owner, slug)
            there = [f"{one.version}{' (yanked)' * bool(one.yanked)}" for one in releases]
        message = f"'{self.name}' has '{f'@{owner}/' if owner else ''}{slug}', but not its version {version}"
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        return NotFound("source-not-found", message, hint=f"There are: {', '.join(there[:_SHOWN])}{more}" * bool(there))

    async def _tell_ambiguous(self, error: HttpError, slug: str) -> None:
        """Raises: ClawftError where several owners have the slug, and which, even if the answer itself does not say."""
        if error.status != 409:
            return
        owners = _read_owners(error.body)
        if not owners:
            with suppress(ClawftError):
                asked = {"q": slug, "limit": str(_BATCH), "mode": "exact"}
                found = read_hits(await self._fetching.ask(await self.address("search", asked), Results), self.name)
                owners = sorted({one.owner for one in found if one.name == slug and one.owner})
        listed = ", ".join(f"{self._prefix}@{one}/{slug}" for one in owners[:20])
        hint = f"Name one of them: {listed}" if listed else f"Name its owner: {self._prefix}@owner/{slug}"
        raise ClawftError("source-ambiguous", f"Several owners have a skill '{slug}'", hint=hint) from error

    def _check_owner(self, found: str, asked: str, slug: str) -> None:
        """Raises: ClawftError where somebody else's skill would be taken for the one that is meant."""
        if asked and found.lower() != asked.lower():
            message = (
                f"'{self.name}' answers with a skill of '{plain_line(found, 40)}' where '@{asked}/{slug}' is meant"
            )
            raise ClawftError("source-answer", message)

    async def _with_archive(self, found: Resolved) -> Resolved:
        """The archive of a version: with its digest if the registry gives one. Raises: ClawftError."""
        entry = await self._find_entry(found)
        if entry is not None:
            commit = dict(parse_qsl(urlsplit(entry.url).query)).get("commit", "")
            return structs.replace(found, url=entry.url, archive=entry.sha256, commit=commit)
        asked = {"slug": found.origin.slug, "ownerHandle": found.origin.owner, "version": found.version}
        notes = found.notes
        if found.files is None:
            message = f"'{self.name}' gives no digest of {found.name}: what comes cannot be checked against anything"
            notes = (*notes, Diagnostic("source-unverified", "warning", message))
        return structs.replace(found, url=await self.address("download", asked), notes=notes)

    async def _find_entry(self, found: Resolved) -> Entry | None:
        """What the index that bears digests has of this very version. Raises: ClawftError."""
        if not found.origin.owner:
            return None
        path = f"agent-skills/{quote(found.origin.owner)}/{quote(found.origin.slug)}/index.json"
        try:
            answer = await self._fetching.read(await self.address(path), accept="application/json")
        except HttpError as error:
            if error.status in (404, 405, 501):
                return None
            raise
        index = parse_index(self._fetching.decode(answer, Any), answer.url)
        named = [one for one in index.entries if one.type == "archive"]
        entry = next((one for one in named if one.name == found.origin.slug), named[0] if len(named) == 1 else None)
        if entry is None:
            return None
        asked = dict(parse_qsl(urlsplit(entry.url).query))
        return entry if (entry.version or asked.get("version") or asked.get("commit")) == found.version else None

    async def _resolve_handoff(self, found: Resolved) -> Resolved:
        """A skill that has no version there, since it lies on GitHub. Raises: ClawftError."""
        address = await self.address(f"skills/{quote(found.origin.slug)}/install", {"ownerHandle": found.origin.owner})
        return self._hand_off(found, await self._fetching.ask(address, Install))

    async def _resolve_skills_sh(self, slug: str) -> Resolved:
        """What ClawHub knows of a skill that skills.sh lists. Raises: ClawftError."""
        parts = slug.removeprefix(_SKILLS_SH).split("/")
        if len(parts) != 3 or not all(_OWNER.fullmatch(part) for part in parts):
            raise ClawftError("reference-invalid", f"{slug[:80]!a} is no skill of skills.sh")
        try:
            answer = await self._fetching.ask(await self.address(f"skills-sh/{'/'.join(parts)}/install"), Install)
        except HttpError as error:
            if error.status == 404:
                raise _not_found(self.name, "", slug) from error
            raise
        return self._hand_off(Resolved(Origin("clawhub", self._url, slug=slug), parts[-1]), answer)

    def _hand_off(self, found: Resolved, answer: Install) -> Resolved:
        if not answer.ok or answer.github is None:
            raise Refused("source-unavailable", f"'{self.name}' does not hand out {found.name}: {_why(answer)}")
        url = handoff_url(answer.github)
        origin = structs.replace(found.origin, path=handoff_path(answer.github))
        return structs.replace(found, origin=origin, commit=answer.github.commit, url=url)


def drop_made(folder: str, listed: Sequence[Published]) -> None:
    """Take out what the registry itself put into the archive, unless it lists it. Raises: OSError."""
    for name in _MADE.difference(one.path for one in listed):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))


def _verdict_item(one: Version) -> dict[str, str]:
    owner = {"ownerHandle": one.origin.owner} if one.origin.owner else {}
    return {"slug": one.origin.slug, **owner, "version": one.version}


def _check_names(owner: str, slug: str, version: str) -> None:
    """Raises: ClawftError for what cannot be meant: names are put into addresses and become folders."""
    checks = ((slug, _SLUG, "name of a skill"), (owner, _OWNER, "owner"), (version, _VERSION, "version"))
    for text, pattern, what in checks:
        if (text or what == "name of a skill") and (not pattern.fullmatch(text) or ".." in text):
            raise ClawftError("reference-invalid", f"{text[:80]!a} is no {what} in a registry")


def _read_owners(body: bytes) -> list[str]:
    """Whose skills go by a slug, if an answer says so."""
    try:
        return msgspec.json.decode(body, type=Ambiguous).owners()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []


def _not_found(registry: str, owner: str, slug: str) -> NotFound:
    name = f"@{owner}/{slug}" if owner else slug
    bare = slug.partition("@")[0].rpartition("/")[2]
    return NotFound(
        "source-not-found", f"'{registry}' has no skill '{name}'", hint=f"Run: weft skills search --hub {bare}"
    )


def _why(answer: Install) -> str:
    return plain_line(answer.message or answer.reason or "it says nothing more", 200)
