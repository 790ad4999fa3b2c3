"""`make bench`: figures as ratios to a floor or a peer on the same work. Exits 1 when a limit is missed."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import lines as bench
from fleet_scan import measure_fleet_scan
from folder import Folder, open_folder
from lines_audit import measure_audit
from lines_checkpoint import measure_checkpoint
from lines_dynamic import measure_dynamic
from lines_fork import measure_fork
from lines_hooks import measure_hooks
from lines_hub import measure_hub
from lines_mcp import measure_mcp
from lines_memory import measure_memory_search
from lines_plugins import measure_plugins
from lines_reload import measure_reload
from lines_repl import SKILLS, measure_keystroke, measure_prompt
from lines_run import measure_concurrent, measure_first_token
from lines_runs import measure_runs, measure_step
from lines_sandbox import measure_sandbox
from lines_scan import QUICK, ScanSizes, measure_scan
from lines_serve import measure_serve
from lines_sessions import measure_open_session
from lines_verify import measure_verify
from lines_wasm import measure_wasm
from make_skills import wait_until_settled, write_skills
from report import ROOT, Line, exit_code, render_lines, to_json, write_json


def main(words: list[str]) -> int:
    options = _parse(words)
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="clawft-bench-") as temporary:
        if options.corpus:
            found = measure_corpus(options.corpus, Path(temporary), bench.QUICK if options.quick else bench.Sizes())
        else:
            found = measure_all(Path(temporary), quick=options.quick)
    print(render_lines(found))
    write_json(to_json(found, load, enforced=not options.quick), options.output)
    if load[0] > (os.cpu_count() or 1):
        print(f"note: the machine was busy (load average {load[0]:.1f}); measure again when it is not", file=sys.stderr)
    missed = [line.name for line in found if not line.ok]
    said = f"missed: {', '.join(missed)}" if missed else "every line is kept"
    print(f"{said}{' (a quick run: limits are not enforced)' if options.quick else ''}", file=sys.stderr)
    return exit_code(found, enforced=not options.quick)


def measure_background(folder: Path, *, quick: bool) -> list[Line]:
    """The lines of runs in the background; in a quick run only what takes seconds."""
    if quick:
        return [measure_step(folder / "step", 10, 1)]
    return [*measure_runs(folder), measure_fleet_scan(folder / "fleet")]


def measure_all(temporary: Path, *, quick: bool) -> list[Line]:
    """Every line, on skills written for it."""
    sizes = bench.QUICK if quick else bench.Sizes()
    home, cwd, agents, memory = (temporary / name for name in ("home", "cwd", "agents", "memory"))
    for folder in (cwd, agents, memory):
        folder.mkdir()
    paths = write_skills(temporary / "skills", sizes.skills)
    write_skills(temporary / "many", sizes.many)
    write_skills(home / ".clawft" / "skills", sizes.few)
    if not quick:
        bench.compile_bytecode()
    wait_until_settled()
    skills = _open(temporary / "skills", temporary, sizes.skills)
    many = _open(temporary / "many", temporary, sizes.many)
    few = _open(home / ".clawft" / "skills", temporary, sizes.few)
    return [
        bench.measure_cold(skills, paths, sizes),
        bench.measure_warm(skills, paths, sizes),
        bench.measure_peer(skills, paths, sizes),
        bench.measure_start(home, cwd, sizes),
        bench.measure_linear(many, few, sizes),
        bench.measure_memory(many),
        bench.measure_discovery(few, sizes),
        bench.measure_render(sizes),
        bench.measure_agents(agents, sizes),
        measure_first_token(temporary / "first-token", sizes.turns),
        measure_concurrent(temporary / "concurrent", sizes.sessions),
        measure_dynamic(temporary / "dynamic", 3 if quick else 10),
        measure_fork(temporary / "fork", sizes.turns),
        *measure_background(temporary / "runs", quick=quick),
        *measure_sandbox(temporary / "sandbox", 5 if quick else 100),
        *measure_hooks(temporary / "hooks", 3 if quick else 60),
        *measure_wasm(temporary / "wasm", 100 if quick else 2_000),
        measure_audit(temporary / "audit", 200 if quick else 3_000),
        measure_verify(temporary / "verify", 60 if quick else 1_000, 2 if quick else 15),
        measure_open_session(temporary / "sessions", sizes),
        measure_checkpoint(temporary / "checkpoint", sizes.many, sizes.rounds),
        measure_memory_search(memory, sizes.memories, 6 if quick else 60),
        *measure_hub(temporary / "hub", 10 if quick else 100, 1 if quick else 5),
        *measure_serve(temporary / "serve", quick=quick),
        *measure_mcp(temporary / "mcp", 5 if quick else 50, 1 if quick else 20),
        measure_plugins(temporary / "plugins", 5 if quick else 50, sizes.starts),
        measure_reload(temporary / "reload", 60 if quick else 5_000, 3 if quick else 60),
        measure_prompt(temporary / "prompt", sizes.starts),
        measure_keystroke(temporary / "keystroke", sizes.skills if quick else SKILLS, sizes.turns),
        *measure_scan(temporary / "scan", QUICK if quick else ScanSizes()),
    ]


def measure_corpus(root: Path, temporary: Path, sizes: bench.Sizes) -> list[Line]:
    """The lines that make sense for any folder, on its own skills."""
    folder = open_folder(str(root), str(temporary / "cache"))
    paths = [found.file for found in folder.load().found]
    if not paths:
        raise SystemExit(f"error: there are no skills below {root}")
    measures = (bench.measure_cold, bench.measure_warm, bench.measure_peer)
    return [measure(folder, paths, sizes) for measure in measures]


def _open(root: Path, temporary: Path, count: int) -> Folder:
    """A folder that was written here; a figure for fewer skills than it claims would be worth nothing."""
    folder = open_folder(str(root), str(temporary / "cache" / root.parent.name / root.name))
    found = folder.load().found
    usable = sum(one.skill is not None for one in found)
    if len(found) != count or usable != count:
        raise SystemExit(f"error: of {count} skills {len(found)} were found and {usable} are usable")
    return folder


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    default = ROOT / ".cache" / "bench" / "latest.json"
    parser.add_argument("--output", type=Path, default=default, metavar="FILE", help="where the JSON goes")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="measure cold, warm and peer on this folder")
    parser.add_argument("--quick", action="store_true", help="small numbers, and limits are not enforced")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
