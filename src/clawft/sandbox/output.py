"""What a program writes: its start and its end in memory, and the whole in a file where there is one."""

import os

__all__ = ["FLOOD_BYTES", "Sink"]

FLOOD_BYTES = 16 * 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Sink:
    """Takes output piece by piece. Half of what is shown is its start, half its end, where errors stand."""

    def __init__(self, max_bytes: int, spill_path: str = "") -> None:
        self._max_bytes = max_bytes
        self._keep = max_bytes - max_bytes // 2  # of the end
        self._spill_path = spill_path
        self._file: int | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self.saved_to = ""

    @property
    def cut_bytes(self) -> int:
        return max(0, self._total - self._max_bytes)

    @property
    def head_bytes(self) -> int:
        return len(self._head)

    def add(self, chunk: bytes) -> bool:
        """Take a piece; False once it is too much."""
        self._total += len(chunk)
        self._spill(chunk)
        room = self._max_bytes // 2 - len(self._head)
        self._head += chunk[: max(0, room)]
        self._tail += chunk[max(0, room) :]
        if len(self._tail) > 2 * self._keep + len(chunk):
            del self._tail[: -self._keep]
        return self._total <= FLOOD_BYTES

    def content(self) -> bytes:
        """The start and the end, which meet where nothing was cut."""
        return bytes(self._head + self._tail[max(0, len(self._tail) - self._keep) :])

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _spill(self, chunk: bytes) -> None:
        """The file begins once the output is longer than what is kept, with all that came before."""
        if self._total <= self._max_bytes or not self._spill_path:
            return
        try:
            if self._file is None:
                self._file = os.open(self._spill_path, _NEW, 0o600)
                self.saved_to = self._spill_path
                _write_all(self._file, self.content())
            _write_all(self._file, chunk)
        except OSError:  # a full disk does not stop the program
            self.close()
            self._spill_path = self.saved_to = ""


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
