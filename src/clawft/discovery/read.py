"""Read the files of a skill folder: regular ones of bounded size, and no link that leads out of the location."""

import os
from collections.abc import Callable

from msgspec import Struct

from clawft.discovery.listing import LEFT_OUT
from clawft.errors import Unreadable
from clawft.files import is_within, read_regular, real_path

__all__ = ["LEGACY_PROMPT", "MAX_FILE_BYTES", "Load", "SkillFile", "load_bytes", "load_file"]

MAX_FILE_BYTES = 1 << 20  # D26
LEGACY_PROMPT = "prompt.md"  # beside skill.json
Load = Callable[[str, str], tuple[bytes, os.stat_result]]  # (path, root): how the files of a skill are read


class SkillFile(Struct, frozen=True, gc=False):
    """The file of a skill, as it was read."""

    folder: str
    name: str
    path: str
    data: bytes
    status: os.stat_result


def load_bytes(path: str, root: str) -> tuple[bytes, os.stat_result]:
    """A file of a skill; a link is followed only if it stays below the searched folder.

    Raises: FileNotFoundError, NotADirectoryError, Unreadable.
    """
    try:
        return read_regular(path, MAX_FILE_BYTES)
    except Unreadable as error:
        if error.code != "is-a-link":
            raise
    real = real_path(path)
    if not is_within(real, real_path(root)) or not LEFT_OUT.isdisjoint(real.split("/")):
        raise Unreadable(
            "link-leaves-root",
            f"The link leads out of the searched folder, to {real}",
            path=path,
            hint="Put a copy of the file here",
        )
    try:
        return read_regular(real, MAX_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Unreadable("unreadable", f"The link leads to nothing: {real}", path=path) from error


def load_file(folder: str, name: str, root: str, load: Load = load_bytes) -> SkillFile:
    """The skill file of a folder. Raises: FileNotFoundError, NotADirectoryError, Unreadable."""
    path = f"{folder}/{name}"
    data, status = load(path, root)
    return SkillFile(folder, name, path, data, status)
