"""Well-known discovery: a site that lists its skills in an index."""

import os
import re
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.install.archive.target import SKILL, UnpackTarget
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.address import join_url, plain_line
from clawft.install.sources.http import HttpError, SourceConnection
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference, SourceHit, SourceVerdict
from clawft.install.sources.remote import download_skill_archive, make_source_changed_error
from clawft.trust.network import InvalidUrl

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MAX_ENTRIES = 10_000
MAX_LISTED = 1_000  # files of one skill
MAX_REPORTED = 5  # entries that are left out: what a person is to see must not be pushed off the screen
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_OWNED = re.compile(r"@[A-Za-z0-9][A-Za-z0-9._-]{0,62}/[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,99}")


class SkillIndexEntry(Struct, frozen=True):
    """One skill of an index, checked. The older form lists `files`, which are below `url`."""

    name: str
    type: Literal["skill-md", "archive", "files"]
    url: str
    sha256: str = ""
    description: str = ""
    version: str = ""
    files: tuple[str, ...] = ()


class SkillIndex(Struct, frozen=True):
    """The usable entries of an index, and why others were left out."""

    entries: tuple[SkillIndexEntry, ...]
    notes: tuple[Diagnostic, ...] = ()
    omitted: tuple[str, ...] = ()  # `@owner/name` of what the site has and cannot name here, as two of one name


def parse_index(document: Any, url: str) -> SkillIndex:
    """An index that was found at `url`. Raises: ClawftError for one that is not to be read at all."""
    skills = document.get("skills") if isinstance(document, dict) else None
    if not isinstance(skills, list) or len(skills) > MAX_ENTRIES:
        raise ClawftError("index-invalid", "The index lists no skills", path=url)
    schema = document.get("$schema")
    if schema is not None and schema != SCHEMA:
        message = f"The index is of a version that is not known here: {plain_line(str(schema), 100)}"
        raise ClawftError("index-schema", message, path=url, hint=f"Known is {SCHEMA}")
    entries: dict[str, SkillIndexEntry] = {}
    notes: list[Diagnostic] = []
    for skill in skills:
        try:
            entry = _read_entry(skill, url, dated=schema is None)
            if entry.name in entries:
                raise ValueError("its name is there twice")
            entries[entry.name] = entry
        except (ValueError, InvalidUrl) as error:
            named = plain_line(str(skill.get("name", "")), 60) if isinstance(skill, dict) else ""
            message = f"'{named}' of the index is left out: {error}"
            notes.append(Diagnostic("index-entry", "warning", message, url))
    if len(notes) > MAX_REPORTED:
        more = f"{len(notes) - MAX_REPORTED} more of the index are left out"
        notes[MAX_REPORTED:] = [Diagnostic("index-entry", "warning", more, url)]
    omitted_names = document.get("omitted")
    omitted = (
        [text for text in omitted_names if isinstance(text, str) and _OWNED.fullmatch(text)]
        if isinstance(omitted_names, list)
        else []
    )
    return SkillIndex(tuple(entries.values()), tuple(notes), tuple(omitted[:MAX_ENTRIES]))


def _read_entry(one: Any, url: str, *, dated: bool) -> SkillIndexEntry:
    """Raises: ValueError with the reason."""
    if not isinstance(one, dict):
        raise ValueError("it is no table")
    name, description = _text(one, "name"), plain_line(_text(one, "description", required=False))
    if not _NAME.fullmatch(name):
        raise ValueError("its name is none that a folder may have")
    if dated and "files" in one:
        return SkillIndexEntry(
            name, "files", join_url(url, f"{name}/"), description=description, files=_read_files(one["files"])
        )
    kind, digest = _text(one, "type"), _DIGEST.fullmatch(_text(one, "digest"))
    if kind not in ("skill-md", "archive"):
        raise ValueError(f"its type is not known here: {plain_line(kind, 40)}")
    if digest is None:
        raise ValueError("its digest is no sha256")
    version = _text(one, "version", required=False)
    place = join_url(url, _text(one, "url"))
    return SkillIndexEntry(
        name,
        "archive" if kind == "archive" else "skill-md",
        place,
        digest[1],
        description,
        version if _VERSION.fullmatch(version) else "",
    )


def _text(one: dict[str, Any], key: str, *, required: bool = True) -> str:
    value = one.get(key)
    if isinstance(value, str) and value:
        return value
    if required:
        raise ValueError(f"it has no {key}")
    return ""


def _read_files(listed: Any) -> tuple[str, ...]:
    """Paths below the skill's folder. Raises: ValueError."""
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_LISTED or len(set(map(str, listed))) < len(listed):
        raise ValueError("its files are no list that can be used")
    for path in listed:
        parts = path.split("/") if isinstance(path, str) else [""]
        if not {"", ".", ".."}.isdisjoint(parts) or not path.isprintable() or set("\\:?#%") & set(path):
            raise ValueError(f"it lists what is no path: {plain_line(str(path), 60)}")
    if "SKILL.md" not in listed:
        raise ValueError("it has no SKILL.md")
    return tuple(listed)


_PLACES = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")


class WellKnown:
    """One site. Its index is read once."""

    def __init__(self, url: str, fetching: SourceConnection, *, name: str = "", default: bool = False) -> None:
        """`name`: of the registry, if it is one; `default`: a name without a registry means this one."""
        self.name = name
        self._url = url.rstrip("/")
        self._fetching = fetching
        self._prefix = "" if default else f"{name}:"
        self._index: SkillIndex | None = None

    async def aclose(self) -> None:
        await self._fetching.aclose()

    async def search(self, query: str, limit: int) -> tuple[SourceHit, ...]:
        """Search the index: skills with every word in the name or description come first, then those with some."""
        words = query.lower().split()
        hits = []
        for entry in (await self._load()).entries:
            text = f"{entry.name} {entry.description}".lower()
            score = sum(word in text for word in words) + sum(word in entry.name.lower() for word in words)
            if score:
                reference = f"{self._prefix}{entry.name}" if self.name else self._url
                hits.append(SourceHit(self.name, entry.name, reference, "", entry.description, entry.version, score))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.name))[:limit])

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """Resolve all skills that the site lists, or the one that is named. Raises: ClawftError; NotFound."""
        index = await self._load()
        wanted = reference.slug or reference.skill
        named = [entry for entry in index.entries if wanted in ("", entry.name)]
        if not named:
            raise self._not_found(index, wanted)
        if reference.version and all(candidate.version != reference.version for candidate in named):
            message = f"'{self._url}' has {wanted} in version {named[0].version or '(unnamed)'} only"
            raise NotFound("source-not-found", message)
        # What was left out is said once, and not to who asked for another one.
        return tuple(
            self._resolved(candidate, index.notes if candidate is named[0] and not wanted else ())
            for candidate in named
        )

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        """A site has only its newest; whether that is what a lock has, its digests say."""
        version = installed.version if exact else ""
        return (await self.resolve(SkillReference("", "well-known", slug=installed.origin.slug, version=version)))[0]

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        entry = next((entry for entry in (await self._load()).entries if entry.name == resolved.name), None)
        if entry is None or (entry.url, entry.sha256) != (resolved.url, resolved.archive):
            raise make_source_changed_error(resolved.name, "The index is another one by now")
        if entry.type == "archive":
            return await download_skill_archive(self._fetching, resolved, folder)
        if entry.type == "files":
            return await self._fetch_files(entry, resolved, folder)
        came_file = await self._fetching.download(resolved.url, os.path.join(folder, "SKILL.md"))
        if came_file.sha256 != entry.sha256:
            os.unlink(os.path.join(folder, "SKILL.md"))
            raise make_source_changed_error(resolved.name, "SKILL.md is not the one whose digest the index gives")
        return resolved

    async def check(self, installed: Sequence[AvailableVersion]) -> tuple[SourceVerdict | None, ...]:
        """An index says nothing of what it thinks of its skills."""
        return (None,) * len(installed)

    async def _load(self) -> SkillIndex:
        if self._index is None:
            self._index = await self._find()
        return self._index

    async def _find(self) -> SkillIndex:
        """The index, looked for below the address that was given, then at the top of the site. Raises: ClawftError."""
        whole = urlsplit(self._url)
        origin = f"{whole.scheme}://{whole.netloc}"
        below = (self._url if whole.path.endswith(".json") else "", *(self._url + place for place in _PLACES))
        unread: ClawftError | None = None
        for url in dict.fromkeys((*below, *(origin + place for place in _PLACES))):
            try:
                answer = await self._fetching.read(url, accept="application/json") if url else None
                document = self._fetching.decode(answer, Any) if answer else None
            except HttpError as error:
                if error.status in (401, 429) or error.status >= 500:
                    raise
                continue
            except ClawftError as error:
                if error.code != "source-answer":
                    raise
                unread = unread or error  # a site may show people a page at every address
                continue
            if answer is not None:
                return parse_index(document, answer.url)
        if unread is not None:
            raise unread
        hint = "Give the address of an archive, of a repository, or of a site that lists its skills"
        raise NotFound("source-no-index", f"'{self._url}' lists no skills at {_PLACES[0]}", hint=hint)

    def _resolved(self, entry: SkillIndexEntry, notes: tuple[Diagnostic, ...]) -> ResolvedSkill:
        origin = SkillOrigin("well-known", self._url, slug=entry.name)
        if entry.type == "files":
            message = f"'{self._url}' gives no digests: what comes of {entry.name} cannot be checked against anything"
            notes = (*notes, Diagnostic("source-unverified", "warning", message))
        return ResolvedSkill(
            origin,
            entry.name,
            entry.version,
            url=entry.url,
            archive=entry.sha256,
            description=entry.description,
            notes=notes,
        )

    async def _fetch_files(self, entry: SkillIndexEntry, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        """File by file, as the older form has it. Raises: ClawftError."""
        target = UnpackTarget(folder, entry.url, SKILL)
        try:
            for path in sorted(entry.files):
                if place := target.claim(path):
                    content = (await self._fetching.read(entry.url + quote(path))).body
                    target.reserve(path, len(content))
                    target.write(place, content, executable=False)
        except BaseException:
            target.clear()
            raise
        return resolved

    def _not_found(self, index: SkillIndex, wanted: str) -> ClawftError:
        left_out = next((note for note in index.notes if not wanted or note.message.startswith(f"'{wanted}' ")), None)
        if left_out is not None:
            return ClawftError(left_out.code, left_out.message, path=left_out.path)
        owned = [owned_name for owned_name in index.omitted if owned_name.rpartition("/")[2] == wanted]
        if owned:
            several = "several owners have it" if len(owned) > 1 else "the index cannot name it"
            message = f"'{self._url}' lists no skill '{wanted}' by that name alone: {several}"
            listed = ", ".join(f"{self._url}/{owned_name}" for owned_name in owned[:MAX_REPORTED])
            return NotFound("source-ambiguous", message, hint=f"Install it by its own address: {listed}")
        names = [entry.name for entry in index.entries]
        close = find_close(wanted, names)
        hint = f"did you mean '{close}'?" if close else f"It has: {', '.join(names[:20]) or 'none'}"
        named = f"no skill '{wanted}'" if wanted else "no skills"
        return NotFound("source-not-found", f"'{self._url}' lists {named}", hint=hint if wanted else "")
