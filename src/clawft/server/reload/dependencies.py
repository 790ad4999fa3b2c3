"""The files and folders that a generation is read from, and their status when it was read."""

import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from clawft.app.app import App
from clawft.app.hooks import find_plugin_hooks
from clawft.config.loader import config_files, own_values
from clawft.errors import ClawftError
from clawft.install.origins import list_locks
from clawft.skills.discovery.locations import agent_locations, hook_locations
from clawft.skills.discovery.mcp_copies import served_folder
from clawft.skills.discovery.watch import WatchedPaths
from clawft.skills.parse.model import LEFT_OUT
from clawft.trust.records import KEY_NAME
from clawft.workspace import MARKER, resolve_path

MAX_ENTRIES = 10_000  # of hooks and plugins that are looked at
_MAX_BYTES = 16 << 20
_TICK_NS = 20_000_000  # more than one step of the clock that the kernel stamps files with
_COARSE_TICK_NS = 2_000_000_000  # the same of file systems that keep whole seconds
_DECIDED = ("approvals.json", "overrides.json", "publishers.toml", "grants.json", KEY_NAME)
_CLAUDE = (".claude/settings.json", ".claude/settings.local.json")

PathStamp = tuple[int, int, int, int]


class Dependencies(Struct, frozen=True):
    """Folders that are read with all below them, and files."""

    skills: frozenset[str]
    agents: frozenset[str]
    hooks: frozenset[str]
    plugins: frozenset[str]
    config: frozenset[str]
    decided: frozenset[str]  # where approvals, and what was installed, are written down
    hook_files: frozenset[str]

    @property
    def files(self) -> frozenset[str]:
        return self.config | self.decided | self.hook_files

    @property
    def watched(self) -> WatchedPaths:
        return WatchedPaths(self.skills | self.agents | self.hooks | self.plugins, self.files)


class Stamps(Struct, frozen=True):
    """The state of all files at the time they were read; equal while none of them changed.

    `places`: the files of skills, agents and commands, and the folders in which new ones appear. `taken_ns`: when
    reading began.
    """

    statuses: dict[str, PathStamp | None]
    hashes: dict[str, bytes]
    hooks: bytes
    plugins: bytes
    taken_ns: int
    places: dict[str, PathStamp | None] = {}

    def has_changed_files(self) -> bool:
        """Return whether a file with settings, decisions or installed skills may have changed since."""
        return bool(_find_changed(self.statuses, self.taken_ns))

    def find_changed_places(self) -> list[str]:
        """Return the places that may have changed since."""
        return _find_changed(self.places, self.taken_ns)

    def has_changed_trees(self, depends: Dependencies) -> bool:
        """Return whether something below the folders of hooks and plugins changed since."""
        return self.hooks != _stamp_trees(depends.hooks) or self.plugins != _stamp_trees(depends.plugins)

    def decided(self, depends: Dependencies) -> dict[str, bytes]:
        """Return the hashes of the files that hold the user's decisions."""
        return {path: self.hashes[path] for path in depends.decided if self.hashes[path]}

    def hook_state(self, depends: Dependencies) -> tuple[bytes, dict[str, bytes]]:
        """Return the stamp of the folders of hooks, and the hashes of the files that other hooks are in."""
        return self.hooks, {path: self.hashes[path] for path in depends.hook_files if self.hashes[path]}


def find_dependencies(app: App) -> Dependencies:
    """Everything that an app reads. Raises: ClawftError for a config that cannot be read."""
    space, places = app.workspace, app.plugin_places
    user, project = space.user_dir, os.path.join(space.project, MARKER)
    load = own_values(app.config, user).get("plugins", {}).get("load") or {}
    extra = [resolve_path(str(folder), space.project, space.home) for folder in load.get("extra_dirs") or ()]
    plugin_hooks, hook_files = find_plugin_hooks(app)
    hooks = hook_locations(space, app.own_config.hooks.load.extra_dirs, plugin_hooks)
    locks = {os.path.join(project, "skills.lock"), *list_locks(space, app.locations)}
    claude = {os.path.join(base, name) for base in (space.home, space.project) for name in _CLAUDE}
    return Dependencies(
        frozenset((served_folder(user), *(location.path for location in app.locations))),
        frozenset(agent_location.path for agent_location in agent_locations(space, places.agents if places else ())),
        frozenset(hook.path for hook in hooks),
        frozenset((os.path.join(user, "plugins"), os.path.join(project, "plugins"), *extra)),
        frozenset(config_files(space)),
        frozenset(locks.union(os.path.join(user, name) for name in _DECIDED)),
        frozenset(
            claude.union(os.path.join(hook_file.folder, file) for hook_file in hook_files for file in hook_file.files)
        ),
    )


def stamp_paths(paths: Iterable[str]) -> dict[str, PathStamp | None]:
    """Return the status of each path; None for one that is not there. Quick: it is asked before every call."""
    return {path: _status(path) for path in paths}


def _find_changed(stamps: dict[str, PathStamp | None], taken_ns: int) -> list[str]:
    """Return the paths whose status is another one, or is too young to tell.

    Two writes within one tick of the file system's clock may leave the same times and size. So a file that was written
    at about the time it was read counts as changed until it is read again.
    """
    return [
        path
        for path, status in stamps.items()
        if _status(path) != status or (status is not None and abs(taken_ns - status[1]) <= _tick_ns(status[1]))
    ]


def _tick_ns(changed_ns: int) -> int:
    return _TICK_NS if changed_ns % 1_000_000_000 else _COARSE_TICK_NS


def stamp_all(
    depends: Dependencies, taken_ns: int, before: Stamps | None = None, touched: Iterable[str] | None = None
) -> Stamps:
    """Return how everything is now. With `before` and `touched`, only what lies there is looked at again."""
    statuses = stamp_paths(depends.files)
    known = before.hashes if before else {}
    old = before.statuses if before else {}
    young = {*_find_changed(old, before.taken_ns)} if before else ()
    hashes = {
        path: known[path] if path in known and path not in young and old.get(path) == status else _hash(path)
        for path, status in statuses.items()
        if path not in depends.config  # their values are compared
    }
    if before is not None and touched is not None:
        paths = tuple(touched)
        hooks = _stamp_trees(depends.hooks) if _concerns(depends.hooks, paths) else before.hooks
        plugins = _stamp_trees(depends.plugins) if _concerns(depends.plugins, paths) else before.plugins
        return Stamps(statuses, hashes, hooks, plugins, taken_ns)
    return Stamps(statuses, hashes, _stamp_trees(depends.hooks), _stamp_trees(depends.plugins), taken_ns)


def _concerns(trees: frozenset[str], paths: Iterable[str]) -> bool:
    return any(_within(path, tree) or _within(tree, path) for path in paths for tree in trees)


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _status(path: str) -> PathStamp | None:
    if not os.access(path, os.F_OK):  # most are not there, and an exception for each takes longer than the look
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _hash(path: str) -> bytes:
    """Return the hash of a file's content; b"" for one that cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return sha256(file.read(_MAX_BYTES)).digest()
    except OSError:
        return b""


def _stamp_trees(trees: Iterable[str]) -> bytes:
    whole = sha256()
    for tree in sorted(trees):
        for number, (path, status) in enumerate(list_entries(tree)):
            if number == MAX_ENTRIES:
                break
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            times = 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
            whole.update(f"{path}\0{status.st_mode}\0{size}\0{times}\n".encode("utf-8", "surrogateescape"))
    return whole.digest()


def list_entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a folder, but for what is no part of a skill, with its status; no link is followed."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(
                (dir_entry for dir_entry in scanned if dir_entry.name not in LEFT_OUT), key=lambda one: one.name
            )
        for entry in entries:
            yield entry.path, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from list_entries(entry.path)
    except OSError:
        return


def check_width(app: App, trees: Iterable[str]) -> None:
    """Raises: ClawftError for a folder that is too much to be watched: the home folder, or one above it."""
    wide = next((tree for tree in trees if _within(app.workspace.home, tree)), None)
    if wide is not None:
        message = "A folder of skills that holds the whole home folder is not watched"
        raise ClawftError("watch-wide", message, path=wide, hint="Name a smaller folder in skills.load.extra_dirs")
