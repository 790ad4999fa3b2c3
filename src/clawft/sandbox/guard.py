"""The parts of a writable folder that stay read-only or hidden from a program.

What could run code later (`.git`, agents' folders, rc files) is read-only, what holds secrets is hidden, and agents'
folders that do not exist cannot be made. The top of the folder is looked at whole; a bounded walk finds nested ones at
every depth.
"""

import errno
import os
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import is_within, real_path, real_paths
from clawft.git import REPOSITORY_PARTS, has_repository, list_git_dirs, list_steering_paths
from clawft.sandbox.landlock_launcher import open_plain
from clawft.sandbox.placeholder import is_placeholder
from clawft.sandbox.secret_files import SecretFiles
from clawft.trust.path_patterns import DeniedPaths
from clawft.trust.protected_paths import (
    AGENT_FOLDERS,
    POWER_FILES,
    POWER_FOLDERS,
    fold_name,
    is_secret_name,
    is_secret_place,
    may_hold_key,
    own_folders,
    steers_home,
)

# What lies beyond these bounds would not be found, and a program could make as much: then nothing is run.
_MAX_FOLDERS = 50_000
_MAX_ENTRIES = 200_000  # of one folder
_AFTER = 10  # times as many folders are looked through after a command
_MAX_CHILDREN = 2_000  # bubblewrap takes 9,000 words
_MAX_CLOSED = 2_000
_PASSED_OVER = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".cache", "site-packages"})
# Folders of power that hold nothing a person puts there, or, in the home folder, too much: git's tokens are masked.
_NOT_SEARCHED = frozenset({".git", ".hg", ".svn", ".local"})
_SETTLED_S = 0.1  # a folder that changed just now may change again within one tick of the file system's clock


class FolderGuard(Struct, frozen=True):
    """The protection of one writable folder. All paths are absolute and exist, but for `missing`.

    `children` is None where the folder itself may be written to; else only these may, and nothing new can be made next
    to them. `pinned` are folders that hold something protected: moved elsewhere, it would not be found again. `named`
    is all that steers other programs, by the names under which it was found, links among it.
    """

    read_only: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    children: tuple[str, ...] | None = None
    pinned: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class _Listing(Struct, frozen=True):
    """The relevant entries of one folder. `links` are protected names that are links, which nothing can be
    mounted on."""

    changed_ns: int
    inode: int = 0
    folders: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()  # possible private keys, to be judged by their present content
    unread: bool = False  # nobody knows what is in it
    is_repository: bool = False  # git takes it for one, whatever its name


class FolderGuards:
    """Finds guards, and remembers folders that have not changed since."""

    def __init__(self, home: str, user_dir: str) -> None:
        self.secret_files = SecretFiles(os.path.join(user_dir, "cache", "masked"))
        self._home = real_path(home)
        self._user_dir = real_path(user_dir)
        self._known: dict[str, _Listing] = {}

    def find(
        self, root: str, *, path: str = "", by_children: bool = False, denied: DeniedPaths | None = None
    ) -> FolderGuard:
        """The guard of a real folder. `by_children`: nothing can be taken back from what is granted (Landlock); `path`
        is where programs are searched for; `denied` is what rules close besides.

        Raises: Refused for one that is too large to be looked through.
        """
        top = self._list(root, top=True)
        if top.unread:
            message = "No command is run here: the folder cannot be listed, so what must stay closed in it is unknown"
            hint = f"Let yourself list it: chmod u+rwx {shlex.quote(root)}"
            raise Refused("sandbox-unread", message, path=root, hint=hint)
        steering = [name for name in top.names if root == self._home and steers_home(name)]
        read_only, hidden = _join(root, (*top.power, *steering)), _join(root, top.secret)
        hidden += self.secret_files.find_keys(root, top.keys)
        named = _join(root, (*top.power, *top.links)) + ([root] if top.is_repository else [])
        if root == self._home:
            read_only += [part for part in path.split(os.pathsep) if os.path.isabs(part)]
        for folder in self._walk(root, top):
            inner = self._list(folder)
            found_here = _join(folder, (*inner.power, *inner.links)) + ([folder] if inner.is_repository else [])
            read_only += found_here
            named += found_here
            hidden += [folder] if inner.unread else _join(folder, inner.secret)
            hidden += self.secret_files.find_keys(folder, inner.keys)
        marks = [entry for entry in (*_join(root, top.links), *read_only) if entry.endswith("/.git")]
        for mark in marks:
            folder = os.path.dirname(mark)
            read_only += [path for git_dir in list_git_dirs(folder) for path in list_steering_paths(folder, git_dir)]
        git_dirs = dict.fromkeys(real_path(folder) for mark in marks for folder in list_git_dirs(os.path.dirname(mark)))
        for git_dir in git_dirs:
            if is_within(git_dir, root):
                read_only.append(git_dir)
                hidden += self.secret_files.find_configs(git_dir)
        if (
            root != self._home
        ):  # a home below the root is another place: what steers its shells would be too much to name
            hidden.append(self._home)
        unreadable, unwritable = find_denied(root, denied)
        hidden, read_only = _follow((*hidden, *unreadable), root), [*read_only, *unwritable]
        if is_within(self._user_dir, root) and os.path.exists(self._user_dir):
            hidden.append(self._user_dir)
        closed = bool(top.links) or root == self._home or by_children
        missing = (
            () if closed else tuple(agent_folder for agent_folder in AGENT_FOLDERS if agent_folder not in top.names)
        )
        children = None
        if closed:
            protected = {*top.power, *steering, *top.secret, *top.links}
            siblings = _join(root, (name for name in top.names if name not in protected))
            children = tuple(path for path in siblings if not os.path.islink(path))[:_MAX_CHILDREN]
        found = _follow((*read_only, *own_folders()), root)
        hidden = [*dict.fromkeys(hidden)]
        read_only = [entry for entry in dict.fromkeys(found) if entry not in hidden]
        pinned = _find_pinned(root, (*read_only, *hidden))
        if len(read_only) + len(hidden) + len(pinned) > _MAX_CLOSED:
            raise _too_large(f"more than {_MAX_CLOSED} places that must stay closed", root)
        missing_paths = tuple(_join(root, missing))
        return FolderGuard(tuple(read_only), tuple(hidden), missing_paths, children, pinned, tuple(named))

    def list_named(self, root: str) -> tuple[list[str], list[str]]:
        """List what steers other programs in a folder now, and what could not be looked into. A command may have made
        many folders, to hide one. Raises: Refused for more than are ever looked through."""
        top = self._list(root, top=True)
        named, unread = _join(root, (*top.power, *top.links)), []
        named += [root] if top.is_repository else []
        for folder in self._walk(root, top, _MAX_FOLDERS * _AFTER):
            inner = self._list(folder)
            named += _join(folder, (*inner.power, *inner.links)) + ([folder] if inner.is_repository else [])
            unread += [folder] if inner.unread else []
        return named, unread

    def _walk(self, root: str, top: _Listing, max_folders: int = _MAX_FOLDERS) -> Iterator[str]:
        """Folders below, level by level."""
        level, left = _join(root, top.folders), max_folders
        while level:
            below = []
            left -= len(level)
            if left < 0:
                raise _too_large(f"more than {_MAX_FOLDERS} folders", root)
            for folder in level:
                yield folder
                below += _join(folder, self._list(folder).folders)
            level = below

    def _list(self, folder: str, *, top: bool = False) -> _Listing:
        known = self._known.get(folder)
        try:
            # The listing belongs to the folder that was opened when it was made, wherever that lies by now.
            if known and _is_same(os.stat(folder, follow_symlinks=False), known):
                return known
            with _opened(folder) as descriptor:
                status = os.fstat(descriptor)
                changed = status.st_ctime_ns
                if known and _is_same(status, known):
                    return known
                listing = _read(folder, descriptor, status, top=top)
        except OSError as error:  # a program may change its rights, and look into it then
            return _Listing(0, unread=not _is_missing(error))
        if time.time_ns() - changed > _SETTLED_S * 1e9 and len(self._known) < 10 * _MAX_FOLDERS:
            self._known[folder] = listing
        return listing


def _is_same(status: os.stat_result, known: _Listing) -> bool:
    return (known.inode, known.changed_ns) == (status.st_ino, status.st_ctime_ns)


def find_denied(root: str, denied: DeniedPaths | None) -> tuple[list[str], list[str]]:
    """Find what rules forbid to read below a folder, and what they forbid to change, at every depth; a link counts
    where it leads. Raises: Refused for a folder that is too large to be looked through."""
    unreadable: list[str] = []
    unwritable: list[str] = []
    waiting, left = [root] if denied else [], _MAX_ENTRIES
    while waiting and denied:
        with suppress(OSError), _opened(folder := waiting.pop()) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                path = os.path.join(folder, entry.name)
                left -= 1
                if left < 0:
                    raise _too_large(f"more than {_MAX_ENTRIES} entries, some of which rules may deny", root)
                if entry.is_symlink():
                    continue
                if denied.hides(path):
                    unreadable.append(path)
                    continue
                if denied.protects(path):
                    unwritable.append(path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
    return unreadable, unwritable


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """A folder that no link on the way leads to: a program that runs beside may put one there. Raises: OSError."""
    place = open_plain(folder)
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
    finally:
        os.close(place)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: str, descriptor: int, status: os.stat_result, *, top: bool) -> _Listing:
    folders: list[str] = []
    power: list[str] = []
    secret: list[str] = []
    links: list[str] = []
    names: list[str] = []
    keys: list[str] = []
    found_parts: set[str] = set()
    parent = fold_name(os.path.basename(folder))
    with os.scandir(descriptor) as entries:
        for number, entry in enumerate(entries):
            if number == _MAX_ENTRIES:
                raise _too_large(f"more than {_MAX_ENTRIES} entries in one folder", folder)
            folded = fold_name(entry.name)
            found_parts |= REPOSITORY_PARTS & {entry.name}
            if top:
                if folded in AGENT_FOLDERS and is_placeholder(os.path.join(folder, entry.name)):
                    continue  # of another run: to be held, like one that is not there
                names.append(entry.name)
            if is_secret_name(folded) or is_secret_place(parent, folded):
                secret.append(entry.name)
            elif folded in AGENT_FOLDERS or (top and (folded in POWER_FILES or folded in POWER_FOLDERS)):
                is_plain_link = entry.is_symlink() and folded.startswith(".")
                (links if is_plain_link else power).append(entry.name)
                if folded not in _NOT_SEARCHED and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
            elif folded not in _PASSED_OVER and entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif may_hold_key(folded):
                keys.append(entry.name)
    found = (tuple(folders), tuple(power), tuple(secret), tuple(links), tuple(names), tuple(keys))
    return _Listing(status.st_ctime_ns, status.st_ino, *found, is_repository=has_repository(found_parts))


def _join(folder: str, names: "tuple[str, ...] | Iterator[str]") -> list[str]:
    return [os.path.join(folder, name) for name in names]


def _find_pinned(root: str, closed: Sequence[str]) -> tuple[str, ...]:
    """The folders between a root and what is closed in it, outer ones first."""
    found = set()
    for path in closed:
        above = os.path.dirname(path)
        while len(above) > len(root) and above not in found:
            found.add(above)
            above = os.path.dirname(above)
    return tuple(sorted(found, key=len))


def _too_large(why: str, path: str) -> Refused:
    message = f"No command is run here: it has {why}, so what must stay closed in it cannot be found"
    return Refused(
        "sandbox-too-large", message, path=path, hint="Remove what is not needed, or start weft further down"
    )


def _follow(paths: Iterable[str], root: str) -> list[str]:
    """Resolve the paths whose target is there and inside the folder; what is outside is out of reach anyway."""
    inside = root.rstrip("/") + "/"
    return [real for real in real_paths(paths) if real.startswith(inside) and _exists(real)]


def _exists(path: str) -> bool:
    """Return whether something is there: what cannot be reached now can be when a program gives the rights back."""
    try:
        os.stat(path)
    except OSError as error:
        return not _is_missing(error)
    return True


def _is_missing(error: OSError) -> bool:
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
