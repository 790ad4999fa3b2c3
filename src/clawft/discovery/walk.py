"""Find skill folders below a location (D8): bounded depth and count, no link out of it, no folder twice."""

import os
from collections.abc import Callable

from clawft.errors import Diagnostic

__all__ = ["MAX_DEPTH", "walk_skills"]

MAX_DEPTH = 4
MAX_FOLDERS = 100_000
_SKIPPED = frozenset({"node_modules", "__pycache__"})
_LEGACY = "skill.json"

Visit = Callable[[str, str], bool]


class _Walk:
    def __init__(self, root: str, visit: Visit) -> None:
        self.root = root
        self.visit = visit
        self.real_root = os.path.realpath(root)
        self.seen: set[str] = set()
        self.folders = 0
        self.too_deep: list[str] = []
        self.diagnostics: list[Diagnostic] = []

    def enter(self, folder: str, depth: int) -> None:
        """Look at a folder that holds no SKILL.md: another spelling of it, a legacy skill, or folders below."""
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.say("unreadable", "warning", f"The folder cannot be read: {error.strerror}", folder)
            return
        file = next((entry.name for entry in listed if entry.name.lower() == "skill.md"), "") or next(
            (entry.name for entry in listed if entry.name == _LEGACY), ""
        )
        if file and self.visit(folder, file):
            return
        for entry in listed:
            name = entry.name
            if name[0] == "." or name in _SKIPPED or not self.is_folder(entry):
                continue
            if depth >= MAX_DEPTH:
                self.too_deep.append(entry.path)
                return
            self.folders += 1
            if self.folders > MAX_FOLDERS:
                self.say("too-many-folders", "warning", f"More than {MAX_FOLDERS} folders; the rest was not searched", folder)
                return
            path = f"{folder}/{name}"
            if not self.visit(path, "SKILL.md"):
                self.enter(path, depth + 1)

    def is_folder(self, entry: os.DirEntry[str]) -> bool:
        """A folder to look into. A link counts only if it stays below the root and was not seen yet."""
        if not entry.is_symlink():
            return entry.is_dir()
        real = os.path.realpath(entry.path)
        if not os.path.isdir(real):
            return False
        if not is_below(real, self.real_root):
            self.say("link-leaves-root", "warning", f"The link leads out of the searched folder, to {real}; it was not followed", entry.path, "Add that folder to skills.load.extra_dirs")
            return False
        if real in self.seen:
            return False
        self.seen.add(real)
        return True

    def say(self, code: str, severity: str, message: str, path: str, hint: str = "") -> None:
        self.diagnostics.append(Diagnostic(code, severity, message, path, 0, hint))  # type: ignore[arg-type]


def is_below(path: str, root: str) -> bool:
    """Whether an absolute, resolved path is the root or inside it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def walk_skills(root: str, visit: Visit) -> list[Diagnostic]:
    """Call `visit(folder, file)` for each folder that may hold a skill, in sorted order; it tells whether it does.

    A folder that does is not searched further. Returns what was left out.
    """
    walk = _Walk(root, visit)
    if not visit(root, "SKILL.md"):
        walk.enter(root, 0)
    if walk.too_deep:
        walk.say("depth-limit", "note", f"Folders more than {MAX_DEPTH} levels down were not searched ({len(walk.too_deep)} places, the first is this)", walk.too_deep[0])
    return walk.diagnostics
