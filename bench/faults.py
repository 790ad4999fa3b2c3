"""Run `weft` on a disk that fails: for tests and soaks of what is reported and what is left then.

python bench/faults.py FAULT WORD...   # FAULT is JSON, see `Fault`

Only what changes files below one folder counts, and only in the process itself: an attempt to write that fails is one
that the product sees as an OSError, at the place where a real disk would have it.
"""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["FILES", "Fault", "install", "run_faulty"]

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_MOVES = {"os.rename", "os.remove", "os.rmdir"}  # which need no room
_MAKES = {"os.mkdir", "os.link", "os.symlink", "os.truncate"}
FILES = ("audit.jsonl", "audit.head", "approvals.json", "approvals.head", "approved/", "skills.lock", "config.toml")


class Fault(Struct, frozen=True):
    """What goes wrong. `how`: `once` one step fails, the `at`th; `full` from then on nothing that needs room succeeds,
    and with `read-only` nothing at all; `kill` the process is killed at that step; `file` no change of `path` succeeds.
    Where `at` is 0, the step is the first that changes a file whose path ends with `path`."""

    under: str
    how: str
    at: int = 0
    errno: int = errno.EIO
    path: str = ""


def run_faulty(fault: Fault, words: Sequence[str], **how: Any) -> subprocess.CompletedProcess[str]:
    """Run `weft` with a fault, to its end."""
    given = [sys.executable, "-P", str(Path(__file__).resolve()), msgspec.json.encode(fault).decode(), *words]
    return subprocess.run(given, capture_output=True, text=True, check=False, timeout=120, **how)


def install(fault: Fault) -> None:
    """Let the steps of this process fail from now on."""
    steps = _Steps(fault)
    for name in ("write", "pwrite", "fsync"):
        setattr(os, name, _wrap(name, getattr(os, name), steps.take))
    sys.addaudithook(steps.hear)


class _Steps:
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.own = os.getpid()
        self.count = 0
        self.begun = False

    def hear(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[2], int) and given[2] & _WRITING:
            self.take("open", given[0])
        elif event in _MOVES or event in _MAKES:
            self.take(event, given[1] if event in ("os.rename", "os.link") else given[0])

    def take(self, name: str, path: object) -> None:
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if os.getpid() != self.own or not text.startswith(self.fault.under):
            return
        self.count += 1
        if not self._fails(name, text):
            return
        if self.fault.how == "kill":
            os.kill(self.own, signal.SIGKILL)
        number = {"full": errno.ENOSPC, "read-only": errno.EROFS}.get(self.fault.how, self.fault.errno)
        raise OSError(number, os.strerror(number), text)

    def _fails(self, name: str, path: str) -> bool:
        if self.fault.how == "file":
            return self.fault.path in path
        begins = self.count == self.fault.at if self.fault.at else not self.begun and path.endswith(self.fault.path)
        self.begun = self.begun or begins
        if self.fault.how == "read-only":
            return self.begun
        return begins if self.fault.how != "full" else self.begun and name not in _MOVES


def _wrap(name: str, call: Callable[..., Any], step: Callable[[str, object], None]) -> Callable[..., Any]:
    def wrapped(descriptor: int, *rest: Any) -> Any:
        try:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            path = ""
        step(name, path)
        return call(descriptor, *rest)

    return wrapped


if __name__ == "__main__":
    install(msgspec.json.decode(sys.argv[1], type=Fault))
    from clawft.cli import main

    sys.argv = ["weft", *sys.argv[2:]]
    main()
