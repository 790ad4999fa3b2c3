"""Sees changes below folders as they happen: files that are edited, and folders that come, go and come back.

Every folder is watched by itself, so that no link leads the watcher out of a tree, and what does not exist yet is seen
to appear from the nearest folder above it. It runs in a thread of its own, since its library waits without a loop.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.skills.parse.model import LEFT_OUT

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify


MAX_FOLDERS = 50_000  # more are not watched: each takes memory of the kernel
STEP_S = 0.02  # what was seen is handed on after so long without more
_MAX_NETS = 8
_QUIET = 250  # steps
_TRIES = 5
_END_S = 5.0
_UP = 1  # folders above what is watched, where it is seen to come and go: more would hear much that is nobody's
_KINDS: "dict[int, ChangeKind]" = {1: "added", 2: "modified", 3: "deleted"}
# What editors write beside a file while they work on it.
_SCRATCH_ENDS = ("~", ".swp", ".swo", ".swx", ".kate-swp", "___jb_tmp___", "___jb_old___")
_SCRATCH_STARTS = (".#", ".goutputstream-", ".~lock.")
_SCRATCH = frozenset({"4913", ".DS_Store"})
# File systems that change without this machine knowing of it.
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "vboxsf", "virtiofs"})

ChangeKind = Literal["added", "modified", "deleted"]
_Haul = set[tuple[int, str]] | str  # changes, or why there are none
ReportChanges = Callable[
    [dict[str, ChangeKind] | ClawftError], None
]  # gets the changes, or why no more will be reported


class WatchedPaths(Struct, frozen=True, dict=True):
    """The watched paths: folders with all below them, and single files, whether or not they exist."""

    trees: frozenset[str]
    files: frozenset[str]

    @cached_property
    def above(self) -> frozenset[str]:
        """Every folder above them."""
        return frozenset(parent for path in self.trees | self.files for parent in _parents(path))

    def is_relevant(self, path: str, kind: ChangeKind) -> bool:
        """Return whether a change there may change what is read."""
        if path in self.files or path in self.trees:
            return True
        root = self.find_tree(path)
        if root:
            parts = path[len(root) + 1 :].split("/")
            return LEFT_OUT.isdisjoint(parts) and not _is_scratch(parts[-1])
        return kind != "modified" and path in self.above

    def find_tree(self, path: str) -> str:
        """The tree that a path lies in; '' for none."""
        return next((parent for parent in _parents(path) if parent in self.trees), "")


class FolderWatcher:
    """Watches from `start` to `stop`. `tell` is called in the watcher's own thread."""

    def __init__(self, watched: WatchedPaths, tell: ReportChanges) -> None:
        self.watched = watched
        self._tell = tell
        self._stop = threading.Event()
        self._nets: list[RustNotify] = []
        self._late: dict[str, ChangeKind] = {}  # what nets that were taken in still held
        self._thread = threading.Thread(target=self._run, name="clawft-watch", daemon=True)

    def start(self) -> None:
        """Returns when everything is watched. Raises: ClawftError if that is not possible."""
        self._recast()
        self._thread.start()

    def stop(self) -> None:
        """Returns when it has ended, which is soon: a process must not end before it."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_END_S)

    def _run(self) -> None:
        try:
            quiet = 0
            while not self._stop.is_set():
                changes = self._haul()
                quiet = 0 if changes or len(self._nets) == 1 else quiet + 1
                if quiet > _QUIET:
                    self._recast()  # one net costs less than many
                seen = {path: kind for path, kind in changes.items() if self.watched.is_relevant(path, kind)}
                if seen:
                    self._follow(seen)
                    self._tell(seen)
        except ClawftError as error:
            self._tell(error)
        except RuntimeError as error:  # of a net, such as a path that is no text
            self._tell(_explain(error))
        finally:
            for net in self._nets:
                net.close()

    def _haul(self) -> dict[str, ChangeKind]:
        """Wait until changes pause and return them; empty if nothing changed."""
        step_ms = round(STEP_S * 1000)
        first, *others = self._nets
        hauls = [first.watch(step_ms, step_ms, step_ms if others or self._late else 1000, self._stop)]
        changes = {**self._late, **_sort_out([*hauls, *self._empty(others)])}
        self._late = {}
        return changes

    def _empty(self, nets: "Iterable[RustNotify]") -> "list[_Haul]":
        return [net.watch(1, 1, 1, self._stop) for net in nets]

    def _follow(self, seen: dict[str, ChangeKind]) -> None:
        """Watch the folders that came. Raises: ClawftError."""
        above = self.watched.above
        if any(path in above or path in self.watched.trees for path in seen):  # a root came or went
            self._recast()
            return
        came = [path for path, kind in seen.items() if kind == "added" and _is_folder(path)]
        if came:
            self._nets += _cast(lambda: [folder for path in came for folder in _walk(path)])
        if len(self._nets) > _MAX_NETS:
            self._recast()

    def _recast(self) -> None:
        """Watch everything anew. Nothing is missed: the new nets are out before the old ones are taken in.

        Raises: ClawftError.
        """
        nets = _cast(lambda: _list_folders(self.watched))
        if not nets:
            raise ClawftError("watch-failed", "Folders come and go too quickly to be watched")
        old, self._nets = self._nets, nets
        self._late = _sort_out(self._empty(old))
        for net in old:
            net.close()


def _cast(choose: Callable[[], Iterable[str]]) -> "list[RustNotify]":
    """Watch folders, and then those that came while that was done. Raises: ClawftError."""
    try:
        from watchfiles._rust_notify import RustNotify
    except ImportError as error:
        hint = "Install the extra: pip install 'clawft[serve]'"
        raise ClawftError("watch-missing", "The package watchfiles is not installed", hint=hint) from error
    nets: list[RustNotify] = []
    watched: set[str] = set()
    for _ in range(_TRIES):
        folders = {folder for folder in islice(choose(), 2 * MAX_FOLDERS) if _is_text(folder)} - watched
        if not folders:
            break
        if len(folders) > MAX_FOLDERS:
            message = f"There are more than {MAX_FOLDERS} folders to watch"
            raise ClawftError("watch-limit", message, hint="Name smaller folders in skills.load.extra_dirs")
        try:
            nets.append(RustNotify(sorted(folders), False, False, 0, False, True))
            watched |= folders
        except FileNotFoundError:
            continue  # one was gone before it was reached
        except (OSError, RuntimeError) as error:
            raise _explain(error) from error
    return nets


def _explain(error: Exception) -> ClawftError:
    if "limit" in str(error).lower() or "No space left" in str(error) or "Too many open files" in str(error):
        hint = "Raise fs.inotify.max_user_watches or fs.inotify.max_user_instances"
        return ClawftError("watch-limit", "This system lets nobody watch more files", hint=hint)
    return ClawftError("watch-failed", f"The folders cannot be watched: {error}")


def _list_folders(watched: WatchedPaths) -> Iterator[str]:
    """The folders to watch: those of every tree, and what stands above trees and files."""
    for tree in watched.trees:
        yield from _walk(tree)
    for path in watched.trees | watched.files:
        above = [parent for parent in _parents(path) if os.path.isdir(parent)]
        yield from above[:_UP]


def _walk(top: str) -> Iterator[str]:
    """A folder and all below it, but for what is no part of a skill; no link in it is followed."""
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as scanned:
                inner = [entry.path for entry in scanned if entry.name not in LEFT_OUT and _is_plain(entry)]
        except OSError:
            continue
        yield folder
        pending += inner


def _is_plain(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_text(path: str) -> bool:
    """Return whether its name is text: what is none cannot be watched, and is seen when all is read again."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _sort_out(hauls: "Iterable[_Haul]") -> dict[str, ChangeKind]:
    """The changes in what nets gave: that a path came counts for more than that it changed or went."""
    changes: dict[str, ChangeKind] = {}
    for haul in hauls:
        for number, path in sorted(haul, reverse=True) if isinstance(haul, set) else ():
            changes[path] = _settle(path, _KINDS[number])
    return changes


def _settle(path: str, kind: ChangeKind) -> ChangeKind:
    """Return the kind of change to a path, by what is there now. One that was replaced is reported as removed and as
    added, in any order."""
    if not os.path.lexists(path):
        return "deleted"
    return "added" if kind == "deleted" else kind


def _parents(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _is_scratch(name: str) -> bool:
    wrapped = name.startswith("#") and name.endswith("#")
    return name in _SCRATCH or wrapped or name.endswith(_SCRATCH_ENDS) or name.startswith(_SCRATCH_STARTS)


def find_remote(paths: Iterable[str], mounts: str = "/proc/self/mounts") -> str:
    """The first of the folders that lies on another machine, whose changes no watcher here sees; '' for none."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(" ") for line in file]
    except OSError:  # no Linux
        return ""
    kinds = {line[1].replace("\\040", " "): line[2] for line in lines if len(line) > 2}
    for path in paths:
        real = os.path.realpath(path)
        kind = next((kinds[parent] for parent in (real, *_parents(real)) if parent in kinds), "")
        if kind in _REMOTE or kind == "fuse.sshfs":
            return path
    return ""
