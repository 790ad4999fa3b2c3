"""A file or folder that is given to a program in the sandbox: opened once, and the same one whenever it is looked at.

A name can lead elsewhere at any moment, since a program that runs beside may put a link there. So every name that is
granted becomes a `PinnedPath` in one step, which looks where it leads, refuses a way out of a folder that commands can
write, and opens it without following any link. Mounts and rules of Landlock are made of pinned paths alone.
"""

import errno
import os
from collections.abc import Sequence

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import is_within_any, real_path, real_paths
from clawft.sandbox.landlock_launcher import open_plain

CHANGED = "sandbox-changed"
Mark = tuple[int, int]  # device and inode


class PinnedPath(Struct, frozen=True):
    """A resolved path, and the identity of the file or folder that was there when it was opened."""

    path: str
    mark: Mark


def open_pinned(path: str, roots: Sequence[str] = ()) -> PinnedPath | None:
    """Open what an absolute path leads to; None where nothing is there, or it cannot be reached.

    `roots` are folders that commands can write: what is named in one must lie in one, or a command that makes links
    there would decide what is granted. Raises: Refused.
    """
    real = real_path(path)
    plain = os.path.normpath(path)
    if is_within_any(plain, roots) and not is_within_any(real, real_paths(roots)):
        message = "A place that a program is given leads out of its folder by a link, so nothing was run"
        raise Refused("sandbox-link", message, path=path, hint="Remove the link, or grant the place that it leads to")
    return find_pinned(real) if os.path.exists(real) else None


def find_pinned(path: str) -> PinnedPath | None:
    """Open a real path; None where nothing is there. Raises: Refused where it cannot be reached, or only by a link."""
    try:
        descriptor = open_plain(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise make_changed_error(path) from error
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return PinnedPath(path, (status.st_dev, status.st_ino))


def make_changed_error(path: str) -> Refused:
    """The error for a place that became another one while the sandbox was made."""
    message = "Files were exchanged for others while the sandbox was made, so nothing was run in it"
    return Refused(CHANGED, message, path=path, hint="End the program that does that, and try again")
