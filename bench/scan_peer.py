"""Cisco's skill scanner on the same skills, in a process of its own Python, each skill within a limit of time."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from report import ROOT
from scan_labels import Labelled
from scan_scores import Outcome

CHILD = Path(__file__).with_name("scan_peer_child.py")
START_S = 120.0
SKILL_S = 60.0
BLOCKING = frozenset({"HIGH", "CRITICAL"})  # its own level for "do not install"


def find_peer(given: str) -> str | None:
    """The Python that can import the peer: a path, or `1` for the one in .cache/cisco or this one."""
    cached = ROOT / ".cache" / "cisco" / "bin" / "python"
    for python in (str(cached), sys.executable) if given in ("1", "") else (given,):
        words = [python, "-c", "import skill_scanner"]
        try:
            if subprocess.run(words, capture_output=True, timeout=START_S).returncode == 0:
                return python
        except (OSError, subprocess.TimeoutExpired):
            continue
    return None


class Peer:
    """The peer as a process that answers one folder after the other; started again after it hangs or dies."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self.version = ""

    def scan(self, skill: Labelled) -> Outcome:
        """What the peer says; an error where it fails or takes too long."""
        try:
            process = self._start()
            assert process.stdin is not None
            process.stdin.write(json.dumps(os.path.abspath(skill.path)).encode() + b"\n")
            process.stdin.flush()
            said = self._read(SKILL_S)
        except (OSError, TimeoutError, EOFError) as error:
            self.close()
            return Outcome(skill, flagged=False, seconds=SKILL_S, error=f"{type(error).__name__}: {error}")
        flagged = bool(BLOCKING & set(said["severities"]))
        return Outcome(skill, flagged, said["seconds"], said.get("error", ""))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._rest = b""

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            words = [self._python, str(CHILD)]
            pipe, none = subprocess.PIPE, subprocess.DEVNULL
            self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=none)
            self.version = self._read(START_S)["ready"]
        return self._process

    def _read(self, timeout_s: float) -> Any:
        """The next line of answers.

        Raises: TimeoutError, or EOFError when the process ended.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(timeout_s):
                    raise TimeoutError(f"no answer in {timeout_s:.0f} s")
                if not (some := os.read(self._process.stdout.fileno(), 65536)):
                    raise EOFError("the peer ended")
                self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)


def run_peer(python: str, skills: Sequence[Labelled]) -> Iterator[Outcome]:
    """The outcome of each skill, in order."""
    peer = Peer(python)
    try:
        for skill in skills:
            yield peer.scan(skill)
    finally:
        peer.close()
