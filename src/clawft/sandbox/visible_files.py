"""The files and folders of this machine that a confined program sees, and which of them it may change."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from clawft.config.tools import SandboxSettings
from clawft.files import find_within, is_within_any, real_path, real_paths
from clawft.git import find_git_dir
from clawft.sandbox.confinement import Confinement, ResourceLimits
from clawft.sandbox.guard import FolderGuard, FolderGuards, find_denied
from clawft.sandbox.pinned_path import PinnedPath, find_pinned, make_changed_error, open_pinned
from clawft.sandbox.proxy import HostAccess
from clawft.workspace import Workspace, resolve_path

FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
ETC = (
    "alternatives", "bash.bashrc", "ca-certificates", "crypto-policies", "debian_version", "fonts", "gitconfig",
    "host.conf", "java-17-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf",
    "localtime", "magic", "magic.mime", "mime.types", "nsswitch.conf", "os-release", "papersize", "perl",
    "pki/ca-trust", "pki/tls/certs", "profile", "protocols", "python3", "services", "shells", "ssl/certs",
    "ssl/openssl.cnf", "static", "terminfo", "timezone", "xdg",
)  # fmt: skip
# What weft's own programs need, not the user's commands: to start, and to know the time and the trusted certificates.
LEAST_ETC = ("ld.so.cache", "localtime", "nsswitch.conf", "pki/tls/certs", "ssl/certs")
# What a folder of programs leans on, from the folder above it; less where that also holds other things of the user.
_SIBLING_FOLDERS = (
    "lib", "lib64", "libexec", "share", "include", "plugins", "versions", "installs", "shims", "bin", "pyvenv.cfg",
)  # fmt: skip
_SIBLING_FOLDERS_AT_HOME = ("lib", "lib64", "libexec")
_FURTHER = {".cargo/bin": ".rustup", ".volta/bin": ".volta/tools"}
# Where tools put interpreters and other programs, and nothing else: uv, pyenv, nvm, asdf, mise, pipx, rbenv, conda, …
_TOOLCHAIN = re.compile(
    r"/(?:opt|snap)/[^/]+(?=/)|/home/linuxbrew/\.linuxbrew(?=/)|/.*?/(?:\.(?:pyenv|rbenv|nvm)/versions|\.asdf/installs"
    r"|\.local/share/(?:uv/python|mise/installs|pipx/venvs)|\.local/pipx/venvs|\.rustup/toolchains|\.volta/tools"
    r"|(?:miniconda|anaconda|miniforge|mambaforge)3?)(?=/)"
)
_MAX_ENTRIES = 400
_MAX_FOLDERS = 64


def find_programs(
    path: str, home: str, closed: tuple[str, ...], writable: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Folders of PATH outside the system's own, with what belongs to them: pairs (real place, where it is seen).

    None of `closed` is among them, nor a folder that holds one of these: a PATH with `~` in it gives no home away. In a
    folder that is `writable` a confined program can make links; those open nothing but known places of toolchains.
    """
    searched = (folder for folder in path.split(os.pathsep) if os.path.isabs(folder) and not _is_system(folder))
    folders = [*dict.fromkeys(map(os.path.normpath, searched))]
    places: dict[str, None] = {}
    for folder, real in zip(folders, real_paths(folders), strict=True):
        is_theirs = bool(find_within((folder, real), writable))
        belonging = _list_toolchains(folder) if is_theirs else _belonging(folder, home)
        places.update(dict.fromkeys(filter(os.path.exists, belonging)))
    pairs = zip(real_paths(places), places, strict=True)
    usable = ((real, place) for real, place in pairs if not _is_system(real) and _is_open(real, home, closed))
    return tuple(islice(usable, _MAX_FOLDERS))


def _list_toolchains(folder: str) -> list[str]:
    """The known places of toolchains that links in a folder of programs lead to."""
    return sorted({found[0] for target in _linked(folder) if (found := _TOOLCHAIN.match(target + "/"))})


def _belonging(folder: str, home: str) -> Iterator[str]:
    yield from _with_siblings(folder, home)
    further = _FURTHER.get(os.path.relpath(folder, home)) if home else None
    if further:
        yield os.path.join(home, further)
    for target in sorted(_linked(folder)):
        yield from _with_siblings(target, home)


def _with_siblings(folder: str, home: str) -> Iterator[str]:
    yield folder
    above, name = os.path.split(folder)
    if name in ("bin", "sbin", "shims"):
        at_home = above in (home, os.path.join(home, ".local"))
        yield from (
            os.path.join(above, sibling) for sibling in (_SIBLING_FOLDERS_AT_HOME if at_home else _SIBLING_FOLDERS)
        )


def _linked(folder: str) -> set[str]:
    """Folders elsewhere that hold what links in a folder of programs lead to, as in virtual environments."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in islice(entries, _MAX_ENTRIES) if entry.is_symlink()]
    except OSError:
        return set()
    targets = {os.path.dirname(real) for real in real_paths(links) if real and not _is_system(real)}
    return targets - {folder}


def _is_system(path: str) -> bool:
    return path == "/" or any(path == folder or path.startswith(folder + "/") for folder in FOLDERS)


def _is_open(real: str, home: str, closed: tuple[str, ...]) -> bool:
    """Return whether a folder is neither a place that must stay hidden, nor above or below one, nor the home folder."""
    if (home + "/").startswith(real.rstrip("/") + "/"):
        return False
    return not any(f"{real}/".startswith(f"{path}/") or f"{path}/".startswith(f"{real}/") for path in closed)


_NEVER = ("/proc", "/sys", "/dev")


class SessionTmp(Struct, frozen=True):
    """The folder that the commands of a session see as `/tmp`, and the places in it that are mounted on themselves, by
    the names that commands see."""

    place: PinnedPath
    pins: tuple[tuple[PinnedPath, str], ...] = ()


class VisibleFiles(Struct, frozen=True):
    """Pairs are (place, where it is seen); roots come before what lies in them.

    `inside` lies in this program's own folder, which is hidden otherwise. `links` are (target, link). `own` are folders
    that nobody else uses: all in them may be changed. `copies` are changed in the place of what they are copies of.
    """

    readable: tuple[tuple[PinnedPath, str], ...] = ()
    writable: tuple[tuple[PinnedPath, FolderGuard], ...] = ()
    hidden: tuple[str, ...] = ()
    inside: tuple[tuple[PinnedPath, str], ...] = ()
    mounts: tuple[tuple[PinnedPath, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    own: tuple[PinnedPath, ...] = ()
    tmp: SessionTmp | None = None  # what is seen as /tmp; an empty one of its own, if there is none
    copies: tuple[tuple[PinnedPath, str], ...] = ()


class VisibleFilesBuilder:
    """Find what a confinement lets a program see, with what the settings add."""

    def __init__(self, settings: SandboxSettings, workspace: Workspace) -> None:
        self._settings = settings
        self._workspace = workspace
        self._guards = FolderGuards(workspace.home, workspace.user_dir)
        self._user_dir = real_path(workspace.user_dir)
        self._programs: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, str], ...]] = {}

    def build(self, confinement: Confinement, path: str, *, by_children: bool = False) -> VisibleFiles:
        """Return what a program sees that searches `path` for others. Every name that was granted is opened here.

        Raises: Refused for a name that leads elsewhere by now.
        """
        further = ((), ()) if confinement.only else (self._settings.writable, self._settings.readable)
        open_roots = partial(self._open, self._list_changeable(confinement))
        opened = open_roots((*confinement.writable, *further[0]))
        guarded_only = open_roots(confinement.readable)
        whole = open_roots((*further[1], *(path for paths in confinement.whole.values() for path in paths)))
        places = {**opened, **guarded_only, **whole}
        writable = sorted(opened, key=len)
        elsewhere = [git_dir for git_dir in map(find_git_dir, writable) if git_dir]
        programs = self._find_programs(path, tuple(writable))
        covered = find_within((*guarded_only, *whole, *elsewhere, *(real for real, _ in programs)), writable)
        shown = [root for root in sorted(guarded_only, key=len) if root not in covered]
        readable = sorted({*whole, *shown}, key=len)
        inside = find_within(readable, (self._user_dir,))
        seen = [(root, root) for root in (*readable, *elsewhere) if root not in inside and root not in covered]
        guarded = tuple(
            (places[root], self._guards.find(root, path=path, by_children=by_children, denied=confinement.denied))
            for root in writable
        )
        secrets = [path for root in shown for path in self._guards.find(root, denied=confinement.denied).hidden]
        named = find_within(whole, open_roots((*further[1], *confinement.whole.get("named", ()))))
        secrets += [path for root in named for path in find_denied(root, confinement.denied)[0]]
        secrets += [path for git_dir in elsewhere for path in self._guards.secret_files.find_configs(git_dir)]
        hidden = (*self._hidden([root for root, _ in seen]), *secrets, *confinement.hidden)
        pairs = sorted({*seen, *(pair for pair in programs if pair[0] not in covered)}, key=lambda pair: len(pair[1]))
        links = self._links([*writable, *shown], pairs)
        copies = [*confinement.mounts]
        if not by_children:  # nothing can be mounted there, so git cannot read such a config
            closed = (*hidden, *(hidden_path for _, guard in guarded for hidden_path in guard.hidden))
            copies += self._guards.secret_files.find_copies(closed)
        return VisibleFiles(
            tuple((place, at) for root, at in pairs if (place := places.get(root) or find_pinned(root))),
            guarded,
            tuple(dict.fromkeys(hidden)),
            tuple((places[root], root) for root in inside),
            tuple((_need(source), at) for source, at in copies),
            links,
            tuple(self._open((), confinement.own).values()),
        )

    def list_named(self, root: str) -> tuple[list[str], list[str]]:
        """List what steers other programs in a writable folder now, and what could not be looked into.

        Raises: Refused.
        """
        return self._guards.list_named(root)

    def _list_changeable(self, confinement: Confinement) -> tuple[str, ...]:
        """List the folders in which programs can make links: the project, and what the settings or this grant let them
        change. One that lies in another may be such a link itself, so only the outermost count."""
        home, project = self._workspace.home, self._workspace.project
        granted = (resolve_path(path, project, home) for path in (*self._settings.writable, *confinement.writable))
        found = {project, real_path(project), *granted} - {"", "/"}
        return tuple(path for path in found if not is_within_any(path, found - {path}))

    def _open(self, changeable: Sequence[str], paths: Iterable[str]) -> dict[str, PinnedPath]:
        """Places that exist, by real path. What the kernel makes, and this program's own folder, is none.

        Raises: Refused.
        """
        home, project = self._workspace.home, self._workspace.project
        found = (open_pinned(resolve_path(path, project, home), changeable) for path in dict.fromkeys(paths))
        never = ("/", self._user_dir)
        return {
            place.path: place
            for place in found
            if place and place.path not in never and not is_within_any(place.path, _NEVER)
        }

    def _hidden(self, readable: list[str]) -> tuple[str, ...]:
        """List what stays hidden in the home folder where all of it was granted: weft's own folder, and secrets."""
        home = real_path(self._workspace.home)
        is_seen = is_within_any(self._user_dir, readable) and os.path.exists(self._user_dir)  # else nothing can hide it
        secrets = self._guards.find(home).hidden if home and is_within_any(home, readable) else ()
        return tuple(dict.fromkeys((*((self._user_dir,) if is_seen else ()), *secrets)))

    def _links(self, roots: list[str], pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """The project under the name that people know it by, where that leads through a link."""
        known = self._workspace.project
        real = real_path(known)
        taken = (*roots, *(seen for _, seen in pairs), *_NEVER, *FOLDERS)
        usable = real != known and real in roots and not is_within_any(known, taken)
        return ((real, known),) if usable else ()

    def _find_programs(self, path: str, writable: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        known = self._programs.get((path, writable))
        if known is None:
            home, closed = real_path(self._workspace.home), (self._user_dir,)
            known = self._programs[path, writable] = find_programs(path, home, closed, writable)
        return known


def _need(source: str) -> PinnedPath:
    """Open a source that must exist to be shown in another place. Raises: Refused."""
    if place := find_pinned(real_path(source)):
        return place
    raise make_changed_error(source)


_SIGNALS = 31


class ConfinedProgram(Struct, frozen=True):
    """`access` checks the hosts that it may reach; None where there is no network for it. `quiet_s` is how long a
    connection to one is kept on which nothing moves."""

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    visible: VisibleFiles
    limits: ResourceLimits
    access: HostAccess | None = None
    quiet_s: float = 300.0


def signal_code(code: int) -> int:
    """The code of a program as its parent would see it: what was ended by a signal comes out as 128 and more."""
    return 128 - code if 128 < code <= 128 + _SIGNALS else code
