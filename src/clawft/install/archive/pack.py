"""Which files of a folder are the skill, and which only lie there: what was left out is told, with the reason."""

import os
import re
import stat
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.errors import ClawftError, Refused, Unreadable
from clawft.files import read_regular
from clawft.packing.limits import SKILL, refuse
from clawft.packing.target import MAX_DEPTH, Target

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    # What an ignore file says, and how a path is called where it lies: without its beginning, behind another one.
    _Ignored = tuple[str, str, GitIgnoreSpec]

__all__ = ["IGNORE_FILES", "SIGNATURE", "Chosen", "LeftOut", "SkillFile", "choose_files", "is_ignored", "parse_ignored"]

SIGNATURE = ".clawft-signature"
IGNORE_FILES = (".gitignore", ".clawhubignore", ".clawdhubignore", ".clawftignore")
_MAX_IGNORE, _MAX_LINES = 1 << 18, 5_000
_CLASSES = {  # which git knows, within brackets
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9A-Fa-f",
}
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

    Left out are hidden files, what tools made, and what ignore files name: those at its top, and .gitignore further
    down and, in a repository, further up. Raises: Refused for links and all else that nobody would unpack; ClawftError;
    OSError.
    """
    try:
        return _choose(folder)
    except Refused as error:  # said of archives, of which nothing is kept; this is somebody's own
        hint = "Change it, or leave it out: name it in .clawftignore"
        raise Refused(error.code, str(error), path=folder, hint=hint) from error


def _choose(folder: str) -> Chosen:
    target = Target("", folder, SKILL)
    files: list[SkillFile] = []
    left_out: list[LeftOut] = []
    for entry, path in _walk(folder, left_out):
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


def parse_ignored(lines: Iterable[str], path: str) -> "GitIgnoreSpec":
    """What lines of an ignore file leave out. A line that means nothing counts for nothing, as in git.

    Raises: ClawftError for more than can be matched in a time that is sure: the file may be a stranger's.
    """
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    message = "The ignore file has too many patterns, or too many stars in them"
    patterns = []
    with warnings.catch_warnings(action="ignore"):  # of patterns that look odd
        for number, line in enumerate(lines):
            if number > _MAX_LINES:
                raise ClawftError("ignore-file", message, path=path)
            with suppress(ValueError, re.error):
                patterns.append(GitIgnoreSpecPattern(line.removeprefix("\ufeff")))
    try:
        return _compile(patterns) or GitIgnoreSpec([one for one in patterns if _compile([one])], backend="re2")
    except Exception as error:  # of re2, whose memory is bounded
        raise ClawftError("ignore-file", message, path=path) from error


def _compile(patterns: "Sequence[GitIgnoreSpecPattern]") -> "GitIgnoreSpec | None":
    """None for what re2 does not take, be it one pattern or all together."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec(patterns, backend="re2")
    except Exception:  # it has errors of its own
        return None


def is_ignored(patterns: "GitIgnoreSpec", path: str) -> bool | None:
    """What an ignore file says of a path, None for nothing. A name that is no text is taken as far as it is."""
    return patterns.check_file(path.encode("utf-8", "replace").decode()).include


def _walk(folder: str, left_out: list[LeftOut]) -> Iterator[tuple[os.DirEntry[str], str]]:
    pending = [(folder, "", (*_load_ignored(folder, "", IGNORE_FILES), *_load_above(folder)))]
    while pending:
        current, prefix, ignored = pending.pop()
        if prefix.count("/") > MAX_DEPTH:
            raise refuse("archive-path", f"Folders lie in it more than {MAX_DEPTH} levels deep", folder)
        with os.scandir(current) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                path = f"{prefix}{entry.name}{'/' * is_folder}"
                if reason := _find_reason(entry.name, path) or _find_ignored(path, ignored):
                    left_out.append(LeftOut(path, reason))
                elif is_folder:
                    pending.append((entry.path, path, (*_load_ignored(entry.path, path, IGNORE_FILES[:1]), *ignored)))
                else:
                    yield entry, path


def _find_reason(name: str, path: str) -> str:
    """Why a file or folder is left out whatever ignore files say; empty for what may belong to the skill."""
    if path == SIGNATURE:
        return ""
    if name.startswith("."):
        return "hidden"
    top = name if path in (name, f"{name}/") else ""
    known = _BY_NAME.get(name) or _AT_TOP.get(top)
    known = known or next((reason for end, reason in _BY_END.items() if name.endswith(end)), "")
    return known or ("packed before" if top.endswith(".skill") and not path.endswith("/") else "")


def _find_ignored(path: str, ignored: "tuple[_Ignored, ...]") -> str:
    """The ignore file that is nearest decides, if it says anything."""
    for prefix, above, patterns in ignored:
        said = is_ignored(patterns, above + path.removeprefix(prefix))
        if said is not None:
            return "ignored" if said else ""
    return ""


def _load_ignored(folder: str, prefix: str, names: tuple[str, ...]) -> "tuple[_Ignored, ...]":
    lines: list[str] = []
    for name in names:
        with suppress(FileNotFoundError):
            data = read_regular(os.path.join(folder, name), _MAX_IGNORE)[0]
            if b"\0" in data:
                message = "The ignore file is no text in UTF-8, so that it would leave nothing out"
                raise ClawftError("ignore-file", message, path=os.path.join(folder, name))
            text = data.decode("utf-8", "replace")
            for known, plain in _CLASSES.items():
                text = text.replace(known, plain)
            lines += text.splitlines()
    return ((prefix, "", parse_ignored(lines, folder)),) if lines else ()


def _load_above(folder: str) -> "tuple[_Ignored, ...]":
    """What the repository ignores that the skill lies in; nothing of it where that ignores the skill itself."""
    here = os.path.abspath(folder)
    between: list[str] = []  # the folders from the top of the repository down to the skill
    while not os.path.lexists(os.path.join(here, ".git")):
        here, name = os.path.split(here)
        if not name:
            return ()
        between.insert(0, name)
    found: list[_Ignored] = []
    for depth in range(len(between)):
        place = os.path.join(here, *between[:depth])
        inner = [f"{name}/" for name in between[depth:]]
        said: tuple[_Ignored, ...] = ()
        with suppress(Unreadable):  # a link, which git does not follow either
            said = _load_ignored(place, "", IGNORE_FILES[:1])
        for _, _, patterns in said:
            if any(is_ignored(patterns, "".join(inner[: end + 1])) for end in range(len(inner))):
                return ()
            found.insert(0, ("", "".join(inner), patterns))
    return tuple(found)
