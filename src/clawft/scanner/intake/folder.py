"""The entries of a folder: regular files in the order they are read, links and special files as marks."""

import os
import re
import stat
import time
from collections.abc import Collection

from msgspec import Struct

from clawft.scanner.facts import Kind
from clawft.scanner.intake.formats import ContentMark, EmbeddedText, UnreadPart
from clawft.scanner.intake.language import PICTURE_NAMES
from clawft.scanner.regex import words
from clawft.scanner.vocabulary.secrets import find_secret_path

MAX_ENTRIES = 200_000
MIN_NAME_TEXT = 40  # characters of a name that says something
MIN_WORDS = 7
_BETWEEN_WORDS = re.compile(r"[\s_-]+")
_LATE_FOLDERS = words(
    ".git .hg .svn node_modules __pycache__ dist build vendor .venv venv target site-packages"
)  # walked like the rest, but read after it
_GIT_OBJECT = re.compile(r"(.*/)?\.git/(.*/)?objects/([0-9a-f]{2}/([0-9a-f]{38}|[0-9a-f]{62})|(pack|info)/[\w.-]+)")
_GIT_MAGICS = (b"PACK\0\0", b"\xfftOc\0\0", b"RIDX\0\0", b"CGPH\1\1")
_ACTS = words(
    "py js ts mjs cjs jsx tsx sh bash zsh fish ps1 bat cmd rb pl php lua go rs r java kt swift cs "
    "applescript scpt command ipynb json yaml yml toml ini cfg conf pyc so node dll dylib exe pkl pickle "
    "zip gz tgz tar whl jar 7z rar docx xlsm docm xlsx pptx svg html env service plist hta vbs wasm pth"
)
_DATA_RANK, _LATE_RANK = 4, 10
_DATA = frozenset({"csv", "tsv", "log", "xsd", "map", "lock"}) | PICTURE_NAMES


class FolderFile(Struct, frozen=True, gc=False):
    """A regular file: where it is, its name below the folder, and how soon it is read."""

    rank: int
    name: str
    path: str
    size: int
    mode: int

    @property
    def is_data(self) -> bool:
        """Return whether it is of a kind that is looked at rather than run."""
        return self.rank % _LATE_RANK == _DATA_RANK


class FolderListing(Struct):
    """The entries of a folder."""

    files: list[FolderFile]
    parts: list[ContentMark | EmbeddedText | UnreadPart]


def show_name(name: str) -> str:
    """A file name as it may be printed: what is no text, or would act on a terminal, is escaped."""
    if name.isascii() and name.isprintable():
        return name
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def walk_folder(folder: str, deadline: float, without: Collection[str] = ()) -> FolderListing:
    """List a folder and all below it, but for the folders `without`. No link is followed.

    Raises: OSError when the folder itself cannot be read.
    """
    listed = FolderListing([], [])
    pending = [(folder, "", 0)]
    seen = 0
    while pending:
        current, prefix, rank_offset = pending.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MAX_ENTRIES or (seen & 1023 == 0 and time.monotonic() > deadline):
                        reason = f"It holds too many files: those after the first {seen - 1} were not looked at"
                        listed.parts.append(UnreadPart(reason, failed=True))
                        return _sorted(listed)
                    inner = _note(listed, entry, folder, prefix, rank_offset)
                    if inner is not None and entry.path not in without:
                        pending.append((entry.path, f"{prefix}{entry.name}/", inner))
        except OSError as error:
            if current == folder:
                raise
            listed.parts.append(
                UnreadPart(f"The folder cannot be read: {error.strerror}", show_name(prefix), failed=True)
            )
    return _sorted(listed)


def _sorted(listed: FolderListing) -> FolderListing:
    listed.files.sort(key=lambda one: (one.rank, one.name))
    return listed


def _note(listed: FolderListing, entry: "os.DirEntry[str]", folder: str, prefix: str, rank_offset: int) -> int | None:
    """Take note of one entry; for a folder to go into, how much less what it holds matters."""
    name = prefix + entry.name
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        listed.parts.append(UnreadPart(f"It cannot be read: {error.strerror}", show_name(name), failed=True))
        return None
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return _LATE_RANK if entry.name in _LATE_FOLDERS else rank_offset
    if stat.S_ISREG(mode):
        if "objects/" in prefix and _is_git_object(entry.path, name):
            return None
        if len(name) > MIN_NAME_TEXT and (message := _read_name(name)):
            listed.parts.append(EmbeddedText(message, "markdown", "name", show_name(name)))
        listed.files.append(
            FolderFile(_rank(name, entry.name, mode) + rank_offset, name, entry.path, status.st_size, mode)
        )
    elif stat.S_ISLNK(mode):
        listed.parts.extend(_follow_in_mind(entry.path, name, folder))
    else:
        what = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        listed.parts.append(ContentMark(Kind.HIDDEN, "special-file", f"{show_name(name)} is {what}", show_name(name)))
        listed.parts.append(UnreadPart(f"It is {what}, not a file", show_name(name)))
    return None


def _read_name(name: str) -> str:
    """Return the name of a file as text if it is as long as a sentence: a model is shown the names of all files."""
    shown = show_name(name)
    words = _BETWEEN_WORDS.split(shown.rpartition(".")[0] or shown)
    return " ".join(words) if len(words) >= MIN_WORDS else ""


def _is_git_object(path: str, name: str) -> bool:
    """Return whether a file is compressed history, by its name and how it begins: nothing runs it, and what is checked
    out is read as files."""
    if not _GIT_OBJECT.fullmatch(name):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False  # reading it says so
    try:
        head = os.read(descriptor, 6)
    finally:
        os.close(descriptor)
    packed = head[:1] == b"x" and len(head) > 2 and head[2] & 0b110 != 0  # what is stored as it is can be run
    return packed or head.startswith(_GIT_MAGICS)


def _rank(name: str, base: str, mode: int) -> int:
    """Return the rank of a file in reading order: programs before texts for people, and data last."""
    if base.lower() == "skill.md":
        return 0 if "/" not in name else 1
    extension = base.rpartition(".")[2].lower() if "." in base else ""
    if extension in _ACTS or not extension or base[0] == "." or mode & 0o111:
        return 2
    return _DATA_RANK if extension in _DATA else 3


def _follow_in_mind(path: str, name: str, folder: str) -> list[ContentMark | UnreadPart]:
    """Resolve a link by its text alone, without opening anything."""
    shown = show_name(name)
    try:
        target = os.readlink(path)
    except OSError as error:
        return [UnreadPart(f"The link cannot be read: {error.strerror}", shown)]
    lands = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if lands == folder or lands.startswith(folder + "/"):
        return []  # what it leads to is read where it stands
    return [ContentMark(Kind.LINK, show_name(_shorten(target)), f"{shown} -> {show_name(target)}", shown)]


_ROOT_FOLDERS = words("etc home root Users var proc sys dev usr tmp opt private")


def _shorten(target: str) -> str:
    """The target of a link that climbs to the root, as the absolute path it means."""
    if not target.startswith(".."):
        return target
    rest = target
    climbs = 0
    while rest.startswith("../"):
        rest, climbs = rest[3:], climbs + 1
    rooted = rest.split("/", 1)[0] in _ROOT_FOLDERS
    return f"/{rest}" if rooted and climbs >= 2 else f"~/{rest}" if find_secret_path(rest) and climbs >= 2 else target
