"""Pack a skill: choose its files, honour ignore files, and write a reproducible zip."""

import hashlib
import os
import re
import stat
import struct
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.errors import ClawftError, Refused, Unreadable
from clawft.files import read_regular
from clawft.install.archive.target import MAX_DEPTH, SKILL, UnpackTarget, refuse

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    # What an ignore file says, and how a path is called where it lies: without its beginning, behind another one.
    _Ignored = tuple[str, str, GitIgnoreSpec]


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


class PackableFile(Struct, frozen=True):
    """A file that belongs to a skill: its path there, and what it is on disk."""

    path: str
    place: str
    size: int
    executable: bool


class ExcludedFile(Struct, frozen=True):
    """A file or, with a slash at its end, a folder that does not belong to it."""

    path: str
    reason: str


class ChosenFiles(Struct, frozen=True):
    """The files to pack, sorted by the bytes of their paths, and the files that are left out."""

    files: tuple[PackableFile, ...]
    left_out: tuple[ExcludedFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


def choose_files(folder: str) -> ChosenFiles:
    """The files of a skill that anybody but its author needs.

    Left out are hidden files, what tools made, and what ignore files name: those at its top, and .gitignore further
    down and, in a repository, further up. Raises: Refused for links and all else that nobody would unpack; ClawftError;
    OSError.
    """
    try:
        return _choose(folder)
    except (
        Refused
    ) as error:  # the error is worded for archives, of which nothing is saved; this folder is the user's own
        hint = "Change it, or leave it out: name it in .clawftignore"
        raise Refused(error.code, str(error), path=folder, hint=hint) from error


def _choose(folder: str) -> ChosenFiles:
    target = UnpackTarget("", folder, SKILL)
    files: list[PackableFile] = []
    left_out: list[ExcludedFile] = []
    for entry, path in _walk(folder, left_out):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise refuse("archive-link", f"'{path[:80]}' is a link", folder)
        if not stat.S_ISREG(status.st_mode):
            raise refuse("archive-device", f"'{path[:80]}' is no file", folder)
        target.claim(path)
        target.reserve(path, status.st_size)
        files.append(PackableFile(path, entry.path, status.st_size, bool(status.st_mode & 0o111)))
    files.sort(key=lambda one: os.fsencode(one.path))
    return ChosenFiles(tuple(files), tuple(sorted(left_out, key=lambda one: os.fsencode(one.path))))


def parse_ignored(lines: Iterable[str], path: str) -> "GitIgnoreSpec":
    """Parse the lines of an ignore file. A line without meaning is skipped, as in git.

    Raises: ClawftError for patterns that cannot be matched in bounded time: the file may be untrusted.
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
        return _compile(patterns) or GitIgnoreSpec(
            [pattern for pattern in patterns if _compile([pattern])], backend="re2"
        )
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
    """Return what an ignore file decides about a path, None where no pattern matches. Bytes in the path that are not
    UTF-8 are replaced."""
    return patterns.check_file(path.encode("utf-8", "replace").decode()).include


def _walk(folder: str, left_out: list[ExcludedFile]) -> Iterator[tuple[os.DirEntry[str], str]]:
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
                    left_out.append(ExcludedFile(path, reason))
                elif is_folder:
                    pending.append((entry.path, path, (*_load_ignored(entry.path, path, IGNORE_FILES[:1]), *ignored)))
                else:
                    yield entry, path


def _find_reason(name: str, path: str) -> str:
    """Return why a file or folder is always left out, whatever ignore files say; '' for what may belong to the
    skill."""
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
        is_excluded = is_ignored(patterns, above + path.removeprefix(prefix))
        if is_excluded is not None:
            return "ignored" if is_excluded else ""
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
    """Load the ignore patterns of the repository around the skill; none where the repository ignores the skill
    itself."""
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
        rules: tuple[_Ignored, ...] = ()
        with suppress(Unreadable):  # a link, which git does not follow either
            rules = _load_ignored(place, "", IGNORE_FILES[:1])
        for _, _, patterns in rules:
            if any(is_ignored(patterns, "".join(inner[: end + 1])) for end in range(len(inner))):
                return ()
            found.insert(0, ("", "".join(inner), patterns))
    return tuple(found)


Sink = Callable[[bytes], object]

_LOCAL = struct.Struct("<4s5H3L2H")
_LISTED = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION, _UNIX = 20, 3 << 8
_UTF8 = 1 << 11
_DAY_ONE = 1 << 5 | 1  # the first of January 1980, the earliest that a zip can say


class PackedArchive(Struct, frozen=True):
    """The size and the hash of a written archive, and the hash of each file in it."""

    size: int
    sha256: str
    contents: dict[str, str]  # the sha256 of each file, by its path


def pack_files(name: str, files: Iterable[PackableFile], write: Sink) -> PackedArchive:
    """Write files, in their order, as an archive with one folder, stored as they are.

    Nothing is compressed: what a compressor makes of the same bytes differs between its versions. Raises: Refused for a
    file that changes meanwhile; OSError.
    """
    whole, at, count = hashlib.sha256(), 0, 0
    listed = b""
    contents: dict[str, str] = {}

    def put(*pieces: bytes) -> None:
        nonlocal at
        for piece in pieces:
            write(piece)
            whole.update(piece)
            at += len(piece)

    for file in files:
        data, status = read_regular(file.place, file.size + 1)
        if len(data) != file.size or bool(status.st_mode & 0o111) != file.executable:
            raise Refused("pack-changed", f"'{file.path}' changed while it was packed", path=file.place)
        raw = f"{name}/{file.path}".encode()
        flags = 0 if raw.isascii() else _UTF8
        start, crc, size = at, zlib.crc32(data), len(data)
        put(_LOCAL.pack(b"PK\x03\x04", _VERSION, flags, 0, 0, _DAY_ONE, crc, size, size, len(raw), 0), raw, data)
        mode = (0o100755 if file.executable else 0o100644) << 16
        entry = (b"PK\x01\x02", _UNIX | _VERSION, _VERSION, flags, 0, 0, _DAY_ONE, crc, size, size, len(raw))
        listed += _LISTED.pack(*entry, 0, 0, 0, 0, mode, start) + raw
        contents[file.path] = hashlib.sha256(data).hexdigest()
        count += 1
    put(listed, _END.pack(b"PK\x05\x06", 0, 0, count, count, len(listed), at, 0))
    return PackedArchive(at, whole.hexdigest(), contents)


def write_skill(path: str, name: str, files: Iterable[PackableFile]) -> PackedArchive:
    """Write a `.skill` file atomically: a reader sees either the old file or the new one. Raises: Refused, OSError."""
    hidden = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:100]}-{os.urandom(6).hex()}")
    try:
        with open(hidden, "xb") as file:
            packed = pack_files(name, files, file.write)
        os.replace(hidden, path)
    except BaseException:
        if os.path.lexists(hidden):
            os.unlink(hidden)
        raise
    return packed
