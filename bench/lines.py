"""The lines that are measured, one function each. A limit is a promise; missing one fails `make bench`."""

import compileall
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import clawft
from clawft.skills.discovery import Location
from clawft.skills.discovery.agents import load_agents
from clawft.skills.parse.model import Skill
from clawft.skills.render.prompt import render_skill
from clawft.skills.render.template import TemplateVariables, split_arguments
from folder import Folder
from make_skills import make_body
from measure import Timed, best_ms
from report import Line

TIMEOUT_S = 300


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    skills: int = 1_000
    many: int = 10_000
    few: int = 100
    sample: int = 200
    rounds: int = 15
    slow_rounds: int = 9
    starts: int = 25
    turns: int = 30
    sessions: int = 50
    memories: int = 50_000


QUICK = Sizes(
    skills=60, many=80, few=20, sample=10, rounds=2, slow_rounds=2, starts=2, turns=2, sessions=5, memories=200
)


def measure_cold(folder: Folder, paths: Sequence[str], sizes: Sizes) -> Line:
    load, read = best_ms(sizes.rounds, Timed(folder.load, before=folder.forget), Timed(lambda: _read_all(paths)))
    what = f"loading {len(paths)} skills without a cache, and writing it"
    return Line("cold", what, "reading the bytes of the same files", load, read, "ms", 2.5)


def measure_warm(folder: Folder, paths: Sequence[str], sizes: Sizes) -> Line:
    folder.load()
    load, stat = best_ms(sizes.rounds, Timed(folder.load), Timed(lambda: _stat_all(paths)))
    what = f"loading {len(paths)} skills with a warm cache"
    return Line("warm", what, "os.stat of the same files", load, stat, "ms", 1.6)


def measure_peer(folder: Folder, paths: Sequence[str], sizes: Sizes) -> Line:
    step = max(1, len(paths) // sizes.sample)
    folders = [Path(path).parent for path in paths[::step]]
    ours, theirs = best_ms(
        sizes.slow_rounds,
        Timed(folder.read, per=len(paths)),
        Timed(lambda: _read_with_peer(folders), per=len(folders)),
    )
    what = f"loading a skill of {len(paths)}, no cache read or written"
    peer = f"skills_ref reading and validating a skill, over {len(folders)} of them; what it rejects counts as done"
    return Line("peer", what, peer, ours, theirs, "ms", 50, "at least")


def measure_linear(many: Folder, few: Folder, sizes: Sizes) -> Line:
    at_many, at_few = best_ms(
        sizes.slow_rounds,
        Timed(many.load, before=many.forget, per=sizes.many),
        Timed(few.load, before=few.forget, per=sizes.few),
    )
    what = f"loading a skill of {sizes.many} without a cache"
    return Line("linear", what, f"the same per skill of {sizes.few}", at_many, at_few, "ms", 1.5)


def measure_start(home: Path, cwd: Path, sizes: Sizes) -> Line:
    """`weft skills list` as people start it, after a first run; `home` holds the skills."""
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")

    def start(*words: str) -> None:
        subprocess.run(words, env=environ, cwd=cwd, check=True, timeout=TIMEOUT_S, capture_output=True)

    start(weft, "skills", "list")
    listing, bare = best_ms(
        sizes.starts, Timed(lambda: start(weft, "skills", "list")), Timed(lambda: start(sys.executable, "-c", "pass"))
    )
    what = f"`weft skills list` of {sizes.few} skills, as a process, after a first run"
    return Line("start-up", what, "`python -c pass` of the same interpreter", listing, bare, "ms", 6)


def measure_memory(folder: Folder) -> Line:
    folder.forget()
    words = [sys.executable, str(Path(__file__).with_name("peak.py")), folder.location.path, folder.cache_dir]
    done = subprocess.run(words, check=True, timeout=TIMEOUT_S, capture_output=True, text=True)
    count, kilobytes = map(int, done.stdout.split())
    what = f"peak memory of a fresh process that loads {count} skills without a cache"
    return _absolute("memory", what, kilobytes / 1024, 150, "MB")


def measure_discovery(folder: Folder, sizes: Sizes) -> Line:
    (load,) = best_ms(sizes.rounds, Timed(folder.load, before=folder.forget))
    return _absolute("R176", f"discovery of {sizes.few} skills without a cache", load, 100, "ms")


def measure_render(sizes: Sizes) -> Line:
    tokens = ("$ARGUMENTS", "$ARGUMENTS[1]", "${0}", "{{topic}}", "${CLAUDE_SKILL_DIR}")
    body = make_body(32_000)
    step = len(body) // 50
    parts = [body[at * step : (at + 1) * step] + f" {tokens[at % len(tokens)]} " for at in range(50)]
    skill = Skill(name="bench", prompt="".join(parts), arguments=("topic",))
    arguments, variables = split_arguments("one 'two three' four"), TemplateVariables("session", "/skill", "/project")
    (render,) = best_ms(sizes.rounds * 10, Timed(lambda: render_skill(skill, arguments, variables)))
    return _absolute("R55", "rendering a body of 32 KB with 50 tokens", render, 1, "ms")


def measure_agents(folder: Path, sizes: Sizes) -> Line:
    prompt = make_body(3_000)
    for number in range(10):
        front = f"name: agent-{number}\ndescription: Looks after one thing\ntools: Read, Grep\nmodel: fast\n"
        (folder / f"agent-{number}.md").write_text(f"---\n{front}---\n{prompt}", "utf-8")
        (folder / f"plain-{number}.yaml").write_text(f"description: Does one thing\nskills: [a, b]\n{front[:14]}\n")
    location = Location("user", "agents", str(folder))
    (load,) = best_ms(sizes.rounds, Timed(lambda: load_agents([location])))
    return _absolute("R84", "loading 20 agents and the built-in ones", load, 50, "ms")


def compile_bytecode() -> None:
    """Real starts find compiled bytecode; PYTHONDONTWRITEBYTECODE may have kept it from being there."""
    for folder in (os.path.dirname(clawft.__file__), sysconfig.get_path("purelib")):
        compileall.compile_dir(folder, quiet=2)


def _absolute(name: str, measured: str, value: float, limit: float, unit: str) -> Line:
    return Line(name, measured, f"the limit, {limit:g} {unit}", value, limit, unit, 1)


def _read_all(paths: Sequence[str]) -> None:
    for path in paths:
        with open(path, "rb") as file:
            file.read()


def _stat_all(paths: Sequence[str]) -> None:
    for path in paths:
        os.stat(path)


def _read_with_peer(folders: Sequence[Path]) -> None:
    """What our load gives, in the peer's terms: the properties of a skill, and all that is wrong with it."""
    peer = import_module("skills_ref")
    for folder in folders:
        with suppress(Exception):  # some files make it raise errors that are not its own
            peer.validate(folder)
            peer.read_properties(folder)
