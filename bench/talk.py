"""A command at a terminal of its own, as a person meets it: what it shows, and what is typed."""

import os
import pty
import select
import signal
import subprocess
from pathlib import Path

from warm import WarmPopen, take_terminal

__all__ = ["WAIT_S", "Talk"]

WAIT_S = 30.0


class Talk:
    """One command, and all that its terminal showed. What it writes to stdout is no part of that."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self.screen = ""
        self._seen = 0
        self._master, slave = pty.openpty()
        self.process = WarmPopen[bytes](
            command, cwd=cwd, env=env, stdin=slave, stdout=subprocess.PIPE, stderr=slave, preexec_fn=take_terminal
        )
        os.close(slave)

    def expect(self, text: str) -> None:
        """Wait until a text is on the screen, behind what was waited for before."""
        while text not in self.screen[self._seen :]:
            assert self._read(), f"{text!r} never came:\n{self.screen}"
        self._seen = self.screen.index(text, self._seen) + len(text)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], WAIT_S)
        try:
            data = os.read(self._master, 65536) if ready else b""
        except OSError:  # Linux: the other side is closed
            data = b""
        self.screen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def answer(self, prompt: str, line: str) -> None:
        self.expect(prompt)
        self.type(line)

    def press(self, character: bytes) -> None:
        os.write(self._master, character)

    def end(self) -> tuple[int, str]:
        """The exit code, and what came on stdout."""
        while self._read():
            pass
        with self.process.stdout or open(os.devnull, "rb") as stdout:
            out = stdout.read().decode()
        return self.process.wait(WAIT_S), out

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(WAIT_S)
        if self.process.stdout:
            self.process.stdout.close()
        os.close(self._master)
