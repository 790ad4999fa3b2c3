"""What the user says of plugins now: who runs for long hears of a grant that was given, changed or taken back."""

import os
from collections.abc import Callable, Sequence

from clawft.config.plugins import PluginsSettings
from clawft.trust.plugins import PluginStanding

__all__ = ["Decided", "Latest"]

Decided = tuple[Sequence[PluginStanding], PluginsSettings]


class Latest:
    """Looks again only where one of the files changed that decisions are kept in."""

    def __init__(self, paths: Sequence[str], load: Callable[[], Decided]) -> None:
        self._paths = tuple(paths)
        self._load = load
        self._stamp = self._take_stamp()

    def look(self) -> Decided | None:
        """What counts from now on; None where nothing changed. Raises: ClawftError for a config that is damaged."""
        stamp = self._take_stamp()
        if stamp == self._stamp:
            return None
        decided = self._load()
        self._stamp = stamp
        return decided

    def _take_stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(map(_stamp, self._paths))


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
