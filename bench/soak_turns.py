"""`make soak`, second half: kill a process in the middle of real turns; every finished one is there, once and whole."""

import json
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

CHILD = Path(__file__).with_name("soak_turns_child.py")
KEY = "soak:turns"
TURNS = 200
TIMEOUT_S = 120.0
LIFE_S = 2.5  # a process lives at most about so long before it is killed
ROLES = ["user", "assistant", "tool", "assistant"]


def main(kills: int = 50, seed: int | None = None) -> int:
    """Kill so many times at random moments. Returns how many turns were reported as finished."""
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"soak of turns: {kills} kills, seed {seed}", flush=True)
    chance = random.Random(seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clawft-soak-") as folder:
        soak = Soak(Path(folder))
        for _ in range(kills):
            soak.live(chance.uniform(0, LIFE_S))
        finished = len(soak.reported)
    print(f"soak of turns: {finished} finished over {soak.runs} sessions, nothing lost or doubled, "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    return finished


class Soak:
    """A run of 200 turns, gone on with after every kill; then the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user_dir = folder / "home" / ".clawft"
        self.user_dir.mkdir(parents=True)
        (folder / "project").mkdir()
        (folder / "project" / "note.txt").write_text("a note\n" * 200)
        call = {"tool_calls": [{"name": "read_file", "arguments": {"path": "note.txt"}}]}
        script = {"steps": [call, {"text": "word " * 200}], "loop": True}
        (self.user_dir / "script.json").write_text(json.dumps(script))
        provider = f'[providers.s]\nwire = "scripted"\nscript = "{self.user_dir}/script.json"\n'
        defaults = '[agents.defaults]\nmodel = "s/one"\ncontext_window = 10000000\n'
        (self.user_dir / "config.toml").write_text(defaults + provider)
        self.store = SessionStore(str(self.user_dir / "sessions"))
        self.runs = 1
        self.reported: set[tuple[str, int]] = set()

    @property
    def key(self) -> str:
        return f"{KEY}:{self.runs}"

    def live(self, seconds: float) -> None:
        """Start a process, kill it after its first sign of life and a while, and look at what it left."""
        words = [sys.executable, str(CHILD), str(self.folder), self.key, str(TURNS)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                assert select.select([child.stdout], [], [], TIMEOUT_S)[0], "the process does not start"
                select.select([], [], [], seconds)
            finally:
                child.kill()
            lines = child.stdout.read().split("\n")[:-1]  # a torn last line was not said
        self.reported |= {(self.key, int(line)) for line in lines if line.isdecimal()}
        self._check()
        if sum(key == self.key for key, _ in self.reported) >= TURNS:
            self.runs += 1

    def _check(self) -> None:
        reported = {turn for key, turn in self.reported if key == self.key}
        try:
            transcript = self.store.read(self.key)
        except NotFound:  # killed before its first line
            assert not reported
            return
        assert {one.code for one in transcript.diagnostics} <= {"session-torn-line"}, transcript.diagnostics
        finished = [record.turn for record in transcript.turns]
        assert finished == sorted(set(finished)), "a turn is there twice"
        assert reported <= set(finished), f"lost: {sorted(reported - set(finished))}"
        messages = [record for record in transcript.records if isinstance(record, MessageRecord)]
        counts = Counter(record.turn for record in messages)
        for turn in finished:
            roles = [record.message.role for record in messages if record.turn == turn]
            assert roles == ROLES, f"turn {turn} has {roles}"
        assert max(counts.values(), default=0) <= len(ROLES)
        with self.store.open(self.key) as session:
            assert session.turns == len(finished)


if __name__ == "__main__":
    main()
