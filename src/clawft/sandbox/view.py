"""A confinement in terms of this machine: which real files and folders a program sees, and which it may change."""

import os
from collections.abc import Iterable

from msgspec import Struct

from clawft.config.sandbox import SandboxSettings
from clawft.files import real_path
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.guard import Guard, Guards
from clawft.sandbox.system import FOLDERS, find_programs
from clawft.workspace import Workspace, resolve_path

__all__ = ["View", "Viewer"]

_NEVER = ("/", "/proc", "/sys", "/dev", "/etc", "/tmp", "/run", "/var", *FOLDERS)


class View(Struct, frozen=True):
    """Pairs are (real place, where it is seen); roots come before what lies in them."""

    readable: tuple[tuple[str, str], ...] = ()
    writable: tuple[tuple[str, Guard], ...] = ()
    hidden: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()


class Viewer:
    """Makes views of confinements, with what the settings add."""

    def __init__(self, settings: SandboxSettings, workspace: Workspace) -> None:
        self._settings = settings
        self._workspace = workspace
        self._guards = Guards(workspace.home, workspace.user_dir)
        self._user_dir = real_path(workspace.user_dir)
        self._programs: dict[str, tuple[tuple[str, str], ...]] = {}

    def view(self, confinement: Confinement, path: str, *, by_children: bool = False) -> View:
        """What a program sees that searches `path` for others."""
        writable = self._roots((*confinement.writable, *self._settings.writable))
        readable = self._roots((*confinement.readable, *self._settings.readable))
        seen = [(one, one) for one in readable if not _is_below(one, writable)]
        programs = [pair for pair in self._find_programs(path) if not _is_below(pair[0], writable)]
        guarded = tuple((one, self._guards.find(one, by_children=by_children)) for one in writable)
        is_seen = any(_is_below(self._user_dir, (one,)) for one, _ in seen) and os.path.exists(self._user_dir)
        hidden = (self._user_dir,) if is_seen else ()
        pairs = sorted({*seen, *programs}, key=lambda pair: len(pair[1]))
        return View(tuple(pairs), guarded, hidden, confinement.mounts)

    def _roots(self, paths: Iterable[str]) -> list[str]:
        """Real paths that exist, outer ones first. What the system or this program needs for itself is no root."""
        home, project = self._workspace.home, self._workspace.project
        real = {real_path(resolve_path(one, project, home)) for one in paths}
        usable = (one for one in real if one and one not in _NEVER and not _is_below(one, _NEVER[1:4]))
        return sorted((one for one in usable if one != self._user_dir and os.path.exists(one)), key=len)

    def _find_programs(self, path: str) -> tuple[tuple[str, str], ...]:
        if path not in self._programs:
            self._programs[path] = find_programs(path, real_path(self._workspace.home), (self._user_dir,))
        return self._programs[path]


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any((path + "/").startswith(root.rstrip("/") + "/") for root in roots)
