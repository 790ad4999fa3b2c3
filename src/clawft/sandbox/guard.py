"""What stays read-only or out of sight inside a folder that a program may change.

What gives power (`.git`, agents' folders, rc files) is read-only, what holds secrets is hidden, and agents' folders
that do not exist cannot be made. The top of the folder is looked at whole; a bounded walk finds nested ones at every
depth.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import is_within, real_path
from clawft.sandbox.launcher import open_plain
from clawft.sandbox.placeholder import is_placeholder
from clawft.sandbox.secret_files import SecretFiles
from clawft.trust.places import (
    AGENT_FOLDERS,
    POWER_FILES,
    POWER_FOLDERS,
    fold_name,
    is_secret_name,
    own_folders,
    steers_home,
)
from clawft.trust.private_keys import may_hold_key

__all__ = ["Guard", "Guards"]

# What lies beyond these bounds would not be found, and a program could make as much: then nothing is run.
_MAX_FOLDERS = 50_000
_MAX_ENTRIES = 200_000  # of one folder
_MAX_CHILDREN = 2_000  # bubblewrap takes 9,000 words
_MAX_CLOSED = 2_000
_PASSED_OVER = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".cache", "site-packages"})
_SETTLED_S = 0.1  # a folder that changed just now may change again within one tick of the file system's clock


class Guard(Struct, frozen=True):
    """What to do inside one writable folder. All paths are absolute and exist, but for `missing`.

    `children` is None where the folder itself may be written to; else only these may, and nothing new can stand
    beside them. `pinned` are folders that hold something closed: moved elsewhere, it would not be found again.
    """

    read_only: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    children: tuple[str, ...] | None = None
    pinned: tuple[str, ...] = ()


class _Listing(Struct, frozen=True):
    """What of one folder matters. `links` are names of power that are links, which nothing can be mounted on."""

    changed_ns: int
    inode: int = 0
    folders: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()  # what may be private keys: that is told by what they hold now
    unread: bool = False  # nobody knows what is in it


class Guards:
    """Finds guards, and remembers folders that have not changed since."""

    def __init__(self, home: str, user_dir: str) -> None:
        self.secret_files = SecretFiles(os.path.join(user_dir, "cache", "masked"))
        self._home = real_path(home)
        self._user_dir = real_path(user_dir)
        self._known: dict[str, _Listing] = {}

    def find(self, root: str, *, path: str = "", by_children: bool = False) -> Guard:
        """The guard of a real folder. `by_children`: nothing can be taken back from what is granted (Landlock); `path`
        is where programs are searched for.

        Raises: Refused for one that is too large to be looked through.
        """
        top = self._list(root, top=True)
        steering = [one for one in top.names if root == self._home and steers_home(one)]
        read_only, hidden = _join(root, (*top.power, *steering)), _join(root, top.secret)
        hidden += self.secret_files.find_keys(root, top.keys)
        if root == self._home:
            read_only += [one for one in path.split(os.pathsep) if os.path.isabs(one)]
        for folder in self._walk(root, top):
            inner = self._list(folder)
            read_only += _join(folder, (*inner.power, *inner.links))
            hidden += [folder] if inner.unread else _join(folder, inner.secret)
            hidden += self.secret_files.find_keys(folder, inner.keys)
        for folder in [one for one in read_only if one.endswith("/.git")]:
            hidden += self.secret_files.find_configs(folder)
        hidden = [target for path in hidden if (target := _follow(path, root))]
        if is_within(self._user_dir, root) and os.path.exists(self._user_dir):
            hidden.append(self._user_dir)
        closed = bool(top.links) or root == self._home or by_children
        missing = () if closed else tuple(one for one in AGENT_FOLDERS if one not in top.names)
        children = None
        if closed:
            kept = {*top.power, *steering, *top.secret, *top.links}
            beside = _join(root, (one for one in top.names if one not in kept))
            children = tuple(path for path in beside if not os.path.islink(path))[:_MAX_CHILDREN]
        found = [target for path in (*read_only, *own_folders()) if (target := _follow(path, root))]
        hidden = [*dict.fromkeys(hidden)]
        read_only = [one for one in dict.fromkeys(found) if one not in hidden]
        pinned = _find_pinned(root, (*read_only, *hidden))
        if len(read_only) + len(hidden) + len(pinned) > _MAX_CLOSED:
            raise _too_large(f"more than {_MAX_CLOSED} places that must stay closed", root)
        return Guard(tuple(read_only), tuple(hidden), tuple(_join(root, missing)), children, pinned)

    def _walk(self, root: str, top: _Listing) -> Iterator[str]:
        """Folders below, level by level."""
        level, left = _join(root, top.folders), _MAX_FOLDERS
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
        try:
            with _opened(folder) as descriptor:
                status = os.fstat(descriptor)
                changed = status.st_ctime_ns
                known = self._known.get(folder)
                if known and (known.inode, known.changed_ns) == (status.st_ino, changed):
                    return known
                listing = _read(folder, descriptor, status, top=top)
        except PermissionError:  # a program may change its rights, and look into it then
            return _Listing(0, unread=True)
        except OSError:
            return _Listing(0)
        if time.time_ns() - changed > _SETTLED_S * 1e9 and len(self._known) < 10 * _MAX_FOLDERS:
            self._known[folder] = listing
        return listing


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
    with os.scandir(descriptor) as entries:
        for number, entry in enumerate(entries):
            if number == _MAX_ENTRIES:
                raise _too_large(f"more than {_MAX_ENTRIES} entries in one folder", folder)
            folded = fold_name(entry.name)
            if top:
                if folded in AGENT_FOLDERS and is_placeholder(os.path.join(folder, entry.name)):
                    continue  # of another run: to be held, like one that is not there
                names.append(entry.name)
            if is_secret_name(folded):
                secret.append(entry.name)
            elif folded in AGENT_FOLDERS or (top and (folded in POWER_FILES or folded in POWER_FOLDERS)):
                is_plain_link = entry.is_symlink() and folded.startswith(".")
                (links if is_plain_link else power).append(entry.name)
            elif folded not in _PASSED_OVER and entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif may_hold_key(folded):
                keys.append(entry.name)
    found = (tuple(folders), tuple(power), tuple(secret), tuple(links), tuple(names), tuple(keys))
    return _Listing(status.st_ctime_ns, status.st_ino, *found)


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


def _follow(path: str, root: str) -> str:
    """Where something really is, if that is inside the folder; what is outside is out of reach anyway."""
    real = real_path(path)
    return real if real != root and is_within(real, root) and os.path.exists(real) else ""
