"""The log of one plugin: what it prints and logs, without secrets, in a file of a bounded size."""

import os
import stat
from collections.abc import Callable
from datetime import datetime

from clawft.mcp.plain import clean_text

__all__ = ["PluginLog", "log_path"]

MAX_BYTES = 1 << 20  # of one file; the one before is kept
_MAX_LINE = 8 * 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def log_path(user_dir: str, plugin_id: str) -> str:
    """Where the log of a plugin is."""
    return os.path.join(user_dir, "logs", "plugins", f"{plugin_id}.log")


class PluginLog:
    """Takes output in pieces, and writes whole lines. A log that cannot be written stops nothing."""

    def __init__(self, path: str, mask: Callable[[str], str], *, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self._mask = mask
        self._max_bytes = max_bytes
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        """Take what a plugin wrote."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        self._write([line.decode("utf-8", "replace") for line in lines])

    def say(self, line: str) -> None:
        """Write a line of the host's own."""
        self._write([f"host: {line}"])

    def close(self) -> None:
        """Write what is left of a line."""
        if self._rest:
            self.add(b"\n")

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        now = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        text = "".join(f"{now} {clean_text(self._mask(line[:_MAX_LINE]))}\n" for line in lines)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            descriptor = os.open(self.path, _FLAGS, 0o600)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    return
                os.write(descriptor, text.encode("utf-8", "replace"))
            finally:
                os.close(descriptor)
            if status.st_size + len(text) > self._max_bytes:
                os.replace(self.path, f"{self.path}.1")
        except OSError:
            pass
