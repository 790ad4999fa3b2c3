"""An archive, or a SKILL.md, by its address. Nobody vouches for its bytes: they are fetched once, and what was looked
at is what is installed.
"""

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote, urlsplit

import anyio
from msgspec import structs

from clawft.errors import ClawftError, Diagnostic
from clawft.format.names import slugify
from clawft.locks.model import Origin
from clawft.packing.place import remove_tree
from clawft.sources.arriving import source_changed
from clawft.sources.fetching import Downloaded, Fetching
from clawft.sources.local import LocalSource
from clawft.sources.model import Reference, Resolved, Version

__all__ = ["RemoteArchive"]


class RemoteArchive:
    """One address. What came from it is kept until this is closed."""

    def __init__(self, url: str, fetching: Fetching) -> None:
        self._url = url
        self._fetching = fetching
        self._local = LocalSource()
        self._folder = ""
        self._came: Downloaded | None = None
        self._fetching_it = anyio.Lock()

    async def aclose(self) -> None:
        await self._fetching.aclose()
        if self._folder:
            remove_tree(self._folder)
            self._folder, self._came = "", None

    async def resolve(self, reference: Reference) -> tuple[Resolved, ...]:
        """The skill, or the skills, in it. Raises: ClawftError; Refused."""
        async with self._fetched() as here:
            asked = structs.replace(reference, kind=here.kind, url=here.url)
            return tuple(self._told(one) for one in await self._local.resolve(asked))

    async def renew(self, installed: Version, *, exact: bool = False) -> Resolved:
        async with self._fetched() as here:
            local = structs.replace(here, path=installed.origin.path)
            return self._told(await self._local.renew(structs.replace(installed, origin=local), exact=exact))

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        async with self._fetched() as here:
            if self._came is None or self._came.sha256 != resolved.archive:
                raise source_changed(resolved.name, "The archive is another one by now")
            local = structs.replace(here, path=resolved.origin.path)
            await self._local.download(structs.replace(resolved, origin=local, archive=""), folder)
        return resolved

    @asynccontextmanager
    async def _fetched(self) -> AsyncIterator[Origin]:
        """Where a copy of it is on this machine. Errors tell of the address. Raises: ClawftError."""
        name = unquote(urlsplit(self._url).path).rpartition("/")[2]
        single = name.lower() == "skill.md"
        async with self._fetching_it:
            if self._came is None:
                self._folder = self._folder or tempfile.mkdtemp(prefix="weft-")
            place = os.path.join(self._folder, self._name() if single else f"{self._name()}.archive")
            if self._came is None:
                os.makedirs(place if single else self._folder, mode=0o700, exist_ok=True)
                file = os.path.join(place, "SKILL.md") if single else place
                self._came = await self._fetching.download(self._url, file)
        try:
            yield Origin("folder" if single else "archive", place)
        except ClawftError as error:
            said = error.diagnostic
            if not said.path.startswith(self._folder):
                raise
            raise type(error)(said.code, said.message, path=self._url, hint=said.hint) from error

    def _name(self) -> str:
        """What the archive is called, or the folder that a SKILL.md stands in."""
        parts = [part for part in unquote(urlsplit(self._url).path).split("/") if part]
        named = parts[-2:-1] if parts and parts[-1].lower() == "skill.md" else parts[-1:]
        return (slugify(named[0].partition(".")[0]) if named else "") or "skill"

    def _told(self, one: Resolved) -> Resolved:
        """What was found in the copy, as it is to be known."""
        assert self._came is not None
        origin = Origin("archive", self._url, path=one.origin.path)
        message = f"Nobody vouches for {self._url[:200]}: what comes cannot be checked against anything"
        notes = (*one.notes, Diagnostic("source-unverified", "warning", message))
        return structs.replace(one, origin=origin, url=self._url, archive=self._came.sha256, notes=notes)
