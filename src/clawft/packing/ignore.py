"""Which files of a folder are the skill, and which only lie there: what was left out is told, with the reason."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.files import read_regular
from clawft.packing.limits import SKILL, refuse
from clawft.packing.target import MAX_DEPTH, Target

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["IGNORE_FILES", "SIGNATURE", "Chosen", "LeftOut", "SkillFile", "choose_files"]

SIGNATURE = ".clawft-signature"
IGNORE_FILES = (".gitignore", ".clawhubignore", ".clawdhubignore", ".clawftignore")
_MAX_IGNORE = 1 << 20
_BY_NAME = {
    "node_modules": "packages that are installed",
    "__pycache__": "made by Python",
    "__MACOSX": "made by macOS",
    "CVS": "version control",
    "Thumbs.db": "made by Windows",
    "desktop.ini": "made by Windows",
}
_BY_END = {".pyc": "made by Python", ".pyo": "made by Python", "~": "a backup", ".swp": "a backup"}
_AT_TOP = {"evals": "tests of the skill", "skill-card.md": "written by the registry", "_meta.json": "of a download"}


class SkillFile(Struct, frozen=True):
    """A file that belongs to a skill: its path there, and what it is on disk."""

    path: str
    place: str
    size: int
    executable: bool


class LeftOut(Struct, frozen=True):
    """A file or, with a slash at its end, a folder that does not belong to it."""

    path: str
    reason: str


class Chosen(Struct, frozen=True):
    """What is packed, in the order of bytes, and what is not."""

    files: tuple[SkillFile, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def bytes(self) -> int:
        return sum(one.size for one in self.files)


def choose_files(folder: str) -> Chosen:
    """The files of a skill that anybody but its author needs.

    Left out are hidden files, what tools made, and what the ignore files at its top name. Raises: Refused for links and
    for all else that would not be unpacked again; OSError.
    """
    target = Target("", folder, SKILL)
    ignored = _load_ignored(folder)
    files: list[SkillFile] = []
    left_out: list[LeftOut] = []
    for entry, path in _walk(folder, ignored, left_out):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise refuse("archive-link", f"'{path[:80]}' is a link", folder)
        if not stat.S_ISREG(status.st_mode):
            raise refuse("archive-device", f"'{path[:80]}' is no file", folder)
        target.claim(path)
        target.reserve(path, status.st_size)
        files.append(SkillFile(path, entry.path, status.st_size, bool(status.st_mode & 0o111)))
    files.sort(key=lambda one: os.fsencode(one.path))
    return Chosen(tuple(files), tuple(sorted(left_out, key=lambda one: os.fsencode(one.path))))


def _walk(
    folder: str, ignored: "GitIgnoreSpec | None", left_out: list[LeftOut]
) -> Iterator[tuple[os.DirEntry[str], str]]:
    pending = [(folder, "")]
    while pending:
        current, prefix = pending.pop()
        if prefix.count("/") > MAX_DEPTH:
            raise refuse("archive-path", f"Folders lie in it more than {MAX_DEPTH} levels deep", folder)
        with os.scandir(current) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                path = f"{prefix}{entry.name}{'/' * is_folder}"
                if reason := _find_reason(entry.name, path, ignored):
                    left_out.append(LeftOut(path, reason))
                elif is_folder:
                    pending.append((entry.path, path))
                else:
                    yield entry, path


def _find_reason(name: str, path: str, ignored: "GitIgnoreSpec | None") -> str:
    """Why a file or folder is left out; empty for what belongs to the skill."""
    if path == SIGNATURE:
        return ""
    if name.startswith("."):
        return "hidden"
    top = name if path in (name, f"{name}/") else ""
    known = _BY_NAME.get(name) or _AT_TOP.get(top)
    known = known or next((reason for end, reason in _BY_END.items() if name.endswith(end)), "")
    if not known and top.endswith(".skill") and not path.endswith("/"):
        known = "packed before"
    return known or ("ignored" if ignored is not None and ignored.match_file(path) else "")


def _load_ignored(folder: str) -> "GitIgnoreSpec | None":
    lines: list[str] = []
    for name in IGNORE_FILES:
        with suppress(FileNotFoundError):
            data = read_regular(os.path.join(folder, name), _MAX_IGNORE)[0]
            lines += data.decode("utf-8", "replace").splitlines()
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)
