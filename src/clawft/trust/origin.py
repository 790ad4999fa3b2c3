"""Whose a skill is. What the user wrote by hand into their own folders is theirs; all else is a stranger's (D27)."""

import os
from collections.abc import Iterable, Mapping

import msgspec

from clawft.discovery.catalog import Found
from clawft.discovery.locations import Location
from clawft.errors import Unreadable
from clawft.files import read_optional, real_path
from clawft.workspace import Workspace

__all__ = ["Origins"]

MAX_LOCK_BYTES = 8 << 20
# Where installers note what they brought: beside the folder of skills.
_LOCKS = (".clawhub/lock.json", ".clawdhub/lock.json", ".skill-lock.json")
_STRANGE = frozenset({"project", "plugin", "dir"})
_ALL = frozenset("*")  # a lock that cannot be read: anything may have been brought


class Origins:
    """Tells strangers' skills from the user's own, for the locations of one app."""

    def __init__(self, workspace: Workspace, locations: Iterable[Location]) -> None:
        self._project = real_path(workspace.project) if workspace.project != workspace.home else ""
        users = {one.path for one in locations if one.scope in ("user", "extra")}
        self._installed: dict[str, frozenset[str]] = {
            root: names for root in users if (names := _load_names(root)) is not None
        }

    def why_strange(self, found: Found) -> str:
        """Why a skill needs an approval; nothing for the user's own and for what came with the program."""
        at = found.location
        if at.scope in _STRANGE:
            return f"It comes with the {'folder' if at.scope == 'dir' else at.scope}"
        if at.scope == "extra" and self._project and _is_within(real_path(at.path), self._project):
            return "It comes with the project"
        return "It was installed" if self._installed and self._is_installed(found) else ""

    def _is_installed(self, found: Found) -> bool:
        name = os.path.basename(found.folder)
        for root, names in self._installed.items():
            if names is _ALL:
                if _is_within(real_path(found.folder), real_path(root)):
                    return True
            elif name in names and real_path(found.folder) == real_path(os.path.join(root, name)):
                return True  # also where a client's folder only links to it
        return False


def _load_names(root: str) -> frozenset[str] | None:
    """The folders that an installer brought to a root; None where no installer left a note."""
    names: set[str] = set()
    noted = False
    for lock in _LOCKS:
        try:
            data = read_optional(os.path.join(os.path.dirname(root), lock), MAX_LOCK_BYTES)
        except Unreadable:
            return _ALL
        if data is None:
            continue
        noted = True
        listed = _parse_names(data)
        if listed is None:
            return _ALL
        names |= listed
    return frozenset(names) if noted else None


def _parse_names(data: bytes) -> set[str] | None:
    try:
        skills = msgspec.json.decode(data)["skills"]
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(skills, Mapping):
        return None
    return {str(name).replace(":", "/").rpartition("/")[2] for name in skills}


def _is_within(path: str, root: str) -> bool:
    return bool(path and root) and (path == root or path.startswith(root.rstrip("/") + "/"))
