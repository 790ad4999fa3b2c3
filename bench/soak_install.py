"""`make soak`: kill a process that installs, updates or removes a skill at random moments; the old state or the new."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from contextlib import suppress
from pathlib import Path

from clawft.app.app import open_app
from clawft.install.lockfile.file import load_lock
from clawft.install.transaction.targets import find_site
from clawft.skills.discovery.digest import compute_digest

TIMEOUT_S = 60
LIFE_S = 0.6  # what a process needs at most, on a machine that does nothing else
MISSED = "not killed in time"
CLIENTS = ("clawft", "agents", "claude")
FILES = 6
STAGING_S, PLACING_S = 0.1, 0.015
POLL_S = 0.0005


def main(kills: int = 100, seed: int | None = None) -> Counter[str]:
    """Kill so many times; who was done sooner does not count. Returns how many processes were killed where: before, in
    or after the transaction.
    """
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"soak: {kills} kills of weft skills install, update and remove, seed {seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clawft-soak-") as folder:
        soak = Soak(Path(folder), random.Random(seed))
        for number in range(2 * kills + 10):
            if soak.ends.total() - soak.ends[MISSED] >= kills:
                break
            soak.kill(number)
            soak.check()
        print(f"soak: {dict(soak.ends)}; each time the old state or the new one, verified, approved and swept, "
              f"{time.monotonic() - started:.0f} s")  # fmt: skip
        return soak.ends


class Soak:
    """One skill in the folders of three clients, which goes from version to version and away."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.source, home = folder / "source" / "changing", folder / "home"
        home.mkdir(parents=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
        self.env |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        self.cwd = folder
        self.app = open_app(self.env, str(folder))
        self.site = find_site(self.app.workspace, "user")
        self.places = [Path(self.site.folder(client, "changing")) for client in CLIENTS]
        self.ends: Counter[str] = Counter()
        self.before = ""  # the digest of what is installed; '' for nothing
        self.after = ""

    def kill(self, number: int) -> None:
        """Start a command, and kill it: at any moment, or some time after its transaction began."""
        command = self._choose(number)
        with self._start(command) as child:
            try:
                self._wait_somewhere(child)
            finally:
                child.kill()
            said = child.communicate(timeout=TIMEOUT_S)[1]
        if child.returncode > 0:
            raise AssertionError(f"{command} failed: {said}")
        self.ends[MISSED if child.returncode == 0 else self._describe()] += 1
        for place in self.places:
            assert self._digest(place) in (self.before, self.after), f"{place} is neither old nor new after {command}"

    def check(self) -> None:
        """The next command finishes or sweeps; then all agree."""
        with self._start(["verify"]) as child:
            said = child.communicate(timeout=TIMEOUT_S)
        assert child.returncode == 0, said
        found = {self._digest(place) for place in self.places}
        assert len(found) == 1, found
        now = found.pop()
        assert now in (self.before, self.after)
        locked = load_lock(self.site.lock).get("changing")
        assert (locked.digest if locked else "") == now
        approvals = {one.path: one.digest for one in self.app.refresh().approvals.load()}
        assert approvals == ({str(place): now for place in self.places} if now else {})
        for root in {place.parent for place in self.places if place.parent.is_dir()}:
            assert not [one.name for one in root.iterdir() if one.name.startswith(".")], "something hidden is left"
        journals = Path(self.app.workspace.user_dir, "installing")
        assert not journals.is_dir() or {one.name for one in journals.iterdir()} <= {"turn.lock"}
        self.before = now

    def _choose(self, number: int) -> list[str]:
        """A command that changes something: what is installed is removed, or another version comes."""
        if self.before and self.chance.random() < 0.3:
            self.after = ""
            return ["remove", "changing", "--yes"]
        shutil.rmtree(self.source, ignore_errors=True)
        self.source.mkdir(parents=True)
        text = f"---\nname: changing\ndescription: Says what number it is when asked.\n---\nIt is number {number}.\n"
        (self.source / "SKILL.md").write_text(text)
        for at in range(self.chance.randrange(1, FILES)):
            (self.source / f"part-{at}.md").write_text(
                f"Part {at} of number {number}.\n" * self.chance.randrange(1, 99)
            )
        self.after = compute_digest(str(self.source)).value
        if self.before and self.chance.random() < 0.5:
            return ["update", "changing", "--yes"]
        to = [word for client in CLIENTS for word in ("--to", client)]
        return ["install", str(self.source), *to, "--yes"]

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        words = [sys.executable, "-P", "-m", "clawft", "skills", *command]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, cwd=self.cwd, env=self.env, stdout=pipe, stderr=pipe, text=True)

    def _wait_somewhere(self, child: "subprocess.Popen[str]") -> None:
        """At any moment; or some time after the transaction began, or after it was written down: it is short."""
        kind = self.chance.random()
        if kind < 0.2:
            _wait(child, self.chance.uniform(0, LIFE_S))
            return
        ready = kind > 0.5
        until = time.monotonic() + TIMEOUT_S
        while child.poll() is None and time.monotonic() < until and not self._has_journal(ready=ready):
            _wait(child, POLL_S)
        _wait(child, self.chance.uniform(0, PLACING_S if ready else STAGING_S))

    def _has_journal(self, *, ready: bool) -> bool:
        texts = self._load_journals()
        return any(b'"ready":true' in text for text in texts) if ready else bool(texts)

    def _load_journals(self) -> list[bytes]:
        found = []
        for path in Path(self.app.workspace.user_dir, "installing").glob("*.json"):
            with suppress(FileNotFoundError):
                found.append(path.read_bytes())
        return found

    def _describe(self) -> str:
        """Where a killed process was, by what it left."""
        return "placing" if self._has_journal(ready=True) else "staging" if self._load_journals() else "before or after"

    def _digest(self, place: Path) -> str:
        return compute_digest(str(place)).value if place.is_dir() else ""


def _wait(child: "subprocess.Popen[str]", seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    main(given.kills, given.seed)
