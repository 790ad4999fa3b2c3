"""The origin of skills: the user's own, written by hand into their own folders, or untrusted, which is everything
else."""

import os
import re
from collections.abc import Iterable, Mapping
from itertools import chain

import msgspec

from clawft.errors import ClawftError, Unreadable
from clawft.files import is_within, read_files, read_optional, real_path
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.locations import Location
from clawft.workspace import Workspace

MAX_LOCK_BYTES = 8 << 20
_OWN_LOCK = "skills.lock"  # ours, in the user's folder
# Where installers note what they brought: beside the folder of skills.
_LOCKS = (".clawhub/lock.json", ".clawdhub/lock.json")
_SHARED_LOCK = ".skill-lock.json"  # of one that copies or links what it brings into the folders of all clients
UNTRUSTED_SCOPES = frozenset({"project", "plugin", "mcp", "dir"})
_ALL = frozenset("*")  # a lock that cannot be read: anything may have been brought


class Origins:
    """The check that tells untrusted skills from the user's own, for the locations of one app."""

    def __init__(self, workspace: Workspace, locations: Iterable[Location]) -> None:
        self._project = real_path(workspace.project) if workspace.project != workspace.home else ""
        self._inside: dict[str, bool] = {}
        roots = {location.path for location in locations if location.scope in ("user", "extra")}
        shared = set(_load_own_names(os.path.join(workspace.user_dir, _OWN_LOCK)))
        own: dict[str, frozenset[str]] = {}
        files = {root: _list_root_locks(root) for root in roots}
        locks = read_files(chain.from_iterable(files.values()), MAX_LOCK_BYTES)
        for root, paths in files.items():
            names = {path: _parse_names(locks[path]) for path in paths if path in locks}
            shared.update(names.get(paths[0], frozenset()) - _ALL)
            own[root] = frozenset().union(*names.values())
        noted = roots if shared else {root for root in roots if own[root]}
        bases = {base: own[root] | shared for root in noted for base in (root, real_path(root))}
        self._installed = [(base, names) for base, names in bases.items() if base and names]

    def why_untrusted(self, found: DiscoveredSkill) -> str:
        """Return why a skill needs an approval; '' for the user's own and for what came with weft."""
        at = found.location
        if at.scope == "plugin":
            return f"It comes with the plugin {at.layer}"
        if at.scope == "mcp":
            return f"It comes from the MCP server '{at.layer}'"
        if at.scope in UNTRUSTED_SCOPES:
            return f"It comes with the {'folder' if at.scope == 'dir' else at.scope}"
        if at.scope in ("user", "extra") and self._project and self._lies_in_project(found):
            return "It comes with the project"
        return "It was installed" if self._installed and self._is_installed(found) else ""

    def _lies_in_project(self, found: DiscoveredSkill) -> bool:
        """Return whether a folder of the user's, or a link there, leads into the project, whose programs can
        change it."""
        above = os.path.dirname(found.folder)
        if above not in self._inside:
            self._inside[above] = is_within(real_path(above), self._project)
        linked = os.path.islink(found.folder) and is_within(real_path(found.folder), self._project)
        return self._inside[above] or linked

    def _is_installed(self, found: DiscoveredSkill) -> bool:
        """Return whether a skill is, or lies within, what an installer brought; a link counts as what it leads to."""
        return any(
            is_within(folder, base)
            and (names >= _ALL or not names.isdisjoint(_plain(part) for part in folder[len(base) :].split("/") if part))
            for folder in {found.folder, real_path(found.folder)}
            for base, names in self._installed
        )


def list_locks(workspace: Workspace, locations: Iterable[Location]) -> set[str]:
    """Every file, there or not, that tells what was installed."""
    roots = {os.path.dirname(location.path) for location in locations if location.scope in ("user", "extra")}
    paths = {os.path.join(root, lock) for root in roots for lock in (*_LOCKS, _SHARED_LOCK)}
    return paths | {os.path.join(workspace.user_dir, _OWN_LOCK)}


def _list_root_locks(root: str) -> list[str]:
    """The locks that may say what was installed into a root, first the shared one; where no skill is, nothing was
    brought."""
    locks = (_SHARED_LOCK, *_LOCKS) if os.path.isdir(root) else (_SHARED_LOCK,)
    return [os.path.join(os.path.dirname(root), lock) for lock in locks]


def _load_own_names(path: str) -> frozenset[str]:
    """Load the names of installed skills from weft's own lock. A lock in an unexpected format is parsed in full, and
    strictly."""
    try:
        data = read_optional(path, MAX_LOCK_BYTES)
    except Unreadable:
        return _ALL
    if data is None:
        return frozenset()
    from clawft.install.lockfile.model import find_names  # most users never installed anything

    names = find_names(data)
    if names is None:
        from clawft.install.lockfile.file import parse_lock

        try:
            names = list(parse_lock(data, path))
        except ClawftError:
            return _ALL
    return frozenset(map(_plain, names))


def _parse_names(data: bytes | Unreadable) -> frozenset[str]:
    """The names of the skills that a lock says were installed."""
    if isinstance(data, Unreadable):
        return _ALL
    try:
        skills = msgspec.json.decode(data)["skills"]
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError):
        return _ALL
    if not isinstance(skills, Mapping):
        return _ALL
    return frozenset(_plain(str(name).replace(":", "/").rpartition("/")[2]) for name in skills)


def _plain(name: str) -> str:
    """A name as installers make it the name of a folder: 'My Skill' lies in my-skill."""
    return re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-.")
