"""The folders that skills are installed to, for each client in a scope, and the lock of that scope."""

import os
import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from clawft.errors import ClawftError, Refused
from clawft.files import NEW, REMOVED, is_within, real_path
from clawft.install.lockfile.file import is_plain_name
from clawft.install.lockfile.model import LOCK_NAME
from clawft.skills.parse.model import slugify
from clawft.workspace import MARKER, Workspace

InstallScope = Literal["user", "project"]
CLIENTS = ("clawft", "agents", "claude", "openclaw")
_HIDDEN = {"agents": ".agents/skills", "claude": ".claude/skills", "openclaw": ".openclaw/skills"}


# What Windows takes for a device: a lock is shared by machines.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


class InstallSite(Struct, frozen=True):
    """One scope: the folder of skills of each client, and the lock."""

    scope: InstallScope
    base: str  # the home folder, or the project
    roots: dict[str, str]
    lock: str

    def folder(self, client: str, name: str) -> str:
        """Return the path of a skill, as the search for skills names it."""
        return os.path.join(self.roots[client], name)

    def choose(self, asked: Iterable[str]) -> tuple[str, ...]:
        """The clients that were asked for, in one order. Raises: Refused for a folder that leads elsewhere."""
        named = set(asked) or {CLIENTS[0]}
        chosen = tuple(client for client in CLIENTS if client in named or "all" in named)
        self.check(os.path.dirname(self.lock), *(self.roots[chosen_client] for chosen_client in chosen))
        return chosen

    def check(self, *folders: str) -> None:
        """Check that no link among a project's files, which are untrusted, leads to files outside it. Raises:
        Refused."""
        for folder in folders if self.scope == "project" else ():
            if not is_within(real_path(folder), real_path(self.base)):
                hint = "Remove the link, or install for yourself: --scope user"
                raise Refused("install-link", "This folder leads out of the project", path=folder, hint=hint)


def find_site(workspace: Workspace, scope: InstallScope) -> InstallSite:
    """The folders and the lock of a scope. Raises: ClawftError where there is no project."""
    if scope == "user":
        roots = {"clawft": os.path.join(workspace.user_dir, "skills")}
        roots |= {name: os.path.join(workspace.home, below) for name, below in _HIDDEN.items()}
        return InstallSite(scope, workspace.home, roots, os.path.join(workspace.user_dir, LOCK_NAME))
    base = workspace.project
    own = os.path.join(base, MARKER)
    if real_path(own) == real_path(workspace.user_dir):
        hint = "Go to the folder of a project, or say --scope user"
        raise ClawftError("no-project", "The home folder is no project", path=base, hint=hint)
    roots = {"clawft": os.path.join(own, "skills")}
    roots |= {name: os.path.join(base, below) for name, below in _HIDDEN.items()} | {
        "openclaw": os.path.join(base, "skills")
    }
    return InstallSite(scope, base, roots, os.path.join(own, LOCK_NAME))


def check_name(*names: str) -> str:
    """The first of these names that a folder of a skill can have, else made into one. Raises: Refused."""
    for name in (each for candidate in names for each in (candidate, slugify(candidate))):
        if is_plain_name(name) and not _DEVICES.fullmatch(name):
            return name
    message = f"'{names[0][:80]}' is no name that a folder could have"
    raise Refused("install-name", message, hint="Letters, digits, '-' and '_'")


def staged_name(number: int, transaction: str, *, removed: bool = False) -> str:
    """Return the hidden name of a folder of a transaction, so that a cleanup knows which one it belongs to."""
    return f"{REMOVED if removed else NEW}{transaction}-{number}"
