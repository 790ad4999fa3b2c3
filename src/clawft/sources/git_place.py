"""The files of a skill in a commit, put into a folder under the same rules as those of an archive."""

import re
from collections.abc import Iterator, Mapping, Sequence

from clawft.errors import ClawftError, NotFound
from clawft.packing.limits import Limits, refuse
from clawft.packing.target import Target
from clawft.sources.git_objects import Entry

__all__ = ["Layout", "is_file", "list_files"]

_FILES = {"100644": False, "100664": False, "100755": True}
# What some system takes for `.git`: other cases, the short name of Windows, characters that HFS+ does not see.
_OWN = re.compile(r"(?:\.git|git~[0-9]+)[. ]*(?::.*)?", re.IGNORECASE)
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES = 1024


def is_file(entry: Entry) -> bool:
    return entry.mode in _FILES


def list_files(entries: Sequence[Entry], base: str, url: str) -> Mapping[str, Entry]:
    """What of a commit lies in a folder, by its path there. Raises: Refused for what is no file, or there twice."""
    below = f"{base}/" if base else ""
    files: dict[str, Entry] = {}
    for one in entries:
        if not one.path.startswith(below):
            continue
        path = one.path[len(below) :]
        _check(one, path, url)
        if path in files:
            raise refuse("archive-duplicate", f"It has '{_show(path)}' twice", url)
        files[path] = one
    if not files:
        raise NotFound(
            "source-path", f"There is no folder '{base}'", path=url, hint="Check its spelling, and the branch"
        )
    return files


def _check(one: Entry, path: str, url: str) -> None:
    if one.mode == "120000":
        raise refuse("archive-link", f"'{_show(path)}' is a link", url)
    if one.mode == "160000":
        raise refuse("git-submodule", f"'{_show(path)}' is another repository inside of this one", url)
    if one.mode not in _FILES:
        raise refuse("archive-device", f"'{_show(path)}' is no file", url)
    if any(_OWN.fullmatch(_UNSEEN.sub("", part)) for part in path.split("/")):
        raise refuse("archive-path", f"'{_show(path)}' would be a repository's own", url)


class Layout:
    """Files and where they go: every name is judged before anything is fetched or written."""

    def __init__(self, files: Mapping[str, Entry], folder: str, url: str, limits: Limits) -> None:
        """Raises: Refused."""
        self._target = Target(folder, url, limits)
        self._placed: dict[str, list[tuple[str, bool]]] = {}
        for name, one in files.items():
            path = self._target.claim(name)
            if path:
                self._placed.setdefault(one.oid, []).append((path, _FILES[one.mode]))

    @property
    def wanted(self) -> list[str]:
        """The objects that hold the files."""
        return list(self._placed)

    def write(self, contents: Iterator[tuple[str, bytes | None]]) -> list[str]:
        """Write the files, all or none; those that are only pointers to Git LFS. Raises: Refused, OSError."""
        pointers: list[str] = []
        try:
            for oid, data in contents:
                for path, executable in self._placed[oid]:
                    self._write(path, data, executable)
                    if data and data.startswith(_POINTER) and len(data) < _POINTER_BYTES:
                        pointers.append(path)
        except (ClawftError, OSError):
            self._target.clear()
            raise
        return sorted(pointers)

    def _write(self, path: str, data: bytes | None, executable: bool) -> None:
        if data is None:
            most = self._target.limits.max_file_bytes >> 20
            raise refuse("archive-too-large", f"'{_show(path)}' has more than {most} MB", self._target.source)
        self._target.reserve(path, len(data))
        self._target.write(path, data, executable=executable)


def _show(path: str) -> str:
    return ascii(path[:80])[1:-1]
