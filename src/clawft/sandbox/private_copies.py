"""Private copies of what steers other programs: a confined command sees and changes a copy of `.git`, not the real one.

A copy is made of the small files. The objects of a repository stay where they are: the copy has a store of its own for
new ones, and names the real store, mounted read-only elsewhere, as its alternate. Copies that a command left as they
were serve the next one.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from threading import Lock
from typing import Literal

from msgspec import Struct, structs

from clawft.errors import Unreadable
from clawft.files import is_within, is_within_any
from clawft.git import is_git_dir
from clawft.sandbox.guard import FolderGuard
from clawft.sandbox.pinned_path import PinnedPath, find_pinned
from clawft.sandbox.plain_tree import FileMark, PlainTree, TreeFull, lock_exclusively
from clawft.sandbox.secret_files import mask_config
from clawft.sandbox.visible_files import VisibleFiles
from clawft.trust.protected_paths import POWER_FILES, POWER_FOLDERS, fold_name, own_folders

OBJECTS = "/run/clawft/objects"
MAX_ENTRIES = 20_000
MAX_BYTES = 256 << 20
MAX_FILE_BYTES = 128 << 20
MAX_PLAIN_ENTRIES = 2_000  # of a folder that is no repository
MAX_PLAIN_BYTES = 16 << 20
# Repositories of other programs, and folders that are too large or hold more than what steers.
_NOT_COPIED = frozenset({".git", ".hg", ".svn", ".local", ".config", ".direnv", "launchagents"})
_OTHER_FORM = re.compile(rb"(?i)objectformat|refstorage")  # names or refs of another kind
_REMEMBERED = 1 << 20  # bytes of a file that are kept to compare with
_MAX_COPIES = 32  # for one command
_MAX_ALTERNATES = 64 << 10
_STORES = ("lfs", "annex")  # large, and not written by git itself: they stay away


class CopiedFile(Struct, frozen=True):
    """One file of a copy, and what the real one held when it was copied, unless that is much. `written` is what was put
    into the copy where that is something else; a file that only the copy has has no mark of a real one."""

    mark: FileMark
    real: FileMark | None = None
    content: bytes | None = None
    written: bytes | None = None


Kind = Literal["repository", "folder", "file"]


class PrivateCopy(Struct):
    """A copy, in `folder`, of what is at the real path `seen`: a repository, another folder, or one file. `marks` are
    those of all that was there."""

    seen: str
    folder: str
    kind: Kind = "repository"
    files: dict[str, CopiedFile] = {}
    marks: dict[str, FileMark] = {}
    stores: tuple[tuple[str, str], ...] = ()  # the real folders of objects, and where they are mounted

    @property
    def base(self) -> str:
        """The folder that paths of the real files begin at."""
        return os.path.dirname(self.seen) if self.kind == "file" else self.seen

    @property
    def source(self) -> str:
        """The path that is mounted."""
        return os.path.join(self.folder, os.path.basename(self.seen)) if self.kind == "file" else self.folder

    def find_changed(self) -> list[str]:
        """The paths that were changed, made or removed in the copy. Raises: OSError; TreeFull."""
        with PlainTree(self.folder) as tree:
            now = tree.list(lambda _: False, 10 * MAX_ENTRIES)
        changed = [path for path, mark in now.items() if not stat.S_ISDIR(mark[0]) and self._mark(path) != mark]
        return changed + [path for path in self.files if path not in now]

    def is_current(self) -> bool:
        """Return whether the real one still is as it was when it was copied."""
        with suppress(OSError, TreeFull), PlainTree(self.base) as tree:
            if self.kind == "file":
                name = os.path.basename(self.seen)
                return {name: tree.find_mark(name)} == self.marks
            found = tree.list(_is_skipped if self.kind == "repository" else _is_nothing, MAX_ENTRIES)
            return _without_folders(found) == self.marks
        return False

    def _mark(self, path: str) -> FileMark | None:
        return self.files[path].mark if path in self.files else None


def _without_folders(marks: Mapping[str, FileMark]) -> dict[str, FileMark]:
    return {path: mark for path, mark in marks.items() if not stat.S_ISDIR(mark[0])}


def _is_skipped(path: str) -> bool:
    """Return whether a path of a repository is not copied."""
    name = path.rpartition("/")[2]
    top = path.partition("/")[0]
    in_store = name == "objects" and top in ("objects", "modules") and "refs/" not in path and "logs/" not in path
    return in_store or path in _STORES or name.endswith((".lock", ".sample", ".ipc"))


def _is_nothing(_: str) -> bool:
    return False


class CopyStore:
    """Makes copies, and keeps those that can be used again. They lie in a folder of weft's own."""

    def __init__(self, folder: str) -> None:
        self._above = folder
        self._folder = ""
        self._lock = Lock()
        self._free: dict[str, list[PrivateCopy]] = {}

    def replace(self, visible: VisibleFiles) -> tuple[VisibleFiles, list[PrivateCopy]]:
        """The visible files with copies in the place of what steers other programs, and those copies."""
        copies: list[PrivateCopy] = []
        roots = []
        for root, guard in visible.writable:
            wanted = _find_copied(guard)[:_MAX_COPIES]
            made = [copy for path, kind in wanted if (copy := self._take(path, kind))]
            copies += made
            roots.append((root, _without(guard, [copy.seen for copy in made])))
        stores = [store for copy in copies for store in copy.stores]
        mounts = [(place, seen) for real, seen in stores if (place := find_pinned(real))]
        shown = [(place, copy.seen) for copy in copies if (place := find_pinned(copy.source))]
        replaced = structs.replace(
            visible,
            writable=tuple(roots),
            copies=tuple(shown),
            mounts=(*_outside(visible.mounts, copies), *mounts),
            hidden=tuple(path for path in visible.hidden if not is_within_any(path, [copy.seen for copy in copies])),
        )
        return replaced, copies

    def give_back(self, copies: Iterable[PrivateCopy]) -> None:
        """Take copies back from a command that has ended; those that it changed are removed."""
        for copy in copies:
            changed = True
            with suppress(OSError, TreeFull):
                changed = bool(copy.find_changed())
            if changed:
                shutil.rmtree(copy.folder, ignore_errors=True)
            else:
                with self._lock:
                    self._free.setdefault(copy.seen, []).append(copy)

    def _take(self, path: str, kind: Kind) -> PrivateCopy | None:
        """A copy that nobody else uses; None where there is too much to be copied, or it cannot be."""
        while True:
            with self._lock:
                free = self._free.get(path)
                copy = free.pop() if free else None
            if copy is None or copy.is_current():
                break
            shutil.rmtree(copy.folder, ignore_errors=True)
        try:
            return copy or self._copy(path, kind)
        except (OSError, Unreadable, TreeFull):
            return None

    def _copy(self, path: str, kind: Kind) -> PrivateCopy:
        folder = tempfile.mkdtemp(dir=self.open())
        try:
            return _copy_repository(path, folder) if kind == "repository" else _copy_plain(path, folder, kind)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def open(self) -> str:
        """The folder of this process, which is removed at its end; those of processes that were killed go now.

        Raises: OSError.
        """
        with self._lock:
            if not self._folder:
                os.makedirs(self._above, mode=0o700, exist_ok=True)
                for name in os.listdir(self._above):
                    _sweep(os.path.join(self._above, name))
                self._folder = tempfile.mkdtemp(dir=self._above)
                lock = lock_exclusively(os.path.join(self._folder, "lock"))
                weakref.finalize(self, _remove, self._folder, lock)
            return self._folder


def _sweep(folder: str) -> None:
    with suppress(OSError):
        lock = lock_exclusively(os.path.join(folder, "lock"))
        if lock >= 0:
            _remove(folder, lock)


def _remove(folder: str, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _find_copied(guard: FolderGuard) -> list[tuple[str, Kind]]:
    """List what is copied of the places that are closed for writing, and of those that must not be made. What lies in
    another one, or holds something that is closed, stays closed; so does all where nothing new can be made, as in a
    home."""
    if guard.children is not None:
        return []
    kinds = {path: kind for path in guard.read_only if (kind := _find_kind(path))}
    closed = (*guard.read_only, *guard.hidden)
    for path, kind in [*kinds.items()]:
        others = [other for other in closed if other != path]
        holds = kind != "repository" and any(is_within(other, path) for other in others)
        if holds or any(is_within(path, other) for other in others):
            del kinds[path]
    return [*kinds.items(), *((path, "folder") for path in guard.missing)]


def _find_kind(path: str) -> Kind | None:
    """The kind of a place; None for what is not copied, such as the marker of a work tree, or this program itself."""
    name = fold_name(os.path.basename(path))
    if is_git_dir(path):
        return "repository"
    if name not in POWER_FOLDERS | POWER_FILES or name in _NOT_COPIED or is_within_any(path, own_folders()):
        return None
    return "folder" if os.path.isdir(path) else "file"


def _without(guard: FolderGuard, copied: list[str]) -> FolderGuard:
    return structs.replace(
        guard,
        read_only=tuple(path for path in guard.read_only if not is_within_any(path, copied)),
        hidden=tuple(path for path in guard.hidden if not is_within_any(path, copied)),
        missing=tuple(path for path in guard.missing if path not in copied),
        pinned=tuple(path for path in guard.pinned if not is_within_any(path, copied)),
    )


def _outside(pairs: Iterable[tuple[PinnedPath, str]], copies: Iterable[PrivateCopy]) -> list[tuple[PinnedPath, str]]:
    """Without masked configs of what is copied, since the copy has none of the secrets."""
    roots = [copy.seen for copy in copies]
    return [(place, seen) for place, seen in pairs if not is_within_any(seen, roots)]


def _copy_repository(path: str, folder: str) -> PrivateCopy:
    """Raises: OSError; Unreadable; TreeFull."""
    files: dict[str, CopiedFile] = {}
    with PlainTree(path) as real, PlainTree(folder) as tree:
        entries = real.list(_is_skipped, MAX_ENTRIES)
        if sum(mark[2] for mark in entries.values() if stat.S_ISREG(mark[0])) > MAX_BYTES:
            raise TreeFull(path)
        if _OTHER_FORM.search(real.find("config", MAX_PLAIN_BYTES) or b""):
            raise TreeFull(path)
        stores = ["objects"]
        for name, mark in entries.items():
            if stat.S_ISDIR(mark[0]):
                with tree.folder(name, make=True):
                    stores += [f"{name}/objects"] if is_git_dir(os.path.join(path, name)) else []
            elif stat.S_ISREG(mark[0]):  # a link leads nowhere in the copy, so it is not there
                files[name] = _copy_file(real, tree, name)
        made = tuple(_make_store(path, tree, store, files) for store in stores)
    return PrivateCopy(path, folder, "repository", files, _without_folders(entries), made)


def _copy_plain(path: str, folder: str, kind: Kind) -> PrivateCopy:
    """Copy one file, or a folder with little in it. Raises: OSError; Unreadable; TreeFull."""
    files: dict[str, CopiedFile] = {}
    above, name = os.path.split(path)
    with PlainTree(above if kind == "file" else path) as real, PlainTree(folder) as tree:
        if kind == "file":
            files[name] = _copy_file(real, tree, name, MAX_PLAIN_BYTES)
            return PrivateCopy(path, folder, kind, files, {name: files[name].real or files[name].mark})
        entries = real.list(_is_nothing, MAX_PLAIN_ENTRIES)
        if sum(mark[2] for mark in entries.values() if stat.S_ISREG(mark[0])) > MAX_PLAIN_BYTES:
            raise TreeFull(path)
        for inner, mark in entries.items():
            if stat.S_ISDIR(mark[0]):
                with tree.folder(inner, make=True):
                    pass
            elif stat.S_ISREG(mark[0]):
                files[inner] = _copy_file(real, tree, inner, MAX_PLAIN_BYTES)
    return PrivateCopy(path, folder, kind, files, _without_folders(entries))


def _copy_file(real: PlainTree, tree: PlainTree, name: str, max_bytes: int = MAX_FILE_BYTES) -> CopiedFile:
    content, mark = real.read(name, max_bytes)
    shown = mask_config(content) if name.rpartition("/")[2] in ("config", "config.worktree") else content
    tree.add(name, shown, mark[0] & 0o777)
    return CopiedFile(
        _get_mark(tree, name),
        mark,
        content if len(content) <= _REMEMBERED else None,
        shown if shown != content else None,
    )


def _get_mark(tree: PlainTree, name: str) -> FileMark:
    mark = tree.find_mark(name)
    assert mark is not None
    return mark


def _make_store(path: str, tree: PlainTree, store: str, files: dict[str, CopiedFile]) -> tuple[str, str]:
    """Make an empty store of objects whose alternate is the real one; that, and where it will be mounted."""
    real = os.path.join(path, store)
    seen = f"{OBJECTS}/{hashlib.sha256(os.fsencode(real)).hexdigest()[:16]}"
    name = f"{store}/info/alternates"
    with tree.folder(f"{store}/pack", make=True):
        lines = [seen, *list_alternates(real)]
    tree.add(name, os.fsencode("\n".join(lines) + "\n"))
    files[name] = CopiedFile(_get_mark(tree, name))
    return real, seen


def list_alternates(store: str, depth: int = 5) -> list[str]:
    """List the further stores of objects that a real one names, by absolute paths."""
    if depth == 0:
        return []
    try:
        with PlainTree(store) as tree:
            text = os.fsdecode(tree.find("info/alternates", _MAX_ALTERNATES) or b"")
    except (OSError, Unreadable):
        return []
    lines = [line for line in text.split("\n") if line and not line.startswith(("#", '"'))]
    found = [os.path.normpath(os.path.join(store, line)) for line in lines]
    return found + [further for place in found for further in list_alternates(place, depth - 1)]
