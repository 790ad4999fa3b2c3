"""A session that is written as it goes on, line by line."""

import os
from collections.abc import Callable, Sequence

from clawft.errors import Diagnostic
from clawft.files import sync_folder
from clawft.messages import Usage
from clawft.sessions.log import Log, read_range
from clawft.sessions.opened import OpenSession
from clawft.sessions.record import Header, InTurn, Status, encode_lines
from clawft.sessions.window import Window, load_window

__all__ = ["Session"]


class Session(OpenSession):
    """A session that this process alone may write. Made by `SessionStore.open`; reads its file when first asked."""

    def __init__(self, header: Header, log: Log, clock: Callable[[], float], *, fresh: bool) -> None:
        super().__init__(header, log.path, clock, self.load_window)
        self._log = log
        self._unused = fresh
        self._named = not fresh  # its name would survive a loss of power

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What had to be mended or left out when the session was opened."""
        return (*self._log.diagnostics, *super().diagnostics)

    @property
    def size(self) -> int:
        """The bytes of its file."""
        return self._log.size

    def finish_turn(self, turn: int, status: Status = "finished", usage: Usage | None = None, model: str = "") -> None:
        """Write down that a turn is over; all of it is safe on disk when this returns. Raises: ClawftError."""
        super().finish_turn(turn, status, usage, model)
        self.sync()

    def load_window(self) -> Window:
        """What its file says now. Raises: Unreadable."""
        return load_window(self._log.descriptor, self.size, self.path)

    def read_from(self, start: int) -> bytes:
        """The lines after a place in its file. Raises: Unreadable."""
        return read_range(self._log.descriptor, start, self.size, self.path)

    def add_all(self, records: Sequence[InTurn]) -> None:
        """Write many records at once, or none of them, whatever ends this process. Raises: ClawftError."""
        self._log.append_whole(encode_lines(records))
        self._loaded = self._shown = None
        self._unused = False

    def sync(self) -> None:
        """Return when all that was written would survive a loss of power. Raises: ClawftError."""
        self._log.sync()
        if not self._named:  # after the file: most file systems have then written its name too, and this is quick
            sync_folder(os.path.dirname(self.path))
            self._named = True

    def close(self) -> None:
        """Let others write. A new session that nothing was written to leaves no file."""
        if self._unused and self._log.descriptor >= 0:
            os.unlink(self.path)
        self._unused = False
        self._log.close()

    def _keep(self, record: InTurn) -> None:
        self._log.append(encode_lines((record,)))
        self._unused = False
