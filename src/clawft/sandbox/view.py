"""A confinement in terms of this machine: which real files and folders a program sees, and which it may change."""

import os
from collections.abc import Iterable

from msgspec import Struct

from clawft.config.sandbox import SandboxSettings
from clawft.files import is_within, real_path
from clawft.git import find_git_dir
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.guard import Guard, Guards
from clawft.sandbox.system import FOLDERS, find_programs
from clawft.workspace import Workspace, resolve_path

__all__ = ["View", "Viewer"]

_NEVER = ("/proc", "/sys", "/dev")


class View(Struct, frozen=True):
    """Pairs are (real place, where it is seen); roots come before what lies in them.

    `inside` lies in this program's own folder, which is hidden otherwise. `links` are (target, link). `own` are folders
    that nobody else uses: all in them may be changed.
    """

    readable: tuple[tuple[str, str], ...] = ()
    writable: tuple[tuple[str, Guard], ...] = ()
    hidden: tuple[str, ...] = ()
    inside: tuple[tuple[str, str], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    own: tuple[str, ...] = ()


class Viewer:
    """Makes views of confinements, with what the settings add."""

    def __init__(self, settings: SandboxSettings, workspace: Workspace) -> None:
        self._settings = settings
        self._workspace = workspace
        self._guards = Guards(workspace.home, workspace.user_dir)
        self._user_dir = real_path(workspace.user_dir)
        self._programs: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, str], ...]] = {}

    def view(self, confinement: Confinement, path: str, *, by_children: bool = False) -> View:
        """What a program sees that searches `path` for others."""
        further = ((), ()) if confinement.only else (self._settings.writable, self._settings.readable)
        writable = self._roots((*confinement.writable, *further[0]))
        shown = [one for one in self._roots(confinement.shown) if not _is_below(one, writable)]
        readable = self._roots((*confinement.readable, *further[1], *shown))
        inside = [one for one in readable if _is_below(one, (self._user_dir,))]
        elsewhere = [one for one in map(find_git_dir, writable) if one]
        outside = [one for one in (*readable, *elsewhere) if one not in inside]
        seen = [(one, one) for one in outside if not _is_below(one, writable)]
        programs = [pair for pair in self._find_programs(path, tuple(writable)) if not _is_below(pair[0], writable)]
        guarded = tuple((one, self._guards.find(one, path=path, by_children=by_children)) for one in writable)
        secrets = [path for one in shown for path in self._guards.find(one).hidden]
        secrets += [path for one in elsewhere for path in self._guards.secret_files.find_configs(one)]
        hidden = (*self._hidden([one for one, _ in seen]), *secrets, *confinement.hidden)
        pairs = sorted({*seen, *programs}, key=lambda pair: len(pair[1]))
        within = tuple((one, one) for one in inside)
        links = self._links([*writable, *shown], pairs)
        own = tuple(self._roots(confinement.own))
        mounts = tuple((real_path(source) or source, seen) for source, seen in confinement.mounts)
        if not by_children:  # nothing can be mounted there, so git cannot read such a config
            mounts += self._guards.secret_files.find_copies(
                (*hidden, *(one for _, guard in guarded for one in guard.hidden))
            )
        return View(tuple(pairs), guarded, tuple(dict.fromkeys(hidden)), within, mounts, links, own)

    def _roots(self, paths: Iterable[str]) -> list[str]:
        """Real paths that exist, outer ones first. What the kernel makes, and this program's own folder, is no root."""
        home, project = self._workspace.home, self._workspace.project
        real = {real_path(resolve_path(one, project, home)) for one in paths} - {"", "/", self._user_dir}
        return sorted((one for one in real if not _is_below(one, _NEVER) and os.path.exists(one)), key=len)

    def _hidden(self, readable: list[str]) -> tuple[str, ...]:
        """What of the home stays out of sight where all of it was granted: this program's folder, and secrets."""
        home = real_path(self._workspace.home)
        is_seen = _is_below(self._user_dir, readable) and os.path.exists(self._user_dir)  # else nothing can hide it
        secrets = self._guards.find(home).hidden if home and _is_below(home, readable) else ()
        return tuple(dict.fromkeys((*((self._user_dir,) if is_seen else ()), *secrets)))

    def _links(self, roots: list[str], pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """The project under the name that people know it by, where that leads through a link."""
        known = self._workspace.project
        real = real_path(known)
        taken = (*roots, *(seen for _, seen in pairs), *_NEVER, *FOLDERS)
        usable = real != known and real in roots and not _is_below(known, taken)
        return ((real, known),) if usable else ()

    def _find_programs(self, path: str, writable: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        known = self._programs.get((path, writable))
        if known is None:
            home, closed = real_path(self._workspace.home), (self._user_dir,)
            known = self._programs[path, writable] = find_programs(path, home, closed, writable)
        return known


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(is_within(path, root) for root in roots)
