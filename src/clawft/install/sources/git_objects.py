"""Objects of a git repository: resolve a ref, fetch one commit, and write the files of a skill."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.archive.target import ArchiveLimits, UnpackTarget, refuse
from clawft.install.sources.address import is_commit
from clawft.install.sources.git_program import Git, check_version

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


class GitTreeEntry(Struct, frozen=True):
    """One line of a tree."""

    mode: str
    oid: str
    path: str


class GitObjects:
    """The objects of one repository, in a folder that is thrown away."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._partial = False
        self._known: set[str] = set()
        self._checked = False
        self._commit = ""

    @property
    def url(self) -> str:
        return self._git.url

    async def list_refs(self, patterns: Sequence[str]) -> list[tuple[str, str]]:
        """Names of refs with what they point to; a symbolic one points to `ref: NAME`. Raises: ClawftError."""
        await self._check()
        words = ["ls-remote", "--symref", "--", self.url, *patterns]
        out = await self._git.need(words, max_bytes=MAX_REFS, max_kb=REFS_KB)
        lines = (line.split("\t", 1) for line in _take(out).decode("utf-8", errors="replace").splitlines())
        return [(parts[1], parts[0]) for parts in lines if len(parts) == 2]

    async def fetch(self, commit: str, ref: str, *, whole: bool = True) -> None:
        """The tree of a commit. `ref`: where it was found, for servers that give nothing else; `whole`: from those take
        all that there is. Raises: ClawftError."""
        await self._start(commit)
        words = [*_FETCH, "--depth=1", "--filter=blob:none", "--", self.url, commit]
        done, _ = await self._git.run(words, max_bytes=MAX_PACK)
        self._partial |= not done.code and _UNFILTERED not in done.output
        if done.code:
            if not whole or not any(sign in done.output for sign in _REFUSED):
                raise self._git.explain(done.output)
            await self._fetch_whole(ref)

    async def _fetch_whole(self, ref: str) -> None:
        """From a server that gives only what its refs point to, and maybe only all of that. Raises: ClawftError."""
        wanted = [ref] if ref else ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
        depth = ["--depth=1"] if ref else []
        done, _ = await self._git.run([*_FETCH, *depth, "--", self.url, *wanted], max_bytes=MAX_PACK)
        if done.code and depth:
            done, _ = await self._git.run([*_FETCH, "--", self.url, *wanted], max_bytes=MAX_PACK)
        if done.code:
            raise self._git.explain(done.output)

    async def list_tree(self, commit: str, ref: str) -> list[GitTreeEntry]:
        """Every file of a commit that was fetched, links and submodules among them. Raises: ClawftError."""
        words = ["ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{commit}}"]
        done, out = await self._git.run(words, max_bytes=MAX_LISTING)
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
                entries.append(GitTreeEntry(mode, oid, path.decode("utf-8", errors="surrogateescape")))
        return entries

    async def have(self, oids: Sequence[str]) -> None:
        """Fetch files that did not come with the tree. Raises: ClawftError."""
        missing = [oid for oid in oids if oid not in self._known]
        if not self._partial or not missing:
            return
        names = "".join(f"{oid}\n" for oid in missing).encode()
        wanted = [*_FETCH, "--depth=1", "--filter=blob:none", "--stdin", "--", self.url]
        done, _ = await self._git.run(wanted, names, max_bytes=MAX_PACK)
        if done.code:  # it leaves files out, and gives none by name
            words = [*_FETCH, "--refetch", "--depth=1", "--", self.url, self._commit]
            await self._git.need(words, max_bytes=MAX_PACK)
            self._partial = False
        self._known.update(missing)

    async def read(self, oids: Sequence[str], max_bytes: int, max_each: int) -> Iterator[tuple[str, bytes | None]]:
        """Files by their name among the objects, in order, each once; None for one that is longer than `max_each`.

        Raises: ClawftError; Refused where they come to more than `max_bytes`.
        """
        wanted = list(dict.fromkeys(oids))
        await self.have(wanted)
        names = "".join(f"{oid}\n" for oid in wanted).encode()
        room = max_bytes + 200 * len(wanted) + 4096
        words = ["cat-file", "--batch", "--buffer"]
        return self._split(await self._git.need(words, names, max_bytes=room), max_each)

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
            await check_version(self._git)
            self._checked = True

    async def _start(self, commit: str) -> None:
        """An empty repository: what git makes of one, and nothing of a template. Raises: ClawftError, OSError."""
        await self._check()
        if not self._commit:
            for name in ("objects", "refs"):
                os.mkdir(os.path.join(self._git.folder, name), 0o700)
            for name, text in {"HEAD": _HEAD, "config": _CONFIG if len(commit) == 40 else _CONFIG_SHA256}.items():
                with open(os.path.join(self._git.folder, name), "x", encoding="ascii") as file:
                    file.write(text)
        self._commit = commit


def _take(path: str) -> bytes:
    """Read what git wrote, and remove the file."""
    with open(path, "rb") as file:
        os.unlink(path)
        return file.read()


class GitRef(Struct, frozen=True):
    """A commit, what was asked for, and the ref of the server that points to it; '' where a commit was asked for."""

    asked: str
    commit: str
    ref: str = ""


async def find_ref(objects: GitObjects, asked: Sequence[str]) -> GitRef:
    """The one of the names that there is; '' is the default branch. Raises: NotFound, ClawftError."""
    if asked[0] == "":
        return await _find_default(objects)
    if is_commit(asked[0]):
        return GitRef(asked[0], asked[0])
    named = {
        name: (f"refs/heads/{name}", f"refs/tags/{name}", *((name,) if name.startswith("refs/") else ()))
        for name in asked
    }
    patterns = [ref for refs in named.values() for ref in refs]
    # A tag with a text of its own is an object; what it is about stands behind `^{}`.
    there = dict(await objects.list_refs([*patterns, *(f"{ref}^{{}}" for ref in patterns)]))
    found = [
        GitRef(name, there.get(f"{ref}^{{}}", there[ref]), ref)
        for name, refs in named.items()
        for ref in refs
        if ref in there
    ]
    if not found:
        hint = "Check its spelling; a commit is written with all of its 40 digits"
        raise NotFound("git-ref", f"There is no branch or tag '{asked[0]}'", path=objects.url, hint=hint)
    if len({(git_ref.commit, git_ref.asked) for git_ref in found}) > 1:
        hint = f"Say which: {', '.join(git_ref.ref for git_ref in found)}"
        raise ClawftError("git-ambiguous", f"'{asked[0]}' is a branch and a tag", path=objects.url, hint=hint)
    return _check(found[0], objects.url)


async def _find_default(objects: GitObjects) -> GitRef:
    there = await objects.list_refs(["HEAD"])
    target = next(
        (value.removeprefix("ref: ") for name, value in there if name == "HEAD" and value.startswith("ref: ")), ""
    )
    commit = next((value for name, value in there if name == "HEAD" and not value.startswith("ref: ")), "")
    if not commit:
        raise NotFound("git-ref", "The repository has no default branch, or nothing in it", path=objects.url)
    return _check(GitRef("", commit, target or "HEAD"), objects.url)


def _check(found: GitRef, url: str) -> GitRef:
    """Check that what a server calls a commit looks like one. Raises: ClawftError."""
    if not is_commit(found.commit) or (found.ref != "HEAD" and not found.ref.startswith("refs/")):
        raise ClawftError("git-failed", "The server's list of branches cannot be read", path=url)
    return found


_FILES = {"100644": False, "100664": False, "100755": True}
# What some system takes for `.git`: other cases, the short name of Windows, characters that HFS+ does not see.
_OWN = re.compile(r"(?:\.git|git~[0-9]+)[. ]*(?::.*)?", re.IGNORECASE)
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES = 1024


def is_file(entry: GitTreeEntry) -> bool:
    return entry.mode in _FILES


def list_files(entries: Sequence[GitTreeEntry], base: str, url: str) -> Mapping[str, GitTreeEntry]:
    """Return the files of a commit below a folder, by their path there. Raises: Refused for an entry that is no file,
    or a path that occurs twice."""
    below = f"{base}/" if base else ""
    files: dict[str, GitTreeEntry] = {}
    for entry in entries:
        if not entry.path.startswith(below):
            continue
        path = entry.path[len(below) :]
        _check_git_place(entry, path, url)
        if path in files:
            raise refuse("archive-duplicate", f"It has '{_show(path)}' twice", url)
        files[path] = entry
    if not files:
        raise NotFound(
            "source-path", f"There is no folder '{base}'", path=url, hint="Check its spelling, and the branch"
        )
    return files


def _check_git_place(one: GitTreeEntry, path: str, url: str) -> None:
    if one.mode == "120000":
        raise refuse("archive-link", f"'{_show(path)}' is a link", url)
    if one.mode == "160000":
        raise refuse("git-submodule", f"'{_show(path)}' is another repository inside of this one", url)
    if one.mode not in _FILES:
        raise refuse("archive-device", f"'{_show(path)}' is no file", url)
    if any(_OWN.fullmatch(_UNSEEN.sub("", part)) for part in path.split("/")):
        raise refuse("archive-path", f"'{_show(path)}' would be a repository's own", url)


class GitLayout:
    """Files and where they go: every name is judged before anything is fetched or written."""

    def __init__(self, files: Mapping[str, GitTreeEntry], folder: str, url: str, limits: ArchiveLimits) -> None:
        """Raises: Refused."""
        self._target = UnpackTarget(folder, url, limits)
        self._placed: dict[str, list[tuple[str, bool]]] = {}
        for name, file in files.items():
            path = self._target.claim(name)
            if path:
                self._placed.setdefault(file.oid, []).append((path, _FILES[file.mode]))

    @property
    def wanted(self) -> list[str]:
        """The objects that hold the files."""
        return list(self._placed)

    def write(self, contents: Iterator[tuple[str, bytes | None]]) -> list[str]:
        """Write the files, all or none; those that are only pointers to Git LFS. Raises: Refused, OSError."""
        pointers: list[str] = []
        try:
            for oid, data in contents:
                for path, executable in self._placed[oid]:
                    self._write(path, data, executable)
                    if data and data.startswith(_POINTER) and len(data) < _POINTER_BYTES:
                        pointers.append(path)
        except (ClawftError, OSError):
            self._target.clear()
            raise
        return sorted(pointers)

    def _write(self, path: str, data: bytes | None, executable: bool) -> None:
        if data is None:
            most = self._target.limits.max_file_bytes >> 20
            raise refuse("archive-too-large", f"'{_show(path)}' has more than {most} MB", self._target.source)
        self._target.reserve(path, len(data))
        self._target.write(path, data, executable=executable)


def _show(path: str) -> str:
    return ascii(path[:80])[1:-1]
