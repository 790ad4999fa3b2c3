"""A site that lists its skills: `/.well-known/agent-skills/index.json`; `/.well-known/skills/` in the older form."""

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.locks.model import Origin
from clawft.packing.limits import SKILL
from clawft.packing.target import Target
from clawft.sources.arriving import arrive, has_document, source_changed
from clawft.sources.fetching import Fetching
from clawft.sources.index import MAX_TOLD, Entry, Index, parse_index
from clawft.sources.model import Hit, Reference, Resolved, Verdict, Version
from clawft.sources.status import HttpError

__all__ = ["WellKnown"]

_PLACES = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WellKnown:
    """One site. Its index is read once."""

    def __init__(self, url: str, fetching: Fetching, *, name: str = "", default: bool = False) -> None:
        """`name`: of the registry, if it is one; `default`: a name without a registry means this one."""
        self.name = name
        self._url = url.rstrip("/")
        self._fetching = fetching
        self._prefix = "" if default else f"{name}:"
        self._index: Index | None = None

    async def aclose(self) -> None:
        await self._fetching.aclose()

    async def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """What has every word in its name or description; then what has some."""
        words = query.lower().split()
        hits = []
        for one in (await self._load()).entries:
            text = f"{one.name} {one.description}".lower()
            score = sum(word in text for word in words) + sum(word in one.name.lower() for word in words)
            if score:
                reference = f"{self._prefix}{one.name}" if self.name else self._url
                hits.append(Hit(self.name, one.name, reference, "", one.description, one.version, score))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.name))[:limit])

    async def resolve(self, reference: Reference) -> tuple[Resolved, ...]:
        """All that the site lists, or the one that is named. Raises: ClawftError; NotFound."""
        index = await self._load()
        wanted = reference.slug or reference.skill
        named = [one for one in index.entries if wanted in ("", one.name)]
        if not named:
            raise self._not_found(index, wanted)
        if reference.version and all(one.version != reference.version for one in named):
            message = f"'{self._url}' has {wanted} in version {named[0].version or '(unnamed)'} only"
            raise NotFound("source-not-found", message)
        # What was left out is said once, and not to who asked for another one.
        return tuple(self._resolved(one, index.notes if one is named[0] and not wanted else ()) for one in named)

    async def renew(self, installed: Version, *, exact: bool = False) -> Resolved:
        """A site has only its newest; whether that is what a lock has, its digests say."""
        version = installed.version if exact else ""
        return (await self.resolve(Reference("", "well-known", slug=installed.origin.slug, version=version)))[0]

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        entry = next((one for one in (await self._load()).entries if one.name == resolved.name), None)
        if entry is None or (entry.url, entry.sha256) != (resolved.url, resolved.archive):
            raise source_changed(resolved.name, "The index is another one by now")
        if entry.type == "archive":
            came = await arrive(self._fetching, resolved, folder)
            if not has_document(folder):
                raise source_changed(resolved.name, "The archive has no SKILL.md at its top")
            return came
        if entry.type == "files":
            return await self._fetch_files(entry, resolved, folder)
        came_file = await self._fetching.download(resolved.url, os.path.join(folder, "SKILL.md"))
        if came_file.sha256 != entry.sha256:
            os.unlink(os.path.join(folder, "SKILL.md"))
            raise source_changed(resolved.name, "SKILL.md is not the one whose digest the index gives")
        return resolved

    async def check(self, installed: Sequence[Version]) -> tuple[Verdict | None, ...]:
        """An index says nothing of what it thinks of its skills."""
        return (None,) * len(installed)

    async def _load(self) -> Index:
        if self._index is None:
            self._index = await self._find()
        return self._index

    async def _find(self) -> Index:
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

    def _resolved(self, entry: Entry, notes: tuple[Diagnostic, ...]) -> Resolved:
        origin = Origin("well-known", self._url, slug=entry.name)
        if entry.type == "files":
            message = f"'{self._url}' gives no digests: what comes of {entry.name} cannot be checked against anything"
            notes = (*notes, Diagnostic("source-unverified", "warning", message))
        return Resolved(
            origin,
            entry.name,
            entry.version,
            url=entry.url,
            archive=entry.sha256,
            description=entry.description,
            notes=notes,
        )

    async def _fetch_files(self, entry: Entry, resolved: Resolved, folder: str) -> Resolved:
        """File by file, as the older form has it. Raises: ClawftError."""
        target = Target(folder, entry.url, SKILL)
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

    def _not_found(self, index: Index, wanted: str) -> ClawftError:
        left_out = next((one for one in index.notes if not wanted or one.message.startswith(f"'{wanted}' ")), None)
        if left_out is not None:
            return ClawftError(left_out.code, left_out.message, path=left_out.path)
        owned = [one for one in index.omitted if one.rpartition("/")[2] == wanted]
        if owned:
            several = "several owners have it" if len(owned) > 1 else "the index cannot name it"
            message = f"'{self._url}' lists no skill '{wanted}' by that name alone: {several}"
            listed = ", ".join(f"{self._url}/{one}" for one in owned[:MAX_TOLD])
            return NotFound("source-ambiguous", message, hint=f"Install it by its own address: {listed}")
        names = [one.name for one in index.entries]
        close = find_close(wanted, names)
        hint = f"did you mean '{close}'?" if close else f"It has: {', '.join(names[:20]) or 'none'}"
        named = f"no skill '{wanted}'" if wanted else "no skills"
        return NotFound("source-not-found", f"'{self._url}' lists {named}", hint=hint if wanted else "")
