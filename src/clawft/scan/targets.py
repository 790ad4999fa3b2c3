"""What a path means to a scan: one skill, file or archive, or every skill below a folder and what is left outside."""

import os

from msgspec import Struct

__all__ = ["Target", "find_targets", "holding_skill"]

SKILL_FILES = frozenset({"skill.md", "skill.json"})
MAX_FOLDERS = 100_000
MAX_UP = 8


class Target(Struct, frozen=True):
    """One thing to scan, as one report."""

    path: str
    without: tuple[str, ...] = ()  # the skills inside it, which are targets of their own


def find_targets(path: str) -> list[Target]:
    """What there is to scan at a path: a skill is scanned whole, a folder of skills one by one and then the rest.

    Whatever no skill holds is in the rest, however deep it lies. No link is followed below the path.

    Raises: OSError, when the path is missing.
    """
    os.stat(path)  # also of '', which is no path
    path = os.path.abspath(path)
    if os.path.islink(path):  # it was named, so it is followed
        path = os.path.realpath(path)
    if os.path.basename(path).lower() == "skill.md":  # the skill is meant, not the one file of it
        path = os.path.dirname(path)
    if not os.path.isdir(path) or _is_skill(path):
        return [Target(path)]
    skills, outside = _find_skills(path)
    rest = [Target(path, tuple(skills))] if outside or not skills else []
    return [*(Target(one) for one in skills), *rest]


def holding_skill(path: str, top: str) -> str | None:
    """The skill folder that a file lies in; not looked for above `top` where the file lies below that."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(MAX_UP):
        if _is_skill(folder):
            return folder
        above = os.path.dirname(folder)
        if above in (folder, os.path.dirname(top)):
            return None
        folder = above
    return None


def _is_skill(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.lower() in SKILL_FILES for entry in entries)
    except OSError:
        return False


def _find_skills(root: str) -> tuple[list[str], bool]:
    """The skill folders below a folder, sorted, and whether anything else is there."""
    skills: list[str] = []
    pending, outside = [root], False
    for _ in range(MAX_FOLDERS):
        if not pending:
            return sorted(skills), outside
        folder = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError:
            outside = True  # the scan of the rest says so
            continue
        if any(entry.name.lower() in SKILL_FILES for entry in entries):
            skills.append(folder)
            continue
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
        pending += folders
        outside = outside or len(folders) < len(entries)
    return sorted(skills), True
