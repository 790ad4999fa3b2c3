"""A skill whose files change while they are looked at: what is used is what the digest was taken of (D57).

Text is parsed from the very bytes that were hashed; programs run on a copy whose bytes were hashed while it was made.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from clawft.discovery.digest import Content, Digest, compute_digest, hash_content, list_covered
from clawft.discovery.read import load_bytes
from clawft.errors import Refused
from clawft.files import real_path

__all__ = ["Reading", "copy_folder", "open_copy", "open_place"]

MAX_COPIED = 128 << 20


class Reading:
    """Reads files of one skill, and takes its digest from the same bytes. `folder` is the file itself of a command."""

    def __init__(self, folder: str, known: Mapping[str, Content] | None = None) -> None:
        """`known`: what files were when they were just read; whoever relies on the digest later takes it again."""
        self._folder = folder
        self._contents: dict[str, Content] = dict(known or {})
        self.linked: list[str] = []  # what was read through a link, which no digest covers

    def load(self, path: str, root: str) -> tuple[bytes, os.stat_result]:
        """A file of the skill, as `load_bytes` gives it."""
        data, status = load_bytes(path, root)
        self._contents[path] = hash_content(data)
        base = self._folder if path.startswith(f"{self._folder}/") else os.path.dirname(path)
        if real_path(path) != real_path(base) + path[len(base) :]:
            self.linked.append(path)
        return data, status

    def digest(self) -> Digest:
        """The digest of the skill, as far as it was read here by what was read."""
        return compute_digest(self._folder, self._contents)


@contextmanager
def open_copy(folder: str, digest: str, below: str) -> Iterator[str]:
    """A copy of a skill, in a new folder below `below`, sure to be what has this digest; removed on leaving.

    Raises: Refused if the skill is not, or no longer, what was approved; OSError.
    """
    with open_place(below) as target:
        if not digest or copy_folder(folder, target) != digest:
            hint = "Look at it again: weft skills trust"
            raise Refused("skill-changed", "The skill changed since it was approved", path=folder, hint=hint)
        yield target


@contextmanager
def open_place(below: str) -> Iterator[str]:
    """A new private folder below `below`, removed on leaving. Raises: OSError."""
    os.makedirs(below, mode=0o700, exist_ok=True)
    target = os.path.join(below, os.urandom(8).hex())
    os.mkdir(target, 0o700)
    try:
        yield target
    finally:
        with suppress(OSError):
            shutil.rmtree(target)


def copy_folder(folder: str, target: str) -> str:
    """Copy what a digest covers into an empty folder; the digest of what was copied.

    Raises: Refused for what is too large; OSError.
    """
    copied: dict[str, Content] = {}
    made = {target}
    total = 0
    for relative, path, status in list_covered(folder):
        data = _read(path)
        total += len(data)
        if total > MAX_COPIED:
            message = f"The skill has more than {MAX_COPIED} bytes, so programs of it cannot be run"
            raise Refused("skill-too-large", message, path=folder)
        place = os.path.join(target, os.fsdecode(relative))
        if (above := os.path.dirname(place)) not in made:
            os.makedirs(above, mode=0o700, exist_ok=True)
            made.add(above)
        mode = stat.S_IRUSR | (stat.S_IXUSR if status.st_mode & 0o111 else 0)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            file.write(data)
        copied[place] = hash_content(data)
    return compute_digest(target, copied).value


def _read(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(MAX_COPIED + 1)
