"""One commit of a repository: fetched without its history and, where the server can do that, without the files that
nobody asked for. Files are read from the objects; nothing is ever checked out.
"""

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clawft.errors import ClawftError, NotFound, Refused
from clawft.sources.git_program import Git, Room, check_version

__all__ = ["Entry", "Objects"]

MAX_PACK = 512 << 20  # bytes of what comes, packed
MAX_LISTING = 64 << 20
MAX_REFS = 8 << 20
REFS_KB = 1 << 20  # of memory: git keeps all names that a server sends, before it leaves out those nobody asked for
MAX_ENTRIES = 400_000
_FETCH = ("fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--quiet")
_HEAD = "ref: refs/heads/none\n"
_CONFIG = "[core]\nrepositoryformatversion = 0\nbare = true\n"
_CONFIG_SHA256 = "[core]\nrepositoryformatversion = 1\nbare = true\n[extensions]\nobjectFormat = sha256\n"
_UNFILTERED = b"filtering not recognized"
# What servers say that give only what a branch or a tag points to, or know nothing of shallow or partial fetches.
_REFUSED = (b"not our ref", b"unadvertised object", b"dumb http", b"shallow", b"no such remote ref", b"find remote ref")


class Entry(Struct, frozen=True):
    """One line of a tree."""

    mode: str
    oid: str
    path: str


class Objects:
    """The objects of one repository, in a folder that is thrown away."""

    def __init__(self, git: Git, folder: str) -> None:
        self._git = git
        self._folder = folder
        self._partial = False
        self._known: set[str] = set()
        self._checked = False
        self._commit = ""

    @property
    def url(self) -> str:
        return self._git.url

    def _room(self, max_bytes: int | None = None) -> Room:
        return Room(self._folder, max_bytes or MAX_LISTING)

    async def list_refs(self, patterns: Sequence[str]) -> list[tuple[str, str]]:
        """Names of refs with what they point to; a symbolic one points to `ref: NAME`. Raises: ClawftError."""
        await self._check()
        room = Room(self._folder, MAX_REFS, REFS_KB)
        out = await self._git.need(room, ["ls-remote", "--symref", "--", self.url, *patterns])
        lines = (line.split("\t", 1) for line in _take(out).decode("utf-8", errors="replace").splitlines())
        return [(parts[1], parts[0]) for parts in lines if len(parts) == 2]

    async def fetch(self, commit: str, ref: str, *, whole: bool = True) -> None:
        """The tree of a commit. `ref`: where it was found, for servers that give nothing else; `whole`: from those take
        all that there is. Raises: ClawftError."""
        await self._start(commit)
        room = self._room(MAX_PACK)
        done, _ = await self._git.run(room, [*_FETCH, "--depth=1", "--filter=blob:none", "--", self.url, commit])
        self._partial |= not done.code and _UNFILTERED not in done.output
        if done.code:
            if not whole or not any(sign in done.output for sign in _REFUSED):
                raise self._git.explain(done.output)
            await self._fetch_whole(ref)

    async def _fetch_whole(self, ref: str) -> None:
        """From a server that gives only what its refs point to, and maybe only all of that. Raises: ClawftError."""
        room = self._room(MAX_PACK)
        wanted = [ref] if ref else ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
        depth = ["--depth=1"] if ref else []
        done, _ = await self._git.run(room, [*_FETCH, *depth, "--", self.url, *wanted])
        if done.code and depth:
            done, _ = await self._git.run(room, [*_FETCH, "--", self.url, *wanted])
        if done.code:
            raise self._git.explain(done.output)

    async def list_tree(self, commit: str, ref: str) -> list[Entry]:
        """Every file of a commit that was fetched, links and submodules among them. Raises: ClawftError."""
        done, out = await self._git.run(self._room(), ["ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{commit}}"])
        if done.code and ref:
            hint = "Try again; a commit can be named instead of a branch"
            raise Refused("source-changed", "The branch moved while it was fetched", path=self.url, hint=hint)
        if done.code:
            raise NotFound("git-ref", f"There is no commit {commit[:12]} that the server gives", path=self.url)
        lines = _take(out).split(b"\0")
        if len(lines) > MAX_ENTRIES:
            raise ClawftError("source-too-many", f"The repository has more than {MAX_ENTRIES} files", path=self.url)
        entries = []
        for line in lines:
            if line:
                head, _, path = line.partition(b"\t")
                mode, _, oid = head.decode("ascii").split(" ")
                entries.append(Entry(mode, oid, path.decode("utf-8", errors="surrogateescape")))
        return entries

    async def have(self, oids: Sequence[str]) -> None:
        """Fetch files that did not come with the tree. Raises: ClawftError."""
        missing = [oid for oid in oids if oid not in self._known]
        if not self._partial or not missing:
            return
        room = self._room(MAX_PACK)
        names = "".join(f"{oid}\n" for oid in missing).encode()
        wanted = [*_FETCH, "--depth=1", "--filter=blob:none", "--stdin", "--", self.url]
        done, _ = await self._git.run(room, wanted, names)
        if done.code:  # it leaves files out, and gives none by name
            await self._git.need(room, [*_FETCH, "--refetch", "--depth=1", "--", self.url, self._commit])
            self._partial = False
        self._known.update(missing)

    async def read(self, oids: Sequence[str], max_bytes: int, max_each: int) -> Iterator[tuple[str, bytes | None]]:
        """Files by their name among the objects, in order, each once; None for one that is longer than `max_each`.

        Raises: ClawftError; Refused where they come to more than `max_bytes`.
        """
        wanted = list(dict.fromkeys(oids))
        await self.have(wanted)
        names = "".join(f"{oid}\n" for oid in wanted).encode()
        room = self._room(max_bytes + 200 * len(wanted) + 4096)
        return self._split(await self._git.need(room, ["cat-file", "--batch", "--buffer"], names), max_each)

    def _split(self, path: str, max_each: int) -> Iterator[tuple[str, bytes | None]]:
        """The files in what `cat-file --batch` wrote, one after the other."""
        with open(path, "rb") as file:
            os.unlink(path)
            while head := file.readline(200):
                oid, kind, *size = head.decode("ascii").split()
                if kind != "blob":
                    raise ClawftError("git-failed", "The server did not give all files of the commit", path=self.url)
                length = int(size[0])
                yield oid, file.read(length) if length <= max_each else None
                file.seek(1 if length <= max_each else length + 1, os.SEEK_CUR)

    async def _check(self) -> None:
        if not self._checked:
            await check_version(self._git, self._room())
            self._checked = True

    async def _start(self, commit: str) -> None:
        """An empty repository: what git makes of one, and nothing of a template. Raises: ClawftError, OSError."""
        await self._check()
        if not self._commit:
            for name in ("objects", "refs"):
                os.mkdir(os.path.join(self._folder, name), 0o700)
            for name, text in {"HEAD": _HEAD, "config": _CONFIG if len(commit) == 40 else _CONFIG_SHA256}.items():
                with open(os.path.join(self._folder, name), "x", encoding="ascii") as file:
                    file.write(text)
        self._commit = commit


def _take(path: str) -> bytes:
    """What git wrote; the file is gone then."""
    with open(path, "rb") as file:
        os.unlink(path)
        return file.read()
