"""The user's folders: home, the user folder, the current folder and the project root.

Everything else takes these as arguments; nothing but the composition root reads the environment.
"""

import os
from collections.abc import Mapping

from msgspec import Struct

MARKER = ".clawft"


class Workspace(Struct, frozen=True):
    """Absolute paths. `user_dir` is `~/.clawft` unless CLAWFT_HOME moves it; `marked` tells whether the project
    root was chosen by a `.clawft/` folder or CLAWFT_PROJECT rather than being just the current folder. `ignored` is a
    `.clawft/` folder on the way up that belongs to another account: it would choose the project, and its config."""

    home: str
    user_dir: str
    cwd: str
    project: str
    marked: bool = False
    ignored: str = ""

    def shorten(self, path: str) -> str:
        """A path as people write it: relative to the current folder or with `~`."""
        if path == self.cwd or path.startswith(self.cwd.rstrip("/") + "/"):
            return os.path.relpath(path, self.cwd)
        if path.startswith(self.home.rstrip("/") + "/"):
            return "~" + path[len(self.home.rstrip("/")) :]
        return path

    def has_unfinished_install(self) -> bool:
        """Return whether an installation is under way or was broken off: one look, for commands that only read."""
        folder = os.path.join(self.user_dir, "installing")
        try:
            return any(name != "turn.lock" for name in os.listdir(folder))
        except OSError:
            return os.path.lexists(folder)  # errors in it are reported where it is read more closely


def find_workspace(environ: Mapping[str, str], cwd: str) -> Workspace:
    """The workspace for an environment and a current folder."""
    home = os.path.abspath(environ.get("HOME") or environ.get("USERPROFILE") or _account_home())
    user_dir = resolve_path(environ.get("CLAWFT_HOME") or f"~/{MARKER}", cwd, home)
    named = environ.get("CLAWFT_PROJECT")
    if named:
        return Workspace(home, user_dir, cwd, resolve_path(named, cwd, home), marked=True)
    found, ignored = _find_marked(cwd, (user_dir, os.path.join(home, MARKER)))
    project = found or cwd
    ignored = "" if os.path.dirname(ignored) == project else ignored
    return Workspace(home, user_dir, cwd, project, marked=bool(found), ignored=ignored)


def _account_home() -> str:
    """The home folder of the account, where the environment names none."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):  # not on Windows, or an account without an entry
        return os.path.expanduser("~")


def resolve_path(path: str, base: str, home: str) -> str:
    """A path as people write it, made absolute: `~` is home, and a relative one starts at `base`."""
    expanded = home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.normpath(os.path.join(base, expanded))


def _find_marked(folder: str, user_dirs: tuple[str, ...]) -> tuple[str, str]:
    """Return the nearest folder, upwards, that holds `.clawft/`, and the nearest marker that was ignored; '' for none.

    The user's own `.clawft/` marks no project, and only the user and root can mark one.
    """
    ignored = ""
    while True:
        marker = os.path.join(folder, MARKER)
        if os.path.isdir(marker) and os.path.realpath(marker) not in map(os.path.realpath, user_dirs):
            if _is_trusted_owner(marker):
                return folder, ignored
            ignored = ignored or marker
        parent = os.path.dirname(folder)
        if parent == folder:
            return "", ignored
        folder = parent


def _is_trusted_owner(path: str) -> bool:
    if not hasattr(os, "getuid"):  # Windows
        return True
    return os.stat(path).st_uid in (0, os.getuid())
