"""Skills as they were when they were approved, kept in the user's folder to show what changed since."""

import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from difflib import unified_diff
from typing import Literal

from msgspec import Struct

from clawft.discovery.digest import compute_digest, list_covered
from clawft.discovery.snapshot import copy_folder
from clawft.errors import Refused

__all__ = ["FileChange", "Kept"]

MAX_LINES = 400  # of one file's difference
MAX_TEXT = 1 << 20


class FileChange(Struct, frozen=True):
    """One file that is not what it was; `diff` for what is text."""

    path: str
    what: Literal["added", "removed", "changed", "made executable", "made not executable"]
    diff: tuple[str, ...] = ()


class Kept:
    """Copies by digest, below one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, folder: str, digest: str) -> None:
        """Keep a skill as it is now. Raises: Refused if that is not what has the digest; OSError."""
        target = self._place(digest)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        temporary = f"{target}.{os.urandom(6).hex()}.tmp"
        os.mkdir(temporary, 0o700)
        try:
            if copy_folder(folder, temporary) != digest:
                message = "The skill changed while it was looked at"
                raise Refused("skill-changed", message, path=folder, hint="Look at it again")
            if not self._holds(digest):
                shutil.rmtree(target, ignore_errors=True)
                os.rename(temporary, target)
        finally:
            with suppress(OSError):
                shutil.rmtree(temporary)

    def compare(self, digest: str, folder: str) -> tuple[FileChange, ...] | None:
        """What changed in a skill since it had a digest; None where it was not kept, or not kept well."""
        if not self._holds(digest):
            return None
        before, now = _list(self._place(digest)), _list(folder)
        changes = [_compare(path, before.get(path), now.get(path)) for path in sorted({*before, *now})]
        return tuple(one for one in changes if one is not None)

    def prune(self, used: Collection[str]) -> None:
        """Forget what no approval is bound to any more."""
        wanted = {os.path.basename(self._place(one)) for one in used}
        with suppress(OSError):
            for name in os.listdir(self._folder):
                if name not in wanted:
                    shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)

    def _place(self, digest: str) -> str:
        return os.path.join(self._folder, digest.removeprefix("sha256:"))

    def _holds(self, digest: str) -> bool:
        """Whether the copy is there and is what it should be: it lies on a disk that others may have written to."""
        place = self._place(digest)
        return os.path.isdir(place) and compute_digest(place).value == digest


_File = tuple[bytes, bool]


def _list(folder: str) -> dict[str, _File]:
    files = {}
    for relative, path, status in list_covered(folder):
        with suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            files[os.fsdecode(relative)] = (file.read(MAX_TEXT + 1), bool(status.st_mode & 0o111))
    return files


def _compare(path: str, before: _File | None, now: _File | None) -> FileChange | None:
    if before is None or now is None:
        return FileChange(path, "added" if before is None else "removed", _diff(path, before, now))
    if before[0] != now[0]:
        return FileChange(path, "changed", _diff(path, before, now))
    if before[1] != now[1]:
        return FileChange(path, "made executable" if now[1] else "made not executable")
    return None


def _diff(path: str, before: _File | None, now: _File | None) -> tuple[str, ...]:
    """The difference of two texts; a word about what is none."""
    texts = []
    for file in (before, now):
        data = file[0] if file else b""
        try:
            texts.append([] if len(data) > MAX_TEXT or b"\0" in data else data.decode().splitlines())
        except UnicodeDecodeError:
            texts.append([])
        if data and not texts[-1]:
            sizes = [str(len(one[0])) if one else "0" for one in (before, now)]
            return (f"(no text: {sizes[0]} bytes before, {sizes[1]} now)",)
    lines = list(unified_diff(texts[0], texts[1], f"before/{path}", f"now/{path}", lineterm="", n=2))
    cut = [f"(and {len(lines) - MAX_LINES} lines more)"] if len(lines) > MAX_LINES else []
    return (*lines[:MAX_LINES], *cut)
