"""The lines of the scanner: what it costs to load skills through the gate, and how fast it is beside Cisco's."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clawft.app.app import App, open_app
from clawft.scanner.batch import ScannedPath, find_targets, scan_target
from clawft.scanner.gate import screen_skills
from make_skills import make_body, wait_until_settled, write_skills
from measure import Timed, best_ms
from report import Line
from scan_labels import Labelled
from scan_peer import Peer, find_peer

TIMEOUT_S = 600
LARGE = 12_000_000
_OFF = {"CLAWFT_SKILLS__SECURITY__SCAN_ON_LOAD": "false"}
_SCRIPTS = {
    "convert.py": "import json\nimport sys\n\n\ndef main() -> None:\n    rows = json.load(open(sys.argv[1]))\n"
    "    for row in rows:\n        print(row['name'], row.get('value', 0))\n\n\nmain()\n",
    "fetch.sh": '#!/bin/sh\nset -eu\nout="${1:-out.json}"\ncurl -fsS "https://api.weather.example/v1/now" > "$out"\n'
    'grep -c name "$out"\n',
    "plan.mjs": "import { readFile } from 'node:fs/promises';\nconst rows = JSON.parse(await readFile('in.json'));\n"
    "for (const row of rows) console.log(row.name);\n",
}


@dataclass(frozen=True)
class ScanSizes:
    skills: int = 1_000
    few: int = 100
    rounds: int = 15
    slow_rounds: int = 3
    starts: int = 5
    large: int = LARGE


QUICK = ScanSizes(skills=20, few=4, rounds=2, slow_rounds=1, starts=1, large=60_000)


def measure_scan(temporary: Path, sizes: ScanSizes) -> list[Line]:
    """Every line of the scanner. Those that need Cisco's are left out where it is not installed, and that is said."""
    home, few = temporary / "home", temporary / "few"
    write_skills(home / ".clawft" / "skills", sizes.skills)
    skills = with_scripts(write_skills(few, sizes.few))
    compared = _given_skills(sizes.few) or skills
    large = list(_write_large(temporary / "large", sizes.large))
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    _open(environ, temporary).load_skills()
    wait_until_settled(2.1)
    lines = [
        measure_gate(environ, temporary, sizes),
        measure_unchanged(few, environ, sizes),
        *measure_large(large),
        measure_peak([*large, *skills]),
    ]
    peer = find_peer(_peer_python())
    if peer is None:
        print("note: Cisco's scanner is not installed: set CISCO to its environment", file=sys.stderr)
        return lines
    return [*lines, *measure_cisco(peer, compared, environ, sizes)]


def measure_gate(environ: dict[str, str], cwd: Path, sizes: ScanSizes) -> Line:
    """Skills with their states, with the gate and without."""
    without = {**environ, **_OFF}
    _open(environ, cwd).load_skills()  # what was written meanwhile has settled
    on, off = best_ms(
        sizes.rounds,
        Timed(lambda: _open(environ, cwd).load_skills()),
        Timed(lambda: _open(without, cwd).load_skills()),
    )
    what = f"loading {sizes.skills} skills that were scanned before, with scan_on_load"
    return Line("scan-warm", what, "the same without", on, off, "ms", 1.5)


def measure_unchanged(folder: Path, environ: dict[str, str], sizes: ScanSizes) -> Line:
    """The gate over skills that did not change, and over the same when each has a new line."""
    app = open_app(environ, str(folder), (str(folder),))
    cache = str(folder.parent / "gate")
    found = app.catalog.found
    screen: Callable[[], object] = lambda: screen_skills(found, cache)  # noqa: E731
    screen()
    wait_until_settled(2.1)
    screen()
    (same,) = best_ms(sizes.rounds, Timed(screen, per=len(found)))
    changing = iter(range(1_000_000))

    def change() -> None:
        number = next(changing)
        for one in found:
            with open(one.file, "a") as file:
                file.write(f"\nLine {number}.\n")

    (changed,) = best_ms(sizes.slow_rounds, Timed(screen, before=change, per=len(found)))
    what = f"the gate over a skill of {len(found)} that did not change"
    return Line("scan-unchanged", what, "the same for one that changed", same, changed, "ms", 10, "at least")


def measure_large(paths: Sequence[str]) -> Iterator[Line]:
    """A file that is too large to be read by anybody, in several shapes; the slowest counts."""
    took = [(best_ms(1, Timed(lambda path=path: scan_target(ScannedPath(path))))[0], path) for path in paths]  # type: ignore[misc]
    slowest, path = max(took)
    size = os.path.getsize(path) / 1_000_000
    what = f"scanning one file of {size:.0f} MB, the slowest of {len(paths)} kinds ({os.path.basename(path)})"
    yield Line("scan-large", what, "the limit, 3 s", slowest / 1000, 3, "s", 1)


def measure_peak(paths: Sequence[str]) -> Line:
    words = [sys.executable, str(Path(__file__).with_name("peak_scan.py")), *paths]
    done = subprocess.run(words, check=True, timeout=TIMEOUT_S, capture_output=True, text=True)
    count, kilobytes = map(int, done.stdout.split())
    what = f"peak memory of a fresh process that scans {count} targets, the large files among them"
    return Line("scan-memory", what, "the limit, 150 MB", kilobytes / 1024, 150, "MB", 1)


def measure_cisco(python: str, skills: Sequence[str], environ: dict[str, str], sizes: ScanSizes) -> list[Line]:
    """The same skills by both scanners: one after the other in a running process, and one skill from the start."""
    scan_target(ScannedPath(skills[0]))
    peer = Peer(python)
    ours = theirs = 0.0
    try:
        peer.scan(_labelled(skills[0]))
        for path in skills:  # in turn, so that what disturbs one disturbs the other
            ours += best_ms(1, Timed(lambda path=path: scan_target(ScannedPath(path))))[0] / len(skills)  # type: ignore[misc]
            theirs += peer.scan(_labelled(path)).seconds * 1000 / len(skills)
    finally:
        peer.close()
    name = f"Cisco's scanner {peer.version}"
    what = f"scanning a skill of {len(skills)}, on one core"
    speed = Line("scan-peer", what, f"{name} on the same skills", ours, theirs, "ms", 20, "at least")
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")
    scanner = os.path.join(os.path.dirname(python), "skill-scanner")

    def start(*words: str) -> Callable[[], None]:
        def run() -> None:
            subprocess.run(words, env=environ, timeout=TIMEOUT_S, capture_output=True, check=False)

        return run

    cold, peer_cold = best_ms(
        sizes.starts,
        Timed(start(weft, "skills", "scan", skills[0], "--fresh")),
        Timed(start(scanner, "scan", skills[0])),
    )
    what = "`weft skills scan` of one skill, as a process"
    return [speed, Line("scan-start", what, f"{name} on the same skill", cold, peer_cold, "ms", 8, "at least")]


def _open(environ: dict[str, str], cwd: Path) -> App:
    return open_app(environ, str(cwd))


def _peer_python() -> str:
    folder = os.environ.get("CISCO", "")
    return os.path.join(folder, "bin", "python") if folder else ""


def _given_skills(count: int) -> list[str]:
    """Skills to compare on, evenly from the folder that SKILLS names; none without it."""
    root = os.environ.get("SKILLS", "")
    folders = [one.path for one in find_targets(root) if not one.without] if root else []
    return folders[:: max(1, len(folders) // count)][:count]


def _labelled(path: str) -> Labelled:
    return Labelled(os.path.basename(path), path, malicious=False, tier="", category="", half="A")


def with_scripts(files: Sequence[str]) -> list[str]:
    """The folders of skills, two thirds of them with scripts of their own, as they are met."""
    folders = [os.path.dirname(file) for file in files]
    for number, folder in enumerate(folders):
        if number % 3:
            os.mkdir(os.path.join(folder, "scripts"))
            for name, text in _SCRIPTS.items():
                Path(folder, "scripts", name).write_text(text * (1 + number % 7), "utf-8")
    return folders


def _write_large(folder: Path, size: int) -> Iterator[str]:
    """One kind of large file after the other."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    body = make_body(20_000)
    kinds = {
        "large.md": body,
        "large.py": _SCRIPTS["convert.py"],
        "large.sh": _SCRIPTS["fetch.sh"],
        "large.js": _SCRIPTS["plan.mjs"],
        "line.js": "const a=[1,2,3];f(a);",
        "newlines.txt": "\n",
    }
    for name, text in kinds.items():
        (folder / name).write_text(text * (size // len(text.encode())), "utf-8")
        yield str(folder / name)
