"""The hashes by which other tools know a skill, from the same files to the same digits.

They sort paths as JavaScript's localeCompare does. That order is known here for plain ASCII; a hash over other names is
None: unknown.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from clawft.errors import ClawftError
from clawft.install.archive.pack import is_ignored, parse_ignored

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


SAMPLE = 4096  # bytes: of a file without an extension, this much says whether it is text
IGNORE_FILES = (".gitignore", ".clawhubignore", ".clawdhubignore")
_EXTENSIONS = (
    "md mdx txt json json5 yaml yml toml js cjs mjs ts tsx jsx py sh ps1 psm1 psd1 r rb go rs swift kt java cs cpp c h "
    "hpp sql csv tsv ini cfg conf env properties dat xml html css scss sass svg"
)
_TEXT = frozenset(_EXTENSIONS.split())
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_IGNORE = 1 << 20
_ORDER = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_PLACES = str.maketrans(_ORDER, "".join(map(chr, range(len(_ORDER)))))
T = TypeVar("T")


def clawhub_fingerprint(files: Iterable[tuple[str, str]]) -> str | None:
    """Compute ClawHub's fingerprint of paths, each with the hex sha256 of its content."""
    ordered = sort_by_path([file for file in files if all(file)], lambda file: file[0])
    return None if ordered is None else _hash_lines(f"{path}:{sha256}" for path, sha256 in ordered)


def github_content_hash(files: Iterable[tuple[str, int, str]]) -> str | None:
    """Compute ClawHub's hash of a skill on GitHub: paths, each with the size and the hex sha256 of its content."""
    ordered = sort_by_path(files, lambda file: file[0])
    return None if ordered is None else _hash_lines(f"{path}\0{size}\0{sha256}" for path, size, sha256 in ordered)


def _hash_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def sort_by_path(files: Iterable[T], path_of: Callable[[T], str]) -> list[T] | None:
    """Sort as localeCompare does: by letters, then small before capital ones. None where that order is not known."""
    listed = list(files)
    paths = [path_of(file) for file in listed]
    if len(paths) > 1 and not all(path.isascii() and path.isprintable() for path in paths):
        return None
    return sorted(listed, key=lambda file: (path_of(file).lower().translate(_PLACES), path_of(file).swapcase()))


def counts_for_clawhub(path: str, sample: bytes) -> bool:
    """Return whether ClawHub takes a file in: nothing hidden, and only what is text by its extension, or, without one,
    by the first SAMPLE bytes. A character that is cut in two by them is no text, to ClawHub."""
    parts = path.split("/")
    if any(part.startswith(".") for part in parts):
        return False
    stem, dot, extension = parts[-1].rpartition(".")
    if stem and dot and extension:
        return extension.lower() in _TEXT
    head = sample[:SAMPLE]
    if 0 in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError:
        return False
    return True


def fingerprint_folder(folder: str, *, leave_out: Iterable[str] = ()) -> str | None:
    """The fingerprint of a folder as the `clawhub` command computes it, ignore files honoured; empty without files, or
    where an ignore file makes no sense.

    `leave_out`: paths that do not count, such as `_meta.json` where it came with the download. Raises: OSError.
    """
    try:
        ignored = _load_ignored(folder)
    except ClawftError:
        return ""
    left_out = frozenset(leave_out)
    hashed: list[tuple[str, str]] = []
    for path, place in _walk(folder, hidden=False):
        if path in left_out or (ignored is not None and is_ignored(ignored, path.lower())):
            continue
        with open(os.open(place, _READ), "rb") as file:
            sample = file.read(SAMPLE)
            if counts_for_clawhub(path, sample):
                hashed.append((path, hashlib.sha256(sample + file.read()).hexdigest()))
    return clawhub_fingerprint(hashed) if hashed else ""


def vercel_folder_hash(folder: str) -> str | None:
    """The `computedHash` of a folder: every regular file but those in .git and node_modules. Raises: OSError."""
    whole = hashlib.sha256()
    ordered = sort_by_path(_walk(folder, hidden=True), lambda file: file[0])
    if ordered is None:
        return None
    for path, place in ordered:
        whole.update(path.encode("utf-8", "replace"))
        with open(os.open(place, _READ), "rb") as file:
            while piece := file.read(1 << 20):
                whole.update(piece)
    return whole.hexdigest()


def _load_ignored(folder: str) -> "GitIgnoreSpec | None":
    """Load the patterns of the ignore files at the top of a folder, matched without regard to case.

    Raises: ClawftError for a file with more patterns than can be matched in bounded time.
    """
    lines: list[str] = []
    for name in IGNORE_FILES:
        with suppress(OSError), open(os.open(os.path.join(folder, name), _READ), "rb") as file:
            lines += file.read(_MAX_IGNORE).decode("utf-8", "replace").lower().split("\n")
    return parse_ignored([line.removesuffix("\r") for line in lines], folder) if lines else None


def _walk(folder: str, *, hidden: bool) -> Iterator[tuple[str, str]]:
    """The regular files below a folder: the path there, and where it is. Raises: OSError."""
    pending = [("", folder)]
    while pending:
        prefix, current = pending.pop()
        with os.scandir(current) as entries:
            for entry in entries:
                if entry.name in (".git", "node_modules") or (not hidden and entry.name.startswith(".")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append((f"{prefix}{entry.name}/", entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield f"{prefix}{entry.name}", entry.path
