"""ClawHub and registries with its API, such as `weft hub serve`, with skills that they leave to GitHub."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urldefrag, urlencode, urlsplit

import anyio
import msgspec
from msgspec import structs

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.install.archive.hashes import github_content_hash
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.address import join_url, plain_line, read_path
from clawft.install.sources.clawhub_api import (
    MAX_CHANGELOG,
    ClawHubAmbiguity,
    ClawHubDiscovery,
    ClawHubHits,
    ClawHubInstall,
    ClawHubSkill,
    ClawHubVerdicts,
    ClawHubVerification,
    ClawHubVersion,
    GitHubHandoff,
    VerdictBatch,
    fetch_changelog,
    fetch_releases,
    make_yanked_diagnostic,
    read_hits,
    read_security,
)
from clawft.install.sources.git import GitRepository
from clawft.install.sources.http import FetchRequest, HttpError, SourceConnection
from clawft.install.sources.model import (
    AvailableVersion,
    ResolvedSkill,
    ShownSkill,
    SkillReference,
    SourceHit,
    SourceVerdict,
)
from clawft.install.sources.remote import (
    check_files,
    clear_folder,
    download_archive,
    hash_files,
    make_source_changed_error,
)
from clawft.install.sources.wellknown import SkillIndexEntry, parse_index

Repositories = Callable[[str], GitRepository]  # by address
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def handoff_url(handoff: GitHubHandoff) -> str:
    """Return the address of the repository; the folder and its hash follow the `#`, which is never sent to a server.

    Raises: Refused for an answer that names no commit, or has no hash.
    """
    content = _HASH.fullmatch(handoff.content_hash)
    if not _REPO.fullmatch(handoff.repo) or not _COMMIT.fullmatch(handoff.commit) or content is None:
        raise Refused("source-answer", "The registry names no commit of a repository with the hash of its files")
    fragment = urlencode({"path": handoff_path(handoff), "content": content[1]})
    return f"https://github.com/{handoff.repo.removesuffix('.git')}.git#{fragment}"


def handoff_path(handoff: GitHubHandoff) -> str:
    """The folder in the repository, '' for the whole. Raises: Refused."""
    return read_path("" if handoff.path in ("", ".", "./") else handoff.path.removeprefix("./"))


async def fetch_handoff(repositories: Repositories, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
    """Only the files that are meant, with the hash that the registry gave. Raises: ClawftError; Refused."""
    url, fragment = urldefrag(resolved.url)
    asked = parse_qs(fragment)
    origin = SkillOrigin("git", url, path=asked.get("path", [""])[0])
    repository = repositories(url)
    try:
        came = await repository.download(structs.replace(resolved, origin=origin), folder)
    finally:
        await repository.aclose()
    files = hash_files(folder).values()
    content = github_content_hash((file.path, file.size, file.sha256) for file in files)
    if content is None:
        message = "The registry's hash of the files cannot be verified: it depends on the order of file names, which is"
        message += f" known only for plain ASCII. The files are those of the commit it named, {resolved.commit[:12]}"
        note = Diagnostic("source-unverified", "warning", message)
        return structs.replace(came, origin=resolved.origin, notes=(*came.notes, note))
    if content != asked["content"][0]:
        clear_folder(folder)
        raise make_source_changed_error(resolved.name, "The files are not those whose hash the registry gave")
    return structs.replace(came, origin=resolved.origin)


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
        fetching: SourceConnection,
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
        self._together = VerdictBatch(fetching, self.address)

    async def aclose(self) -> None:
        await self._fetching.aclose()

    async def search(self, query: str, limit: int) -> tuple[SourceHit, ...]:
        """Search the registry, and return the hits with its verdicts."""
        asked = {"q": query, "limit": str(limit)}
        found = await self._fetching.ask(await self.address("search", asked), ClawHubHits)
        hits = read_hits(found, self.name, default=self._default)[:limit]
        # What skills.sh lists is no skill of this registry, though one may have the same name.
        own = [hit for hit in hits if not hit.reference.startswith(_SKILLS_SH)]
        known = [
            AvailableVersion(SkillOrigin("clawhub", self._url, own_hit.owner, own_hit.name), own_hit.version)
            for own_hit in own
        ]
        try:
            verdicts = dict(zip(own, await self.check(known), strict=True))
        except ClawftError as error:
            verdicts = dict.fromkeys(own, SourceVerdict("unknown", (), str(error)))
        return tuple(structs.replace(hit, verdict=verdicts.get(hit)) for hit in hits)

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """Exactly one. Raises: ClawftError; NotFound."""
        return (await self._resolve(reference.owner, reference.slug, reference.version),)

    async def show(self, reference: SkillReference) -> ShownSkill:
        """Return the registry's versions of a skill: all, or the one that is named. Raises: ClawftError; NotFound."""
        slug, version = reference.slug, reference.version
        _check_names(reference.owner, slug, version)
        answer = await self._ask_skill(reference.owner, slug)
        owner = (answer.owner.handle if answer.owner else None) or reference.owner
        origin = SkillOrigin("clawhub", self._url, owner, slug)
        found = await fetch_releases(self._fetching, self.address, owner, slug)
        if version and all(release.version != version for release in found):
            raise await self._no_version(owner, slug, version)
        found = [release for release in found if version in ("", release.version)]
        try:
            answers = await self.check([AvailableVersion(origin, release.version) for release in found[:_BATCH]])
        except ClawftError:
            answers = ()
        verdicts = dict(zip(found, [verdict.status if verdict else "" for verdict in answers], strict=False))
        releases = tuple(structs.replace(release, verdict=verdicts.get(release, "")) for release in found)
        latest = (answer.latest_version.version if answer.latest_version else None) or ""
        return ShownSkill(origin, plain_line(answer.skill.summary or ""), plain_line(latest, 40), releases)

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        origin = installed.origin
        found = await self._resolve(origin.owner, origin.slug, installed.version if exact else "")
        if exact or found.changelog or found.version in ("", installed.version):
            return found
        return structs.replace(found, changelog=await fetch_changelog(self._fetching, self.address, found))

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        if resolved.commit and not resolved.archive and self._repositories is not None:
            return await fetch_handoff(self._repositories, resolved, folder)
        came = await download_archive(self._fetching, resolved, folder)
        for name in _MADE.difference(file.path for file in resolved.files or ()):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        if resolved.files is not None:
            try:
                check_files(resolved.name, hash_files(folder), resolved.files)
            except Refused:
                clear_folder(folder)
                raise
        return came

    async def check(self, installed: Sequence[AvailableVersion]) -> tuple[SourceVerdict | None, ...]:
        """Fetch the registry's current verdicts, asked for in batches."""
        verdicts: dict[tuple[str, str, str], SourceVerdict | None] = {}
        askable = [
            skill for skill in installed if _SLUG.fullmatch(skill.origin.slug) and _VERSION.fullmatch(skill.version)
        ]
        for start in range(0, len(askable), _BATCH):
            verdicts |= await self._ask_verdicts(askable[start : start + _BATCH])
        return tuple(verdicts.get((skill.origin.slug, skill.origin.owner, skill.version)) for skill in installed)

    async def _ask_verdicts(
        self, asked: Sequence[AvailableVersion]
    ) -> dict[tuple[str, str, str], SourceVerdict | None]:
        owners = [{"ownerHandle": skill.origin.owner} if skill.origin.owner else {} for skill in asked]
        items = [
            {"slug": skill.origin.slug, **owner, "version": skill.version}
            for skill, owner in zip(asked, owners, strict=True)
        ]
        body = msgspec.json.encode({"items": items})
        answer = await self._fetching.ask(
            await self.address("skills/-/security-verdicts"), ClawHubVerdicts, FetchRequest("POST", body)
        )
        found: dict[tuple[str, str, str], SourceVerdict | None] = {}
        for raw in answer.items:
            try:
                item = msgspec.convert(raw, ClawHubVerification)
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
        """Find the address of the API, which a site publishes at its top; an address with a path is used unchanged."""
        if urlsplit(self._url).path.strip("/"):
            return self._url
        for name in ("clawhub.json", "clawdhub.json"):
            try:
                discovery = await self._fetching.ask(f"{self._url}/.well-known/{name}", ClawHubDiscovery)
            except ClawftError as error:
                if error.code == "source-answer" or getattr(error, "status", 0) in (404, 405, 410):
                    continue  # it says nothing, or shows people a page
                raise
            base = (discovery.api_base or discovery.registry or self._url).rstrip("/")
            self._fetching.judge(base)
            self._together.most = discovery.verify_batch
            return base
        return self._url

    async def _resolve(self, owner: str, slug: str, version: str) -> ResolvedSkill:
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
        files = None if listed is None else tuple(file.publish() for file in listed)
        origin, notes = SkillOrigin("clawhub", self._url, who, slug), make_yanked_diagnostic(found)
        changelog = plain_line(found.changelog or "", MAX_CHANGELOG)
        named = ResolvedSkill(
            origin, slug, exact, files=files, verdict=read_security(found), changelog=changelog, notes=notes
        )
        packed = found.artifact.archive if found.artifact else None
        digest = _DIGEST.fullmatch(packed.digest) if packed else None
        if packed is None or digest is None:
            return await self._with_archive(named)
        url = join_url(await self.address(f"skills/{quote(slug)}/verify"), packed.url)
        return structs.replace(named, url=url, archive=digest[1])

    async def _verify(self, owner: str, slug: str, version: str) -> ClawHubVerification | None:
        """Fetch the verification of a version in one answer; None where the registry does not offer it."""
        address = await self.address(f"skills/{quote(slug)}/verify", {"ownerHandle": owner, "version": version})
        if self._together.most and (found := await self._together.ask(owner, slug, version)) is not None:
            return found
        try:
            return await self._fetching.ask(address, ClawHubVerification)
        except HttpError as error:
            await self._tell_ambiguous(error, slug)
            if error.status in (404, 405, 501):
                return None
            raise

    async def _resolve_plainly(self, owner: str, slug: str, version: str) -> ResolvedSkill:
        """Resolve a version by several requests, where the server has no single one. Raises: ClawftError."""
        answer = await self._ask_skill(owner, slug)
        who = (answer.owner.handle if answer.owner else None) or owner
        exact = version or (answer.latest_version.version if answer.latest_version else None) or ""
        _check_names(who, slug, exact)
        found = ResolvedSkill(
            SkillOrigin("clawhub", self._url, who, slug),
            slug,
            exact,
            verdict=answer.moderation.judge() if answer.moderation else None,
            description=answer.skill.summary or "",
        )
        if not exact:
            asked = await self.address(f"skills/{quote(slug)}/install", {"ownerHandle": who})  # it lies on GitHub
            return self._hand_off(found, await self._fetching.ask(asked, ClawHubInstall))
        address = await self.address(f"skills/{quote(slug)}/versions/{quote(exact)}", {"ownerHandle": who})
        try:
            listed = (await self._fetching.ask(address, ClawHubVersion)).version
        except HttpError as error:
            if error.status == 404 and version:
                raise await self._no_version(who, slug, version) from error
            raise
        files = None if listed.files is None else tuple(file.publish() for file in listed.files)
        changelog = plain_line(listed.changelog or "", MAX_CHANGELOG)
        return await self._with_archive(structs.replace(found, files=files, changelog=changelog))

    async def _ask_skill(self, owner: str, slug: str) -> ClawHubSkill:
        """Fetch a skill of this owner, or of any owner. Raises: ClawftError; NotFound."""
        address = await self.address(f"skills/{quote(slug)}", {"ownerHandle": owner})
        try:
            answer = await self._fetching.ask(address, ClawHubSkill)
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
            there = [f"{release.version}{' (yanked)' * bool(release.yanked)}" for release in releases]
        message = f"'{self.name}' has '{f'@{owner}/' if owner else ''}{slug}', but not its version {version}"
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        return NotFound("source-not-found", message, hint=f"There are: {', '.join(there[:_SHOWN])}{more}" * bool(there))

    async def _tell_ambiguous(self, error: HttpError, slug: str) -> None:
        """Raises: ClawftError where several owners have the slug, and which, even if the answer itself does not say."""
        if error.status != 409:
            return
        owners: list[str] = []
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            owners = msgspec.json.decode(error.body, type=ClawHubAmbiguity).owners()
        if not owners:
            with suppress(ClawftError):
                asked = {"q": slug, "limit": str(_BATCH), "mode": "exact"}
                found = read_hits(await self._fetching.ask(await self.address("search", asked), ClawHubHits), self.name)
                owners = sorted({hit.owner for hit in found if hit.name == slug and hit.owner})
        listed = ", ".join(f"{self._prefix}@{owner}/{slug}" for owner in owners[:20])
        hint = f"Name one of them: {listed}" if listed else f"Name its owner: {self._prefix}@owner/{slug}"
        raise ClawftError("source-ambiguous", f"Several owners have a skill '{slug}'", hint=hint) from error

    def _check_owner(self, found: str, asked: str, slug: str) -> None:
        """Check that an answer is about the owner that was asked for. Raises: ClawftError for another owner's skill."""
        if asked and found.lower() != asked.lower():
            message = (
                f"'{self.name}' answers with a skill of '{plain_line(found, 40)}' where '@{asked}/{slug}' is meant"
            )
            raise ClawftError("source-answer", message)

    async def _with_archive(self, found: ResolvedSkill) -> ResolvedSkill:
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

    async def _find_entry(self, found: ResolvedSkill) -> SkillIndexEntry | None:
        """Find this exact version in the index that has digests. Raises: ClawftError."""
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
        named = [entry for entry in index.entries if entry.type == "archive"]
        entry = next(
            (candidate for candidate in named if candidate.name == found.origin.slug),
            named[0] if len(named) == 1 else None,
        )
        if entry is None:
            return None
        asked = dict(parse_qsl(urlsplit(entry.url).query))
        return entry if (entry.version or asked.get("version") or asked.get("commit")) == found.version else None

    async def _resolve_skills_sh(self, slug: str) -> ResolvedSkill:
        """Resolve a skill that skills.sh lists through ClawHub. Raises: ClawftError."""
        parts = slug.removeprefix(_SKILLS_SH).split("/")
        if len(parts) != 3 or not all(_OWNER.fullmatch(part) for part in parts):
            raise ClawftError("reference-invalid", f"{slug[:80]!a} is no skill of skills.sh")
        try:
            answer = await self._fetching.ask(
                await self.address(f"skills-sh/{'/'.join(parts)}/install"), ClawHubInstall
            )
        except HttpError as error:
            if error.status == 404:
                raise _not_found(self.name, "", slug) from error
            raise
        return self._hand_off(ResolvedSkill(SkillOrigin("clawhub", self._url, slug=slug), parts[-1]), answer)

    def _hand_off(self, found: ResolvedSkill, answer: ClawHubInstall) -> ResolvedSkill:
        if not answer.ok or answer.github is None:
            why = plain_line(answer.message or answer.reason or "it says nothing more", 200)
            raise Refused("source-unavailable", f"'{self.name}' does not hand out {found.name}: {why}")
        url = handoff_url(answer.github)
        origin = structs.replace(found.origin, path=handoff_path(answer.github))
        return structs.replace(found, origin=origin, commit=answer.github.commit, url=url)


def _check_names(owner: str, slug: str, version: str) -> None:
    """Raises: ClawftError for what cannot be meant: names are put into addresses and become folders."""
    checks = ((slug, _SLUG, "name of a skill"), (owner, _OWNER, "owner"), (version, _VERSION, "version"))
    for text, pattern, what in checks:
        if (text or what == "name of a skill") and (not pattern.fullmatch(text) or ".." in text):
            raise ClawftError("reference-invalid", f"{text[:80]!a} is no {what} in a registry")


def _not_found(registry: str, owner: str, slug: str) -> NotFound:
    name = f"@{owner}/{slug}" if owner else slug
    bare = slug.partition("@")[0].rpartition("/")[2]
    return NotFound(
        "source-not-found", f"'{registry}' has no skill '{name}'", hint=f"Run: weft skills search --hub {bare}"
    )
