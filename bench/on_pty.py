"""A program on a terminal of its own: what it writes is read as it comes, and every wait is bounded."""

import fcntl
import os
import pty
import select
import struct
import termios
import time
from pathlib import Path
from types import TracebackType

from warm import WarmPopen

WAIT_S = 20.0


class OnPty:
    """Use it as a context manager; the program is ended on leaving."""

    def __init__(self, words: list[str], env: dict[str, str], cwd: Path, columns: int = 80) -> None:
        self._words, self._env, self._cwd, self._columns = words, env, cwd, columns
        self.written = b""

    def __enter__(self) -> "OnPty":
        self._side, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self._columns, 0, 0))
        self.process: WarmPopen[bytes] = WarmPopen(
            self._words,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,
        )
        os.close(inner)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)
        os.close(self._side)

    def type(self, keys: str) -> None:
        os.write(self._side, keys.encode())

    def wait_for(self, text: str) -> None:
        """Until the program has written a text after what was waited for before."""
        deadline = time.monotonic() + WAIT_S
        while text.encode() not in self.written:
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} was not written, but: {self.written.decode(errors='replace')}")
        self.written = self.written.partition(text.encode())[2]

    def wait(self) -> int:
        """Until it ends; its exit code. What it writes meanwhile is kept."""
        deadline = time.monotonic() + WAIT_S
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(WAIT_S)

    def _read(self, timeout_s: float) -> bool:
        if not select.select([self._side], [], [], max(0, timeout_s))[0]:
            return False
        try:
            piece = os.read(self._side, 1 << 16)
        except OSError:  # Linux's word for the end
            return False
        self.written += piece
        return bool(piece)
