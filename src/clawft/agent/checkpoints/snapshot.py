"""Record a project: the exact bytes, mode and link of every name in it, as trees of objects that are kept once.

A file whose size, times and inode are as before is not read again. No link is followed, and nothing of git but its
files takes part. What is too much, or cannot be read, is named.
"""

import errno
import os
import stat
import time
from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

from clawft.agent.checkpoints.store import CheckpointStore, SeenFolder, Signature, Snapshot, TreeEntry, UncoveredPath
from clawft.agent.tools.file_access import open_folder
from clawft.agent.tools.tool import ToolError
from clawft.errors import ClawftError, Unreadable
from clawft.files import read_regular, real_path

# Folders that a build or an installer makes again. They are neither recorded nor touched by a restore.
REPRODUCIBLE = frozenset((
    "node_modules", "bower_components", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".tox", ".nox", ".eggs", "dist", "target", ".gradle", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo",
    ".terraform", ".cache",
))  # fmt: skip
_GIT_LEFT_OUT = ("objects", "lfs")  # which are only added to, and never removed by an undo
_GIT_NAMES = ("refs", "logs")  # below which a branch may have any name
MAX_FILE_BYTES = 32 << 20
MAX_NEW_BYTES = 512 << 20  # that one checkpoint reads
MAX_BYTES = 1 << 30  # of all files of a project together
MAX_ENTRIES = 100_000
MAX_DEPTH = 64
MAX_S = 15.0
MAX_GAPS = 200
_SMALL_BYTES = 64 << 10  # read at once; larger files wait until all names are known, and the smallest come first
_SETTLED_NS = 2_000_000_000  # a file changed later than this before it was looked at may change again unseen
_ATTEMPTS = 3
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _FolderRecord(Struct):
    """A folder that is being recorded. `known` is how it was seen the last time, if its names are as they were."""

    signatures: list[Signature]
    digests: list[bytes]
    known: SeenFolder | None
    has_folders: bool


def record_project(store: CheckpointStore, project: str, closed: str) -> Snapshot:
    """Record a project but for the folder `closed`. Raises: ClawftError where it cannot be opened at all."""
    return _Recorder(store, real_path(project), closed).run()


class _Recorder:
    def __init__(self, store: CheckpointStore, project: str, closed: str) -> None:
        self._store = store
        self._project = project
        self._known = store.load_listings()
        self._folders: dict[bytes, _FolderRecord] = {}  # a folder comes before those in it
        self._large: list[tuple[int, bytes, int]] = []  # size, folder, index
        self._gaps: list[UncoveredPath] = []
        self._entries = 0
        self._left = MAX_NEW_BYTES
        self._recorded = 0  # bytes of all files, be they new or not
        self._began_ns = time.time_ns()
        self._deadline = time.monotonic() + MAX_S
        self._closed = _identify(closed)
        self._device = -1

    def run(self) -> Snapshot:
        try:
            with open_folder(self._project) as root:
                self._device = os.fstat(root).st_dev
                self._walk(root, b"", None, 0)
        except (OSError, ToolError) as error:
            message = f"The project cannot be read: {error}"
            raise ClawftError("checkpoint-unreadable", message, path=self._project) from error
        self._read_large()
        tree = self._make_trees()
        return Snapshot(tree, tuple(self._gaps))

    def _walk(self, folder: int, path: bytes, git: str | None, depth: int) -> None:
        """Look at a folder and those in it. `git` is where it lies in a `.git`, None outside of one."""
        signatures, inner = self._list(folder, path, git)
        known = self._known.get(path)
        if known is not None and known.signatures == signatures:
            digests = known.digests.copy()
        else:
            old = dict(zip(known.signatures, known.digests, strict=False)) if known else {}
            digests, known = [old.get(signature, b"") for signature in signatures], None
        seen = self._folders[path] = _FolderRecord(signatures, digests, known, bool(inner))
        self._recorded += sum(signature[2] for signature, digest in zip(signatures, digests, strict=True) if digest)
        if b"" in seen.digests:
            for index, signature in enumerate(signatures):
                if not seen.digests[index] and not stat.S_ISDIR(signature[1]):
                    self._record(folder, path, seen, index)
        for name in inner:
            place = _join(path, os.fsencode(name))
            if reason := self._find_limit(depth):
                self._miss(place, reason)
                continue
            inside = "" if name == ".git" else None if git is None else f"{git}{name}/"
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=folder)
            except OSError as error:
                self._miss(place, f"cannot be read: {error.strerror}")
                continue
            try:
                self._walk(descriptor, place, inside, depth + 1)
            except OSError as error:
                self._miss(place, f"cannot be read: {error.strerror}")
            finally:
                os.close(descriptor)

    def _list(self, folder: int, path: bytes, git: str | None) -> tuple[list[Signature], list[str]]:
        """List a folder: the signatures of all names, sorted, and the folders to go into. Raises: OSError."""
        signatures: list[Signature] = []
        inner: list[str] = []
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_ENTRIES + 1):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # removed meanwhile
                if stat.S_ISDIR(status.st_mode):
                    if self._is_recorded(entry.name, path, status, git):
                        signatures.append((os.fsencode(entry.name), status.st_mode, 0, 0, 0, 0))
                        if status.st_dev == self._device:
                            inner.append(entry.name)
                elif git is None or not entry.name.endswith(".lock"):  # which git makes while it is at work
                    signatures.append(_sign(os.fsencode(entry.name), status))
        self._entries += len(signatures)
        if len(signatures) > MAX_ENTRIES:
            raise OSError(errno.EFBIG, f"it holds more than {MAX_ENTRIES:,} names")
        signatures.sort()
        return signatures, inner

    def _is_recorded(self, name: str, path: bytes, status: os.stat_result, git: str | None) -> bool:
        """Return whether a folder is recorded, be it by its name alone."""
        if (status.st_dev, status.st_ino) == self._closed or _is_left_out(name, git):
            return False
        if status.st_dev != self._device:
            self._miss(_join(path, os.fsencode(name)), "is on another file system")
        return True

    def _find_limit(self, depth: int) -> str:
        if depth >= MAX_DEPTH:
            return f"is more than {MAX_DEPTH} folders deep"
        if self._entries >= MAX_ENTRIES:
            return f"comes after {MAX_ENTRIES:,} names"
        return "comes after the time for a checkpoint" if time.monotonic() > self._deadline else ""

    def _record(self, folder: int, path: bytes, seen: _FolderRecord, index: int) -> None:
        """Keep one file or link; a large file later."""
        name, mode, size = seen.signatures[index][:3]
        place = _join(path, name)
        if stat.S_ISREG(mode) and _SMALL_BYTES < size <= MAX_FILE_BYTES:
            self._large.append((size, path, index))
        elif stat.S_ISREG(mode):
            self._read(folder, place, seen, index)
        elif stat.S_ISLNK(mode):
            try:
                seen.digests[index] = self._store.put(os.readlink(name, dir_fd=folder))
            except OSError as error:
                self._miss(place, f"cannot be read: {error.strerror}")
        else:
            self._miss(place, "is neither file, folder nor link")

    def _read(self, folder: int, place: bytes, seen: _FolderRecord, index: int) -> None:
        name, _, size = seen.signatures[index][:3]
        if size > min(MAX_FILE_BYTES, self._left, MAX_BYTES - self._recorded):
            self._miss(place, "is too large", size)
            return
        if time.monotonic() > self._deadline:
            self._miss(place, "comes after the time for a checkpoint")
            return
        for _ in range(_ATTEMPTS):
            try:
                content, status = read_regular(os.fsdecode(name), MAX_FILE_BYTES, folder=folder)
                after = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except (OSError, Unreadable):
                self._miss(place, "cannot be read")
                return
            self._left -= len(content)
            if (signature := _sign(name, status)) == _sign(name, after) and len(content) == status.st_size:
                seen.signatures[index], seen.digests[index] = signature, self._store.put(content)
                self._recorded += len(content)
                return
        self._miss(place, "changes while it is read")

    def _read_large(self) -> None:
        for _, path, index in sorted(self._large):
            seen = self._folders[path]
            place = _join(path, seen.signatures[index][0])
            try:
                with open_folder(os.path.join(self._project, os.fsdecode(path))) as folder:
                    self._read(folder, place, seen, index)
            except (OSError, ToolError) as error:
                self._miss(place, f"cannot be read: {error}")

    def _make_trees(self) -> bytes:
        """Make the tree of every folder, from the innermost out, note how all were seen, and return the root's."""
        trees: dict[bytes, bytes] = {}
        changed: dict[bytes, SeenFolder] = {}
        settled = self._began_ns - _SETTLED_NS
        for path, seen in reversed(self._folders.items()):
            if seen.has_folders:
                for index, signature in enumerate(seen.signatures):
                    if stat.S_ISDIR(signature[1]):
                        seen.digests[index] = trees.get(_join(path, signature[0]), b"")
            if seen.known is not None and seen.digests == seen.known.digests:
                trees[path] = seen.known.tree
                continue
            pairs = zip(seen.signatures, seen.digests, strict=True)
            tree = trees[path] = self._store.put_tree(TreeEntry(*signed[:3], digest) for signed, digest in pairs)
            trusted = [signed if max(signed[3:5]) < settled else (*signed[:5], -1) for signed in seen.signatures]
            changed[path] = SeenFolder(trusted, seen.digests, tree)
        self._store.save_listings(changed, self._known.keys() - self._folders.keys())
        return trees[b""]

    def _miss(self, place: bytes, why: str, size: int = 0) -> None:
        if len(self._gaps) < MAX_GAPS:
            self._gaps.append(UncoveredPath(show_bytes(place), why, size))


def _is_left_out(name: str, git: str | None) -> bool:
    """Return whether a folder is not recorded: one that can be made again, or the objects of git."""
    if git is None:
        return name in REPRODUCIBLE
    return name in _GIT_LEFT_OUT and not any(part in _GIT_NAMES for part in git.split("/"))


def _sign(name: bytes, status: os.stat_result) -> Signature:
    return (name, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _join(path: bytes, name: bytes) -> bytes:
    return path + b"/" + name if path else name


def _identify(path: str) -> tuple[int, int]:
    """Device and inode of a folder; none that exists where there is no such folder."""
    try:
        status = os.stat(path)
    except OSError:
        return (-1, -1)
    return (status.st_dev, status.st_ino)


def show_bytes(path: bytes) -> str:
    """Return a path as text that every output can hold; bytes that are no UTF-8 are shown as such."""
    return path.decode("utf-8", "backslashreplace")


def render_gaps(gaps: Iterable[UncoveredPath], shown: int = 5) -> str:
    """Name what is not recorded, with its size where that is the reason."""
    listed = list(gaps)
    named = [f"{gap.path} ({_show_size(gap.size)})" if gap.size else f"{gap.path} {gap.why}" for gap in listed[:shown]]
    more = f" and {len(listed) - shown} more" if len(listed) > shown else ""
    return ", ".join(named) + more


def _show_size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
