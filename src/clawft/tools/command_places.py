"""What the paths on a command line stand for, judged as file tools judge theirs."""

import os
from collections.abc import Iterator, Sequence

from clawft.tools.paths import reading_filter, resolve_inside
from clawft.tools.tool import ToolContext, ToolError

__all__ = ["CommandPlaces"]

MAX_MATCHES = 2_000
MAX_BELOW = 50_000


class CommandPlaces:
    """The paths of a command that is to run in `cwd`."""

    def __init__(self, cwd: str, context: ToolContext) -> None:
        self._cwd = cwd
        self._context = context

    def is_inside(self, path: str) -> bool:
        """Whether a path is one that file tools may read."""
        return self._find(path) is not None

    def is_open(self, path: str) -> bool:
        """Whether file tools may read all below a path; too much to be looked at counts as no."""
        real = self._find(path)
        if real is None:
            return False
        may_read = reading_filter(self._context, real)
        left = MAX_BELOW
        for where, folders, files in os.walk(real):
            left -= len(folders) + len(files)
            if left < 0 or not all(may_read(os.path.join(where, name)) for name in (*folders, *files)):
                return False
        return True

    def expand(self, pattern: str) -> Sequence[str] | None:
        """All that the shell may put in the place of a glob, and perhaps more; None if it is too much."""
        start, rest = self._split(pattern)
        found = [start]
        for part in rest.split("/"):
            found = [f"{folder}/{name}" for folder in found for name in _match(folder, part)]
            if len(found) > MAX_MATCHES:
                return None
        return found

    def _split(self, path: str) -> tuple[str, str]:
        """The folder that a path starts at, and the rest of it as it is written."""
        if path == "~" or path.startswith("~/"):
            return self._context.workspace.home, path[2:]
        return ("", path[1:]) if path.startswith("/") else (self._cwd, path)

    def _find(self, path: str) -> str | None:
        try:
            return resolve_inside(self._context, "/".join(self._split(path)))
        except ToolError:
            return None


def _match(folder: str, part: str) -> Iterator[str]:
    """Names in a folder that a part of a pattern may match: those with its start, and with its end if that is sure."""
    signs = [index for index, char in enumerate(part) if char in "*?["]
    if not signs:
        yield part
        return
    start, end = part[: signs[0]], "" if "[" in part else part[signs[-1] + 1 :]
    try:
        names = os.listdir(folder or "/")
    except OSError:
        return
    for name in names:
        if name.startswith(start) and name.endswith(end) and (name[0] != "." or start):
            yield name
