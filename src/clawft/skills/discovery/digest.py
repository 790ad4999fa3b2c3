"""The digest of a skill folder (D57): what approvals, locks and signatures are bound to."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.format.names import LEFT_OUT, LEFT_OUT_FILES

__all__ = ["Content", "Digest", "compute_digest", "hash_content", "join_digest", "list_covered", "list_files"]

MAX_FILES = 20_000
MAX_BYTES = 512 << 20
MAX_DEPTH = 64  # folders in folders; whoever walks through them goes no deeper
_CHUNK = 1 << 20

Content = tuple[bytes, int]  # the hex sha256 of some bytes, and how many they are


class Digest(Struct, frozen=True):
    """The digest, empty when the folder is over the limits or unreadable; and what it does not cover."""

    value: str
    diagnostics: tuple[Diagnostic, ...] = ()


def compute_digest(folder: str, contents: Mapping[str, Content] | None = None) -> Digest:
    """Hash every regular file of a folder, or the one file of a command: path, executable or not, size, content.

    `contents`: files by path that the caller has read whole, so that they are not read again.
    """
    known = contents or {}
    diagnostics: list[Diagnostic] = []
    files = _list_files(folder, diagnostics)
    linked = f"{folder}/SKILL.md"
    if any(
        one.code == "unreadable" or one.path in (linked, folder) for one in diagnostics
    ):  # it would not cover what is read
        return Digest("", tuple(diagnostics))
    total = sum(status.st_size for _, _, status in files)
    if len(files) > MAX_FILES or total > MAX_BYTES:
        message = f"The folder has {len(files)} files and {total} bytes: too much to take a digest of"
        return Digest("", (*diagnostics, Diagnostic("digest-limit", "warning", message, folder)))
    hashed: list[tuple[bytes, bool, Content]] = []
    for relative, path, status in sorted(files):
        try:
            hashed.append((relative, bool(status.st_mode & 0o111), known.get(path) or _hash_file(path)))
        except OSError as error:
            message = f"The file cannot be read, so there is no digest: {error.strerror}"
            return Digest("", (*diagnostics, Diagnostic("unreadable", "warning", message, path)))
    return Digest(join_digest(hashed), tuple(diagnostics))


def join_digest(files: Iterable[tuple[bytes, bool, Content]]) -> str:
    """The digest of files in their order: the path below the folder, whether it is executable, and what is in it."""
    whole = hashlib.sha256()
    for relative, executable, (content, size) in files:
        whole.update(b"%s\0%s\0%d\0%s\n" % (relative, b"x" if executable else b"-", size, content))
    return "sha256:" + whole.hexdigest()


def list_files(folder: str) -> tuple[str, ...]:
    """The regular files of a skill beside SKILL.md, as paths below its folder; a name that is no text is left out."""
    if not os.path.isdir(folder):  # a command
        return ()
    names = sorted(relative for relative, _, _ in _list_files(folder, []) if relative != b"SKILL.md")
    return tuple(name.decode() for name in names if _is_text(name))


def list_covered(folder: str) -> list[tuple[bytes, str, os.stat_result]]:
    """What a digest covers: the path below the folder, the whole path and the status of every regular file."""
    return sorted(_list_files(folder, []))


def _is_text(name: bytes) -> bool:
    try:
        return name.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _list_files(folder: str, diagnostics: list[Diagnostic]) -> list[tuple[bytes, str, os.stat_result]]:
    files: list[tuple[bytes, str, os.stat_result]] = []
    pending = [(folder, "")]
    while pending and len(files) <= MAX_FILES:
        current, prefix = pending.pop()
        try:
            with os.scandir(current) as entries:
                listed = [(entry.name, entry.path, entry.stat(follow_symlinks=False)) for entry in entries]
        except NotADirectoryError:  # a command is its file alone
            listed = [(os.path.basename(current), current, os.lstat(current))]
        except OSError as error:
            diagnostics.append(
                Diagnostic("unreadable", "warning", f"The folder cannot be read: {error.strerror}", current)
            )
            continue
        for name, path, status in listed:
            if stat.S_ISDIR(status.st_mode):
                if name not in LEFT_OUT and prefix.count("/") >= MAX_DEPTH:
                    message = f"Folders lie in it more than {MAX_DEPTH} levels deep"
                    diagnostics.append(Diagnostic("unreadable", "warning", message, folder))
                elif name not in LEFT_OUT:
                    pending.append((path, f"{prefix}{name}/"))
            elif stat.S_ISREG(status.st_mode):
                if name not in LEFT_OUT_FILES:
                    files.append((os.fsencode(prefix + name), path, status))
            else:
                kind = "link" if stat.S_ISLNK(status.st_mode) else "special file"
                diagnostics.append(
                    Diagnostic("not-in-digest", "warning", f"A {kind} is not covered by the digest", path)
                )
    return files


def hash_content(data: bytes) -> Content:
    """What the digest takes in of a file, by its bytes."""
    return hashlib.sha256(data).hexdigest().encode(), len(data)


def _hash_file(path: str) -> Content:
    """The hex sha256 of the bytes that were read, and how many they were."""
    content, size = hashlib.sha256(), 0
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        while chunk := file.read(_CHUNK):
            content.update(chunk)
            size += len(chunk)
    return content.hexdigest().encode(), size
