"""Skills from git repositories, and all files of a repository or archive."""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import anyio.to_thread
from msgspec import Struct, structs

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.files import remove_tree
from clawft.install.archive.target import SKILL, ArchiveLimits
from clawft.install.archive.unpack import unpack
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.address import is_commit, read_git_url, read_path, read_ref
from clawft.install.sources.git_objects import (
    GitLayout,
    GitObjects,
    GitRef,
    GitTreeEntry,
    find_ref,
    is_file,
    list_files,
)
from clawft.install.sources.git_program import open_git
from clawft.install.sources.http import SourceConnection
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.install.sources.repository import MAX_DOCUMENT_BYTES, RepositorySkill, find_skills, list_documents
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.programs import HostPrograms

_DOCUMENTS = 32 << 20  # bytes of all files that tell which skills there are
_AHEAD = 500  # files of skills that are fetched before they are asked for
_TOGETHER = 5_000  # files of several skills that are fetched at once
_PREFIX = "clawft-git-"  # of the folder that objects are fetched into
_LEFT_S = 86_400
_PAGES = ("/tree/", "/blob/")


class GitRepository:
    """One repository. To be closed by who opened it: what was fetched is thrown away then."""

    def __init__(
        self,
        url: str,
        settings: WebSettings,
        host_programs: HostPrograms,
        *,
        typed: bool,
        limits: ArchiveLimits = SKILL,
    ) -> None:
        """`typed`: a person named it, so it may be on this machine or a private network. Raises: ClawftError."""
        self._url = read_git_url(url)
        self._open = partial(open_git, self._url, settings, host_programs, typed=typed)
        self._limits = limits
        self._objects: GitObjects | None = None
        self._trees: dict[str, list[GitTreeEntry]] = {}
        self._refs: dict[tuple[str, ...], GitRef] = {}
        self._expected: dict[str, set[str]] = {}  # folders of a commit that are likely to be downloaded, all of them
        self._turn = anyio.Lock()  # of those who want something of it at once
        self._folder = ""
        self._clear = lambda: None

    async def aclose(self) -> None:
        """Throw away what was fetched."""
        self._objects = None
        self._trees.clear()
        self._refs.clear()
        self._expected.clear()
        await anyio.to_thread.run_sync(self._clear)

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """The skills of one commit. Raises: ClawftError."""
        async with self._turn:
            found, path = await self._find(reference)
            origin = SkillOrigin("git", self._url, ref=found.asked, path=path)
            held = await self._hold(found, path, reference.skill)
            if len(held) > 1:
                self._expected.setdefault(found.commit, set()).update(skill.path for skill in held)
        return tuple(_resolved(origin, skill, found.commit) for skill in held)

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        """The same skill at the newest commit of its branch, if it changed by then; `exact`: at the commit that was
        installed, with the same digest. Raises: ClawftError; Refused."""
        path, ref = read_path(installed.origin.path), read_ref(installed.origin.ref) if installed.origin.ref else ""
        if exact and not is_commit(installed.commit):
            raise Refused("source-changed", f"The lock has no commit for {self._url}", hint="Run: weft skills update")
        async with self._turn:
            locked = GitRef(ref, installed.commit)
            found = locked if exact else await self._find_change(locked, path)
            held = await self._hold(found, path, "", ahead=True)
            here = next((skill for skill in held if skill.path == path), None)
            if here is None:
                raise NotFound("source-path", f"There is no skill at '{path}' any more", path=self._url)
            if exact and installed.digest:
                await self._check(found, path, installed.digest)
            elif found.commit != installed.commit:
                self._expected.setdefault(found.commit, set()).add(path)
        return _resolved(SkillOrigin("git", self._url, ref=ref, path=path), here, found.commit)

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        """The files of the skill at its commit, into an empty folder. Raises: ClawftError; Refused."""
        found = GitRef(resolved.origin.ref, resolved.commit)
        async with self._turn:
            pointers = await self._take(found, read_path(resolved.origin.path), folder)
        hint = "Install it from an archive that has the file"
        notes = [
            Diagnostic("git-lfs", "warning", f"'{path}' is kept elsewhere (Git LFS); only a pointer came", hint=hint)
            for path in pointers
        ]
        return structs.replace(resolved, notes=(*resolved.notes, *notes))

    async def take(self, reference: SkillReference, folder: str) -> str:
        """All files of a folder of the repository, skill or not, into an empty folder; their commit.

        Raises: ClawftError; Refused.
        """
        async with self._turn:
            found, path = await self._find(reference)
            await self._take(found, path, folder)
        return found.commit

    async def _find(self, reference: SkillReference) -> tuple[GitRef, str]:
        """Find the commit that is meant, and the folder in it."""
        ref, path = reference.ref, reference.path
        if not ref or not path or is_commit(ref) or not any(page in reference.text for page in _PAGES):
            return await self._find_ref(ref), path
        # The address of a page does not tell where the name of the branch ends and the path begins.
        parts = path.split("/")
        asked = ["/".join([ref, *parts[:number]]) for number in range(len(parts) + 1)]
        found = await self._find_ref(*asked)
        return found, "/".join(parts[found.asked.count("/") - ref.count("/") :])

    async def _find_ref(self, *asked: str) -> GitRef:
        """Find the commit that a name means, asked once: two skills of one branch share one commit."""
        if asked not in self._refs:
            self._refs[asked] = await find_ref(await self._start(), asked)
        return self._refs[asked]

    async def _find_change(self, locked: GitRef, path: str) -> GitRef:
        """The newest commit of a branch; the one that was installed if all files of the skill are the same in both."""
        newest = await self._find_ref(locked.asked)
        if newest.commit == locked.commit or not is_commit(locked.commit):
            return newest
        now = _below(await self._tree(newest), path)
        try:
            before = _below(await self._tree(locked, whole=False), path)
        except ClawftError:  # it is gone from there, or not given by its name
            return newest
        return locked if now == before else newest

    async def _hold(self, found: GitRef, path: str, skill: str, *, ahead: bool = False) -> tuple[RepositorySkill, ...]:
        """The skills in a folder of a commit. `ahead`: those of other folders are likely to be asked for next."""
        entries = await self._tree(found)
        objects = await self._start()
        files = {entry.path: entry.oid for entry in entries if is_file(entry)}
        try:
            documents = list_documents(files, path, skill)
            others = [file for file in files if ahead and file.endswith("/SKILL.md")]
            if len(others) <= _AHEAD:
                await objects.have([files[document] for document in (*documents, *others)])
            contents = dict(
                await objects.read([files[document] for document in documents], _DOCUMENTS, MAX_DOCUMENT_BYTES)
            )
            called = self._url.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
            known = {document: contents[files[document]] or b"" for document in documents}
            return find_skills(known, path, skill, called)
        except NotFound as error:
            links = [entry.path for entry in entries if entry.mode == "160000"]
            more = f". Submodules are not followed: {', '.join(links[:5])}" if links else ""
            raise NotFound(error.code, str(error), path=self._url, hint=f"{error.hint}{more}") from error

    async def _take(self, found: GitRef, path: str, folder: str) -> list[str]:
        """Put the files of a folder into another; those that are pointers to what is kept elsewhere."""
        entries = await self._tree(found)
        layout = GitLayout(list_files(entries, path, self._url), folder, self._url, self._limits)
        objects = await self._start()
        together = _within(entries, self._expected.pop(found.commit, set()))
        if len(together) <= _TOGETHER:
            await objects.have([*layout.wanted, *together])
        contents = await objects.read(layout.wanted, self._limits.max_bytes, self._limits.max_file_bytes)
        return await anyio.to_thread.run_sync(layout.write, contents)

    async def _tree(self, found: GitRef, *, whole: bool = True) -> list[GitTreeEntry]:
        if found.commit not in self._trees:
            objects = await self._start()
            await objects.fetch(found.commit, found.ref, whole=whole)
            self._trees[found.commit] = await objects.list_tree(found.commit, found.ref)
        return self._trees[found.commit]

    async def _check(self, found: GitRef, path: str, digest: str) -> None:
        with tempfile.TemporaryDirectory() as place:
            await self._take(found, path, place)
            if compute_digest(place).value != digest:
                message = f"'{path}' at {found.commit[:12]} is not what the lock has"
                raise Refused("source-changed", message, path=self._url, hint="Run: weft skills verify")

    async def _start(self) -> GitObjects:
        if self._objects is None:
            git = await self._open()
            await anyio.to_thread.run_sync(_sweep)
            self._folder = tempfile.mkdtemp(prefix=_PREFIX)
            self._clear = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._objects = GitObjects(structs.replace(git, folder=self._folder))
        return self._objects


def _sweep() -> None:
    """Remove what processes left behind that were killed."""
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _LEFT_S:
                    remove_tree(entry.path)


def _resolved(origin: SkillOrigin, held: RepositorySkill, commit: str) -> ResolvedSkill:
    return ResolvedSkill(
        structs.replace(origin, path=held.path),
        held.name,
        version=held.version,
        commit=commit,
        url=origin.url,
        description=held.description,
        notes=held.notes,
    )


def _below(entries: list[GitTreeEntry], path: str) -> list[GitTreeEntry]:
    return [entry for entry in entries if not path or entry.path.startswith(f"{path}/")]


def _within(entries: list[GitTreeEntry], folders: set[str]) -> list[str]:
    """The objects of the files in any of some folders."""
    return [entry.oid for entry in entries if folders and is_file(entry) and not folders.isdisjoint(_above(entry.path))]


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


class FetchedTree(Struct, frozen=True):
    """The result of a fetch: its commit, or the sha256 of its archive."""

    url: str
    commit: str = ""
    archive: str = ""


async def fetch_whole(
    reference: SkillReference, folder: str, limits: ArchiveLimits, settings: WebSettings, host_programs: HostPrograms
) -> FetchedTree:
    """Put all files of a repository or an archive that a person named into an empty folder.

    Raises: ClawftError; Refused for what is unsafe.
    """
    if reference.kind == "git":
        repository = GitRepository(reference.url, settings, host_programs, typed=True, limits=limits)
        try:
            return FetchedTree(reference.url, commit=await repository.take(reference, folder))
        finally:
            await repository.aclose()
    if reference.kind == "archive":
        return await _fetch_archive(reference.url, folder, limits, settings)
    raise ClawftError("source-kind", f"{reference.text[:80]!a} is no repository and no archive")


async def _fetch_archive(url: str, folder: str, limits: ArchiveLimits, settings: WebSettings) -> FetchedTree:
    fetching = SourceConnection(url, settings)
    archive = os.path.join(folder, f".archive-{os.urandom(8).hex()}")
    try:
        came = await fetching.download(url, archive, max_bytes=limits.max_bytes)
        await anyio.to_thread.run_sync(unpack, archive, folder, limits)
    except ClawftError as error:
        if error.diagnostic.path == archive:
            error.diagnostic = structs.replace(error.diagnostic, path=url)  # what the user knows
        raise
    finally:
        await fetching.aclose()
        with suppress(FileNotFoundError):
            os.unlink(archive)
    return FetchedTree(url, archive=came.sha256)
