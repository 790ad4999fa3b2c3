"""Skills from git repositories: a branch, a tag or a commit becomes one commit, and its files come from there or not at
all. A repository may be a stranger's: nothing of it is checked out, and nothing in it decides what git does.
"""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import anyio.to_thread
from msgspec import structs

from clawft.config.tools import WebSettings
from clawft.discovery.digest import compute_digest
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.locks.model import Origin
from clawft.packing.limits import SKILL, Limits
from clawft.packing.place import remove_tree
from clawft.programs import Launcher
from clawft.sources.address import is_commit, read_git_url, read_path, read_ref
from clawft.sources.git_objects import Entry, Objects
from clawft.sources.git_place import Layout, is_file, list_files
from clawft.sources.git_program import open_git
from clawft.sources.git_refs import Found, find_ref
from clawft.sources.model import Reference, Resolved, Version
from clawft.sources.repository import MAX_DOCUMENT_BYTES, Held, find_skills, list_documents

__all__ = ["GitRepository"]

_DOCUMENTS = 32 << 20  # bytes of all files that tell which skills there are
_AHEAD = 500  # files of skills that are fetched before they are asked for
_TOGETHER = 5_000  # files of several skills that are fetched at once
_PREFIX = "clawft-git-"  # of the folder that objects are fetched into
_LEFT_S = 86_400
_PAGES = ("/tree/", "/blob/")


class GitRepository:
    """One repository. To be closed by who opened it: what was fetched is thrown away then."""

    def __init__(
        self, url: str, settings: WebSettings, launcher: Launcher, *, typed: bool, limits: Limits = SKILL
    ) -> None:
        """`typed`: a person named it, so it may be on this machine or a private network. Raises: ClawftError."""
        self._url = read_git_url(url)
        self._open = partial(open_git, self._url, settings, launcher, typed=typed)
        self._limits = limits
        self._objects: Objects | None = None
        self._trees: dict[str, list[Entry]] = {}
        self._refs: dict[tuple[str, ...], Found] = {}
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

    async def resolve(self, reference: Reference) -> tuple[Resolved, ...]:
        """The skills of one commit. Raises: ClawftError."""
        async with self._turn:
            found, path = await self._find(reference)
            origin = Origin("git", self._url, ref=found.asked, path=path)
            held = await self._hold(found, path, reference.skill)
            if len(held) > 1:
                self._expected.setdefault(found.commit, set()).update(one.path for one in held)
        return tuple(_resolved(origin, one, found.commit) for one in held)

    async def renew(self, installed: Version, *, exact: bool = False) -> Resolved:
        """The same skill at the newest commit of its branch, if it changed by then; `exact`: at the commit that was
        installed, with the same digest. Raises: ClawftError; Refused."""
        path, ref = read_path(installed.origin.path), read_ref(installed.origin.ref) if installed.origin.ref else ""
        if exact and not is_commit(installed.commit):
            raise Refused("source-changed", f"The lock has no commit for {self._url}", hint="Run: weft skills update")
        async with self._turn:
            locked = Found(ref, installed.commit)
            found = locked if exact else await self._find_change(locked, path)
            held = await self._hold(found, path, "", ahead=True)
            here = next((one for one in held if one.path == path), None)
            if here is None:
                raise NotFound("source-path", f"There is no skill at '{path}' any more", path=self._url)
            if exact and installed.digest:
                await self._check(found, path, installed.digest)
            elif found.commit != installed.commit:
                self._expected.setdefault(found.commit, set()).add(path)
        return _resolved(Origin("git", self._url, ref=ref, path=path), here, found.commit)

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        """The files of the skill at its commit, into an empty folder. Raises: ClawftError; Refused."""
        found = Found(resolved.origin.ref, resolved.commit)
        async with self._turn:
            pointers = await self._take(found, read_path(resolved.origin.path), folder)
        notes = tuple(_tell_pointer(path) for path in pointers)
        return structs.replace(resolved, notes=(*resolved.notes, *notes))

    async def take(self, reference: Reference, folder: str) -> str:
        """All files of a folder of the repository, skill or not, into an empty folder; their commit.

        Raises: ClawftError; Refused.
        """
        async with self._turn:
            found, path = await self._find(reference)
            await self._take(found, path, folder)
        return found.commit

    async def _find(self, reference: Reference) -> tuple[Found, str]:
        """Which commit is meant, and which folder in it."""
        ref, path = reference.ref, reference.path
        if not ref or not path or is_commit(ref) or not any(one in reference.text for one in _PAGES):
            return await self._find_ref(ref), path
        # The address of a page does not tell where the name of the branch ends and the path begins.
        parts = path.split("/")
        asked = ["/".join([ref, *parts[:number]]) for number in range(len(parts) + 1)]
        found = await self._find_ref(*asked)
        return found, "/".join(parts[found.asked.count("/") - ref.count("/") :])

    async def _find_ref(self, *asked: str) -> Found:
        """What a name means, asked once: two skills of one branch are of one commit."""
        if asked not in self._refs:
            self._refs[asked] = await find_ref(await self._start(), asked)
        return self._refs[asked]

    async def _find_change(self, locked: Found, path: str) -> Found:
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

    async def _hold(self, found: Found, path: str, skill: str, *, ahead: bool = False) -> tuple[Held, ...]:
        """The skills in a folder of a commit. `ahead`: those of other folders are likely to be asked for next."""
        entries = await self._tree(found)
        objects = await self._start()
        files = {one.path: one.oid for one in entries if is_file(one)}
        try:
            documents = list_documents(files, path, skill)
            others = [one for one in files if ahead and one.endswith("/SKILL.md")]
            if len(others) <= _AHEAD:
                await objects.have([files[one] for one in (*documents, *others)])
            contents = dict(await objects.read([files[one] for one in documents], _DOCUMENTS, MAX_DOCUMENT_BYTES))
            return find_skills(
                {one: contents[files[one]] or b"" for one in documents}, path, skill, _name_of(self._url)
            )
        except NotFound as error:
            raise _with_submodules(error, entries, self._url) from error

    async def _take(self, found: Found, path: str, folder: str) -> list[str]:
        """Put the files of a folder into another; those that are pointers to what is kept elsewhere."""
        entries = await self._tree(found)
        layout = Layout(list_files(entries, path, self._url), folder, self._url, self._limits)
        objects = await self._start()
        together = _within(entries, self._expected.pop(found.commit, set()))
        if len(together) <= _TOGETHER:
            await objects.have([*layout.wanted, *together])
        contents = await objects.read(layout.wanted, self._limits.max_bytes, self._limits.max_file_bytes)
        return await anyio.to_thread.run_sync(layout.write, contents)

    async def _tree(self, found: Found, *, whole: bool = True) -> list[Entry]:
        if found.commit not in self._trees:
            objects = await self._start()
            await objects.fetch(found.commit, found.ref, whole=whole)
            self._trees[found.commit] = await objects.list_tree(found.commit, found.ref)
        return self._trees[found.commit]

    async def _check(self, found: Found, path: str, digest: str) -> None:
        with tempfile.TemporaryDirectory() as place:
            await self._take(found, path, place)
            if compute_digest(place).value != digest:
                message = f"'{path}' at {found.commit[:12]} is not what the lock has"
                raise Refused("source-changed", message, path=self._url, hint="Run: weft skills verify")

    async def _start(self) -> Objects:
        if self._objects is None:
            git = await self._open()
            await anyio.to_thread.run_sync(_sweep)
            self._folder = tempfile.mkdtemp(prefix=_PREFIX)
            self._clear = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._objects = Objects(git, self._folder)
        return self._objects


def _sweep() -> None:
    """Remove what processes left behind that were killed."""
    with os.scandir(tempfile.gettempdir()) as entries:
        for one in entries:
            if not one.name.startswith(_PREFIX) or not one.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError):
                status = one.stat(follow_symlinks=False)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _LEFT_S:
                    remove_tree(one.path)


def _resolved(origin: Origin, held: Held, commit: str) -> Resolved:
    return Resolved(
        structs.replace(origin, path=held.path),
        held.name,
        version=held.version,
        commit=commit,
        url=origin.url,
        description=held.description,
        notes=held.notes,
    )


def _below(entries: list[Entry], path: str) -> list[Entry]:
    return [one for one in entries if not path or one.path.startswith(f"{path}/")]


def _within(entries: list[Entry], folders: set[str]) -> list[str]:
    """The objects of the files in any of some folders."""
    return [one.oid for one in entries if folders and is_file(one) and not folders.isdisjoint(_above(one.path))]


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _name_of(url: str) -> str:
    return url.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")


def _tell_pointer(path: str) -> Diagnostic:
    hint = "Install it from an archive that has the file"
    return Diagnostic("git-lfs", "warning", f"'{path}' is kept elsewhere (Git LFS); only a pointer came", hint=hint)


def _with_submodules(error: NotFound, entries: list[Entry], url: str) -> ClawftError:
    said = error.diagnostic
    links = [one.path for one in entries if one.mode == "160000"]
    more = f". Submodules are not followed: {', '.join(links[:5])}" if links else ""
    return NotFound(said.code, said.message, path=url, hint=f"{said.hint}{more}")
