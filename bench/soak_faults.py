"""`make soak`: install, update, remove, trust and permissions at once, while writes fail and processes are killed.

After each round, what was reported is what `skills list`, `skills verify`, `permissions list` and `audit show` say.
"""

import errno
import os
import random
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clawft.skills.discovery.digest import compute_digest
from faults import FILES, Fault
from warm import WarmPopen, run_warm

TIMEOUT_S = 120
ERRNOS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT)
STEPS = 90  # a command takes at most about so many
_FAULTS = Path(__file__).resolve().with_name("faults.py")

Key = tuple[str, str]  # what is talked about: a kind, and a name, a folder or a rule
State = dict[Key, str]  # what holds of it: a digest, or that there is a rule


class Command(Struct):
    """One command, and what it would change."""

    words: list[str]
    changes: dict[Key, str]  # '' for what goes
    process: "subprocess.Popen[str] | None" = None
    fault: Fault | None = None


def main(rounds: int = 200, seed: int | None = None) -> Counter[str]:
    """Return how commands ended. Raises: AssertionError where a report and the state differ."""
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"soak of faults: {rounds} rounds, seed {seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clawft-soak-") as folder:
        soak = Soak(Path(folder).resolve(), random.Random(seed))
        for number in range(rounds):
            soak.round(number)
    seconds = time.monotonic() - began
    print(f"soak of faults: {dict(soak.ends)}; each time what was reported is what is, {seconds:.0f} s")
    return soak.ends


class Soak:
    """A user with installed skills, a project with skills of its own, and rules."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.home, self.sources, self.project = folder / "home", folder / "sources", folder / "project"
        for one in (self.home, self.sources, self.project / ".clawft" / "skills"):
            one.mkdir(parents=True)
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        self.env = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "CLAWFT_DEBUG": "1"}
        self.ends: Counter[str] = Counter()
        self.excused: State = {}  # where the log tells of a step that a killed process did not take
        for name in ("mine", "yours"):
            self._write(self.project / ".clawft" / "skills" / name, name, 0)
        self.state = self._observe()[0]

    def round(self, number: int) -> None:
        """Run one to three commands at once, and compare."""
        makers = [self._install, self._install, self._remove, self._trust, self._permissions]
        commands: list[Command] = []
        for _ in range(self.chance.randrange(1, 4)):
            made = self.chance.choice(makers)(number)
            if made is not None and not any(set(made.changes) & set(one.changes) for one in commands):
                commands.append(made)
        commands = commands or [self._permissions(number)]  # there was nothing to remove yet
        for one in commands:
            self._start(one)
        told = [self._finish(one) for one in commands]
        state, log = self._observe()
        for command, (allowed, said, excused) in zip(commands, told, strict=True):
            for key, new in command.changes.items():
                ways = {"old": self.state.get(key, ""), "new": new}
                wanted = {ways[way] for way in allowed}
                assert state.get(key, "") in wanted, f"{command.words} {command.fault}: {key} is not {allowed}: {said}"
                if excused and log.get(key, "") != state.get(key, ""):
                    self.excused[key] = log.get(key, "")
        changed = {key for one in commands for key in one.changes}
        for key in {*state, *self.state} - changed:
            assert state.get(key) == self.state.get(key), f"{key} changed, and nobody asked for it: {told}"
        for key in {*state, *log}:
            seen, logged = state.get(key, ""), log.get(key, "")
            if seen == logged:
                self.excused.pop(key, None)
            else:
                assert self.excused.get(key) == logged, f"the log says {logged!r} of {key}, and it is {seen!r}: {told}"
        self.state = state

    def _start(self, command: Command) -> None:
        words = ["weft", *command.words]
        if self.chance.random() < 0.75:
            how = self.chance.choice(["once", "once", "full", "file", "kill"])
            at, number = self.chance.randrange(1, STEPS), self.chance.choice(ERRNOS)
            command.fault = Fault(str(self.home), how, at, number, self.chance.choice(FILES))
            words = [sys.executable, str(_FAULTS), msgspec.json.encode(command.fault).decode(), *command.words]
        pipe = subprocess.PIPE
        command.process = WarmPopen[str](words, cwd=self.project, env=self.env, stdout=pipe, stderr=pipe, text=True)

    def _finish(self, command: Command) -> tuple[set[str], str, bool]:
        """What may hold after a command by what it reported, its words, and whether a line of the log may be wrong."""
        assert command.process is not None
        with command.process as process:
            try:
                _, said = process.communicate(timeout=TIMEOUT_S)
            finally:
                process.kill()
        assert "Traceback" not in said, f"{command.words} {command.fault}: {said}"
        if process.returncode < 0:
            self.ends["killed"] += 1
            return {"old", "new"}, said, True
        if process.returncode == 0:
            self.ends["done"] += 1
            return {"new"}, said, "audit-unwritable" in said
        if "install-unfinished" in said:
            self.ends["left for the next"] += 1
            return {"new" if "will be finished" in said else "old"}, said, False
        self.ends["refused"] += 1
        return {"old"}, said, False

    def _install(self, number: int) -> Command | None:
        name = f"skill-{self.chance.randrange(4)}"
        folder = self._write(self.sources / name, name, number)
        digest, place = compute_digest(str(folder)).value, str(self.home / ".clawft" / "skills" / name)
        changes = {("install", name): digest, ("skill", place): digest}
        verb = ["update", name] if ("install", name) in self.state else ["install", str(folder)]
        return Command(["skills", *verb, "--yes"], changes)

    def _remove(self, _: int) -> Command | None:
        there = sorted(name for kind, name in self.state if kind == "install")
        if not there:
            return None
        name = self.chance.choice(there)
        place = str(self.home / ".clawft" / "skills" / name)
        return Command(["skills", "remove", name, "--yes"], {("install", name): "", ("skill", place): ""})

    def _trust(self, _: int) -> Command:
        name = self.chance.choice(["mine", "yours"])
        folder = str(self.project / ".clawft" / "skills" / name)
        if ("skill", folder) in self.state:
            return Command(["skills", "trust", name, "--revoke"], {("skill", folder): ""})
        return Command(["skills", "trust", name, "--yes"], {("skill", folder): compute_digest(folder).value})

    def _permissions(self, _: int) -> Command:
        kind, pattern = self.chance.choice(["allow", "deny"]), f"Bash(tool-{self.chance.randrange(3)} *)"
        other = "deny" if kind == "allow" else "allow"
        if ("rule", f"{kind} {pattern}") in self.state:
            return Command(["permissions", "remove", pattern], {("rule", f"{kind} {pattern}"): ""})
        changes = {("rule", f"{kind} {pattern}"): "yes", ("rule", f"{other} {pattern}"): ""}
        return Command(["permissions", kind, pattern], changes)

    def _write(self, folder: Path, name: str, number: int) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: Says what number it is when asked.\n---\nIt is number {number}.\n"
        (folder / "SKILL.md").write_text(text)
        return folder

    def _observe(self) -> tuple[State, State]:
        """What is, by the commands that show it; and what the log says."""
        state: State = {}
        verified = self._ask("skills", "verify")
        assert verified["ok"], verified
        for one in verified["skills"]:
            state["install", one["name"]] = compute_digest(one["folder"]).value
        for one in self._ask("skills", "trust", "--list")["approvals"]:
            state["skill", one["path"]] = one["digest"]
        for one in self._ask("permissions", "list")["rules"]:
            state["rule", f"{one['kind']} {one['pattern']}"] = "yes"
        listed = {one["name"]: one["state"] for one in self._ask("skills", "list")["skills"]}
        installed = {name for kind, name in state if kind == "install"}
        assert {name for name in listed if name.startswith("skill-")} == installed, listed
        assert all(listed[name] == "ready" for name in installed), listed
        left = [path.name for path in (self.home / ".clawft" / "installing").glob("*") if path.name != "turn.lock"]
        left += [path.name for path in (self.home / ".clawft" / "skills").glob(".*")]
        assert left == [], f"left over: {left}"
        return state, _fold(self._ask("audit", "show", "--limit", "100000")["lines"])

    def _ask(self, *words: str) -> Any:
        done = run_warm(["weft", *words, "--format", "json"], cwd=self.project, env=self.env, timeout=TIMEOUT_S)
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr)
        return msgspec.json.decode(done.stdout)


def _fold(lines: list[dict[str, Any]]) -> State:
    """What holds if every line of the log is true."""
    values: dict[Key, list[str]] = {}
    for line in lines:
        kind, _, rest = line["subject"].partition(" ")
        if line["kind"] == "install":
            key, value = ("install", line["skill"]), "" if kind == "remove" else line["digest"]
        elif line["kind"] == "approval" and kind in ("skill", "rule"):
            given = line["digest"] if kind == "skill" else "yes"
            key, value = (kind, rest), given if line["decision"] == "allowed" else ""
        else:
            continue
        if line["decision"] == "failed":
            values[key].pop()
        else:
            values.setdefault(key, []).append(value)
    return {key: one[-1] for key, one in values.items() if one and one[-1]}


if __name__ == "__main__":
    WarmPopen.is_on = True
    parser = ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    main(given.rounds, given.seed)
