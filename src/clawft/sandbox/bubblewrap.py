"""Bubblewrap: a root of its own that holds only what is named, in namespaces of its own.

All flags but the program's own words go through a descriptor, so that no other user of the machine sees a value of
the environment in the list of processes; and bubblewrap itself gets none of that environment.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

from clawft.files import is_within
from clawft.sandbox.confinement import Limits
from clawft.sandbox.guard import Guard
from clawft.sandbox.system import ETC, FOLDERS
from clawft.sandbox.view import View

__all__ = ["base_flags", "view_flags"]

_ALONE = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv",
)  # fmt: skip


def base_flags(home: str, limits: Limits, *, nested: bool, etc: Sequence[str] = ETC) -> list[str]:
    """Namespaces and the minimal root. `nested` keeps user namespaces usable, where they cannot be turned off."""
    flags = [*_ALONE, *(() if nested else ("--disable-userns",))]
    for folder in FOLDERS:
        if os.path.islink(folder):
            flags += "--symlink", os.readlink(folder), folder
        elif os.path.isdir(folder):
            flags += "--ro-bind", folder, folder
    for name in etc:
        if os.path.lexists(f"/etc/{name}"):
            flags += _show_setting(f"/etc/{name}")
    room = str(limits.tmp_bytes)
    # Root may write below /proc/sys and the like without any capability, since the files are root's.
    flags += "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", room, "--tmpfs", "/dev/shm"
    for folder in ("/tmp", "/var/tmp"):
        flags += "--perms", "1777", "--size", room, "--tmpfs", folder
    flags += "--dir", "/run"
    if home and home != "/" and not home.startswith(("/usr/", "/proc", "/dev")):
        flags += "--perms", "0700", "--size", room, "--tmpfs", home
    return flags


def _show_setting(path: str) -> Sequence[str]:
    """A link into the system's own folders stays one: it tells the name of the time zone, without which Deno and Node
    compare every zone that there is, for 12 ms."""
    real = os.path.realpath(path)
    if os.path.islink(path) and any(is_within(real, folder) for folder in FOLDERS):
        return ("--symlink", real, path)
    return ("--ro-bind-try", path, path)


def view_flags(view: View, env: Mapping[str, str], cwd: str) -> list[str]:
    """What of the rest of the machine is there for one program, and its environment."""
    flags: list[str] = []
    for source, seen in view.readable:
        flags += "--ro-bind-try", source, seen
    for root, guard in view.writable:
        flags += _root_flags(root, guard)
    hidden = [path for _, guard in view.writable for path in guard.hidden] + [*view.hidden]
    for path in hidden:
        flags += _hide(path)
    for source, seen in (*view.inside, *view.mounts):  # these may lie in a place that is hidden as a whole
        flags += "--ro-bind", source, seen
    flags += _bind("--bind", view.own)
    for target, link in view.links:
        flags += "--symlink", target, link
    for path in (*filter(os.path.isdir, hidden), "/"):
        flags += "--remount-ro", path
    flags += "--chdir", cwd
    for name, value in env.items():
        flags += "--setenv", name, value
    return flags


def _root_flags(root: str, guard: Guard) -> list[str]:
    flags = ["--bind" if guard.children is None else "--ro-bind", root, root]
    flags += _bind("--bind-try", (*(guard.children or ()), *guard.pinned))  # what is mounted cannot be moved
    flags += _bind("--ro-bind-try", guard.read_only)
    return flags + _bind("--ro-bind", guard.missing)


def _bind(flag: str, paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in (flag, path, path)]


def _hide(path: str) -> Sequence[str]:
    """A folder is empty and cannot be listed; a file is a device that cannot be opened where no device may be."""
    if os.path.isdir(path):
        return ("--perms", "0111", "--tmpfs", path)
    return ("--ro-bind-try", "/dev/null", path)
