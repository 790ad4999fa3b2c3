"""One file of a skill as it stands there, for whoever wants to read it before they trust it."""

import errno
import os
import stat
from codecs import getincrementaldecoder

from clawft.describe.reviews import walk_files
from clawft.describe.skills import digest_of
from clawft.errors import NotFound, Refused, Unreadable
from clawft.protocol.skills import SkillFile
from clawft.trust import Standing

__all__ = ["load_skill_file"]

MAX_BYTES = 256_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def load_skill_file(standing: Standing, path: str, digest: str) -> SkillFile:
    """One of its listed files, as far as it is bounded; with a `digest`, only of the skill that has it.

    Raises: NotFound, Unreadable, Refused where the skill is another by now.
    """
    found = standing.found
    folder = found.base_dir or os.path.dirname(found.file)
    if path not in (walk_files(folder) if found.base_dir else [os.path.basename(found.file)]):
        raise NotFound("no-such-path", f"The skill '{standing.name}' has no file '{path}'", path=folder)
    content, size = _read(folder, path)
    now = digest_of(standing).value  # after it was read: what came in between is seen
    if digest and digest != now:
        raise Refused("skill-changed", "The skill changed since it was looked at", path=folder, hint="Look at it again")
    is_cut = size > len(content)
    return SkillFile(name=standing.name, path=path, size=size, text=_decode(content, is_cut), cut=is_cut, digest=now)


def _read(folder: str, path: str) -> tuple[bytes, int]:
    """Its first bytes and its whole size; a link is followed nowhere on the way. Raises: Unreadable."""
    *between, name = path.split("/")
    try:
        at = os.open(folder, _FOLDER)
        try:
            for one in between:
                inner = os.open(one, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            descriptor = os.open(name, _FILE, dir_fd=at)
        finally:
            os.close(at)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("not-a-file", "This is not a regular file", path=path)
            content = file.read(MAX_BYTES)
            return content, max(status.st_size, len(content))
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        message = "It is a link, which is not followed" if is_link else f"The file cannot be read: {error.strerror}"
        raise Unreadable("is-a-link" if is_link else "unreadable", message, path=path) from error


def _decode(content: bytes, is_cut: bool) -> str | None:
    """None for what is no text."""
    if b"\0" in content:
        return None
    try:
        return getincrementaldecoder("utf-8")().decode(content, final=not is_cut)
    except UnicodeDecodeError:
        return None
