"""Archives by their address: download, unpack and check them."""

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import IO
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
from msgspec import structs

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import remove_tree
from clawft.install.archive.unpack import unpack_open
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.http import DownloadedFile, SourceConnection
from clawft.install.sources.local import LocalSource, find_top, move_up
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference, SourceFile
from clawft.skills.parse.model import LEFT_OUT, slugify

_SMALL = 256 << 10  # bytes: what is unpacked sooner than a thread is woken
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


async def download_archive(fetching: SourceConnection, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
    """Download the archive of a version and unpack it into an empty folder. Raises: ClawftError; Refused."""
    with SpooledTemporaryFile(_SMALL, dir=folder) as archive:  # what is small never is a file
        came = await fetching.download_to(resolved.url, archive)
        if resolved.archive and came.sha256 != resolved.archive:
            raise make_source_changed_error(resolved.name, "The archive is not the one whose digest the source gave")
        try:
            if came.size <= _SMALL:
                left_out = _unpack(archive, came.url, folder)
            else:
                left_out = await anyio.to_thread.run_sync(_unpack, archive, came.url, folder)
        except ClawftError as error:
            diagnostic = error.diagnostic
            raise type(error)(
                diagnostic.code, f"{resolved.name}: {diagnostic.message}", path=came.url, hint=diagnostic.hint
            ) from error
    notes = resolved.notes
    if left_out:
        shown = ", ".join(left_out[:3]) + (", …" if len(left_out) > 3 else "")
        message = f"{resolved.name}: no part of a skill, so left out: {shown}"
        notes = (*notes, Diagnostic("archive-left-out", "note", message))
    return structs.replace(resolved, archive=came.sha256, notes=notes)


async def download_skill_archive(fetching: SourceConnection, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
    """Download an archive that must be just the skill. Raises: ClawftError; Refused."""
    came = await download_archive(fetching, resolved, folder)
    if not has_document(folder):
        raise make_source_changed_error(resolved.name, "The archive has no SKILL.md at its top")
    return came


def _unpack(archive: IO[bytes], url: str, folder: str) -> tuple[str, ...]:
    """Unpack an archive into a folder, and return the paths that were left out. Raises: ClawftError, OSError."""
    unpacked = unpack_open(archive, url, folder)
    lift_top(folder)
    return unpacked.left_out


def has_document(folder: str) -> bool:
    """Return whether a skill's file stands right in a folder."""
    return any(name.lower() == "skill.md" for name in os.listdir(folder))


def lift_top(folder: str) -> None:
    """Move the content of a folder's only subfolder up where that is a skill, as in a `.skill` archive. Raises:
    OSError."""
    only = find_top(folder)
    if only != folder and has_document(only):
        top = os.path.join(folder, f".top-{os.urandom(8).hex()}")
        os.rename(only, top)
        move_up(top, folder)
        os.rmdir(top)


def hash_files(folder: str) -> dict[str, SourceFile]:
    """Every file below a folder, by its path. Raises: OSError."""
    return {file.path: file for file in _hash_below(folder, "")}


def _hash_below(folder: str, prefix: str) -> Iterator[SourceFile]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda one: one.name)
    for entry in listed:
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _hash_below(entry.path, f"{path}/")
        else:
            with open(os.open(entry.path, _READ), "rb") as file:
                content = hashlib.file_digest(file, "sha256")
                yield SourceFile(path, file.tell(), content.hexdigest())


def check_files(name: str, came: dict[str, SourceFile], expected: Iterable[SourceFile]) -> None:
    """Raises: Refused for a file that the source did not list, one that is missing, and one that is another."""
    # What `unpack` leaves out is not missed.
    parts = ((file, file.path.lower().split("/")) for file in expected)
    listed = {file.path: file for file, at in parts if at[0] != "__macosx" and LEFT_OUT.isdisjoint(at)}
    for path in sorted(came.keys() | listed.keys()):
        if path not in listed:
            raise make_source_changed_error(name, f"'{path[:80]}' came, and the source does not list it")
        if path not in came:
            raise make_source_changed_error(name, f"'{path[:80]}' is listed by the source, and did not come")
        if came[path] != listed[path]:
            raise make_source_changed_error(name, f"'{path[:80]}' is not what the source says it is")


def clear_folder(folder: str) -> None:
    """Leave nothing of what must not be used. Raises: OSError."""
    for name in os.listdir(folder):
        place = os.path.join(folder, name)
        if os.path.isdir(place) and not os.path.islink(place):
            remove_tree(place)
        else:
            os.unlink(place)


def make_source_changed_error(name: str, why: str) -> Refused:
    """Build the error for a download that differs from what was resolved."""
    return Refused("source-changed", f"{name}: {why}", hint="Try again; if it stays so, do not trust this source")


class RemoteArchive:
    """One address. What came from it is kept until this is closed."""

    def __init__(self, url: str, fetching: SourceConnection) -> None:
        self._url = url
        self._fetching = fetching
        self._local = LocalSource()
        self._folder = ""
        self._came: DownloadedFile | None = None
        self._fetching_it = anyio.Lock()

    async def aclose(self) -> None:
        await self._fetching.aclose()
        if self._folder:
            remove_tree(self._folder)
            self._folder, self._came = "", None

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """The skill, or the skills, in it. Raises: ClawftError; Refused."""
        async with self._fetched() as here:
            asked = structs.replace(reference, kind=here.kind, url=here.url)
            return tuple(self._report(skill) for skill in await self._local.resolve(asked))

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        async with self._fetched() as here:
            local = structs.replace(here, path=installed.origin.path)
            return self._report(await self._local.renew(structs.replace(installed, origin=local), exact=exact))

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        async with self._fetched() as here:
            if self._came is None or self._came.sha256 != resolved.archive:
                raise make_source_changed_error(resolved.name, "The archive is another one by now")
            local = structs.replace(here, path=resolved.origin.path)
            await self._local.download(structs.replace(resolved, origin=local, archive=""), folder)
        return resolved

    @asynccontextmanager
    async def _fetched(self) -> AsyncIterator[SkillOrigin]:
        """Fetch the file once, and yield the origin of its copy on this machine. Errors name the address. Raises:
        ClawftError."""
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
            yield SkillOrigin("folder" if single else "archive", place)
        except ClawftError as error:
            diagnostic = error.diagnostic
            if not diagnostic.path.startswith(self._folder):
                raise
            raise type(error)(diagnostic.code, diagnostic.message, path=self._url, hint=diagnostic.hint) from error

    def _name(self) -> str:
        """Return the name of the archive, or of the folder that a SKILL.md is in."""
        parts = [part for part in unquote(urlsplit(self._url).path).split("/") if part]
        named = parts[-2:-1] if parts and parts[-1].lower() == "skill.md" else parts[-1:]
        return (slugify(named[0].partition(".")[0]) if named else "") or "skill"

    def _report(self, one: ResolvedSkill) -> ResolvedSkill:
        """Return a skill found in the copy with the archive's address, its hash and a warning that it cannot be
        verified."""
        assert self._came is not None
        origin = SkillOrigin("archive", self._url, path=one.origin.path)
        message = f"Nobody vouches for {self._url[:200]}: what comes cannot be checked against anything"
        notes = (*one.notes, Diagnostic("source-unverified", "warning", message))
        return structs.replace(one, origin=origin, url=self._url, archive=self._came.sha256, notes=notes)
