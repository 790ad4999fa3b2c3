"""`make soak`: kill a process that writes a session, again and again; no finished turn may be lost or doubled."""

import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from clawft.agent.sessions import MessageRecord, SessionStore
from clawft.errors import NotFound
from soak_child import make_messages

CHILD = Path(__file__).with_name("soak_child.py")
TURNS = 200
TIMEOUT_S = 60
LIFE_S = 0.4  # a process lives at most about so long before it is killed


def main(kills: int = 50, seed: int | None = None) -> int:
    """Kill so many times at random moments, then let the work end. Returns how many turns were finished in all."""
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"soak: {kills} kills, seed {seed}", flush=True)
    chance = random.Random(seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clawft-soak-") as folder:
        soak = Soak(folder)
        for _ in range(kills):
            soak.live(chance.randrange(TURNS // 4), chance.uniform(0, LIFE_S))
        soak.end()
        print(f"soak: {len(soak.reported)} turns finished, {soak.torn} torn lines healed, nothing lost or doubled, "
              f"{time.monotonic() - started:.0f} s")  # fmt: skip
        return len(soak.reported)


class Soak:
    """One session after the other; `reported` are the turns that a process said are safe."""

    def __init__(self, folder: str) -> None:
        self.store = SessionStore(folder)
        self.number = 1
        self.reported: set[tuple[str, int]] = set()
        self.torn = 0

    @property
    def key(self) -> str:
        return f"soak:{self.number}"

    def live(self, turns: int, wait_s: float) -> None:
        """Start a process, and kill it after so many turns or so long, whichever comes first."""
        with self._start() as child:
            try:
                self._read(child, turns, time.monotonic() + wait_s)
            finally:
                child.kill()
            self._read(child, TURNS, time.monotonic() + TIMEOUT_S)  # what it said before it died
        self._check()
        if sum(key == self.key for key, _ in self.reported) >= TURNS:
            self.number += 1

    def end(self) -> None:
        """Let a process run to the end of its work."""
        with self._start() as child:
            self._read(child, TURNS + 1, time.monotonic() + TIMEOUT_S)
            child.terminate()  # without effect on one that is done
            assert child.wait(TIMEOUT_S) == 0
        self._check()
        assert self.store.get(self.key).turns == TURNS

    def _start(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, str(CHILD), self.store.folder, self.key, str(TURNS)]
        return subprocess.Popen(words, stdout=subprocess.PIPE)

    def _read(self, child: subprocess.Popen[bytes], turns: int, until: float) -> None:
        """Take note of finished turns until there were so many, the time is up or the process is gone."""
        assert child.stdout is not None
        descriptor, rest = child.stdout.fileno(), b""
        while turns > 0 and select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
            got = os.read(descriptor, 1)
            if not got:
                break
            rest += got
            if got == b"\n":
                self.reported.add((self.key, int(rest)))
                rest, turns = b"", turns - 1

    def _check(self) -> None:
        """Every turn reported is there, whole and once; what is there is in order."""
        reported = {turn for key, turn in self.reported if key == self.key}
        try:
            transcript = self.store.read(self.key)
        except NotFound:  # killed before its first line
            assert not reported
            return
        assert {one.code for one in transcript.diagnostics} <= {"session-torn-line"}, transcript.diagnostics
        self.torn += bool(transcript.diagnostics)
        finished = [record.turn for record in transcript.turns]
        assert finished == sorted(set(finished))
        assert reported <= set(finished)
        assert [record.totals.turns for record in transcript.turns] == list(range(1, len(finished) + 1))
        messages = [record for record in transcript.records if isinstance(record, MessageRecord)]
        counts = Counter(record.turn for record in messages)
        for turn, count in counts.items():
            expected = make_messages(turn)
            said = [record.message for record in messages if record.turn == turn]
            assert said == expected[:count]
            assert turn not in finished or count == len(expected)


if __name__ == "__main__":
    main()
