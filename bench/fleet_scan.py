"""The line of `weft fleet scan`: how much sooner two workers are done than one.

By itself it measures any folder of skills: `python bench/fleet_scan.py FOLDER [ROUNDS]`; `make bench` measures skills
that are written for it, or those of ARCHIVE=FOLDER. The start of the workers does not count, and no report from before.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from clawft.agent.run_request import RunRequest
from clawft.cli.fleet_sources import find_scan_targets, write_targets
from clawft.jobs.fleet_feed import FleetFeed, check_file, find_last_batch
from clawft.jobs.fleets import Fleet, FleetSpec, FleetStore
from clawft.jobs.run_state import now_text
from clawft.jobs.runs import Runs
from lines_scan import with_scripts
from make_skills import write_skills
from report import Line
from runs_world import RunsWorld

WORKERS = (1, 2)
CONCURRENCY = 4
SKILLS = 800
ROUNDS = 3
LIMIT = 1.8
_AHEAD = 200
_WARM = 64  # skills that are scanned before the time is taken
_WAIT_S = 900


def measure_fleet_scan(folder: Path, *, skills: int = SKILLS, rounds: int = ROUNDS) -> Line:
    """Both on the same skills, in turn; the best of each."""
    archive = os.environ.get("ARCHIVE", "")
    source = Path(archive) if archive else folder / "skills"
    if not archive:
        write_archive(source, skills)
    best = dict.fromkeys(WORKERS, float("inf"))
    total = 0
    for number in range(rounds):
        for workers in WORKERS:
            total, took = _scan(folder / f"{number}-{workers}", source, workers)
            best[workers] = min(best[workers], took)
            print(f"{workers} workers: {total / took:.1f} skills/s, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    rates = {workers: total / best[workers] for workers in WORKERS}
    what = f"{total} skills scanned by {WORKERS[1]} workers ({rates[WORKERS[1]]:.1f} a second), the best of {rounds}"
    base = f"by {WORKERS[0]} ({rates[WORKERS[0]]:.1f} a second)"
    return Line("fleet-scan", what, base, best[WORKERS[1]], best[WORKERS[0]], "s", LIMIT, "at least")


def write_archive(folder: Path, count: int) -> None:
    """Skills that take about as long as those of the public archive."""
    for skill in map(Path, with_scripts(write_skills(folder, count))):
        for name in ("lib", "examples", "tools", "tests", "more", "extra", "old"):
            if (skill / "scripts").exists():
                shutil.copytree(skill / "scripts", skill / name)


def _scan(folder: Path, source: Path, workers: int) -> tuple[int, float]:
    """How many skills there are, and how long it took, from the first that is queued to the last that is told."""
    world = RunsWorld(folder, [], runs="poll_s = 0.2\n")
    with world.workers(workers, CONCURRENCY):
        world.wait_for_workers(workers)
        with world.runs() as runs:
            _feed(world, runs, _begin(runs, folder / "warm.jsonl", source, _WARM))
            fleet = _begin(runs, folder / "all.jsonl", source)
            begun = time.monotonic()
            _feed(world, runs, fleet)
            return fleet.total, time.monotonic() - begun


def _begin(runs: Runs, path: Path, source: Path, most: int | None = None) -> Fleet:
    targets = list(find_scan_targets([str(source)]))[:most]
    total = write_targets(str(path), targets)
    size, digest = check_file(str(path))
    spec = FleetSpec(
        title="a scan",
        path=str(path),
        size=size,
        digest=digest,
        last=find_last_batch(total),
        request=RunRequest(kind="scan", cwd="/"),
        queue=runs.settings.queue,
        fresh=True,
    )
    fleet = Fleet(path.stem, "scan", spec, total, now_text())
    FleetStore(runs.database).add(fleet)
    return fleet


def _feed(world: RunsWorld, runs: Runs, fleet: Fleet) -> None:
    told: list[dict[str, Any]] = []
    feed = FleetFeed(runs, fleet, told.append, ahead=_AHEAD)
    deadline = time.monotonic() + _WAIT_S
    while not feed.state.is_over:
        if time.monotonic() > deadline:
            raise SystemExit(f"error: the scan does not end: {feed.state}\n{world.log()}")
        feed.step()
        time.sleep(0.2)
    if [one["line"] for one in told] != list(range(1, fleet.total + 1)):
        raise SystemExit("error: the results are not in order")


def main(words: list[str]) -> int:
    os.environ["ARCHIVE"] = words[0]
    with tempfile.TemporaryDirectory(prefix="clawft-fleet-") as folder:
        line = measure_fleet_scan(Path(folder), rounds=int(words[1]) if len(words) > 1 else ROUNDS)
    print(f"{line.measured}; {line.baseline}: {line.ratio:.2f} times (at least {line.limit})")
    return 0 if line.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
