"""`make eval-scan DATA=folder`: how many attacks the scanner finds, how often it cries wolf, and how fast it is.

Misses and false alarms of half B are counted, never named: who reads them tunes to them. `--archive` scans any folder
of skills instead and shows what is blocked, for a person to read.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from clawft.scanner import Report, scan_path
from peak import peak_kb
from report import write_json
from scan_labels import Labelled, load_labels
from scan_peer import find_peer, run_peer
from scan_scores import Outcome, Rate, count_rules, render_rates, render_rules, render_times, take_times, to_json

SCHEMA = "clawft.eval-scan.v1"
T = TypeVar("T")


def run_ours(skills: Iterable[Labelled]) -> Iterator[Outcome]:
    """The outcome of each skill, in order. A crash never flatters: it is a miss or a false alarm, and an error."""
    for skill in skills:
        start = time.perf_counter()
        try:
            report = scan_path(skill.path)
        except Exception as error:  # one failure must not hide the figures of the rest
            yield Outcome(skill, not skill.malicious, time.perf_counter() - start, repr(error)[:200])
            continue
        seconds = time.perf_counter() - start
        rules = tuple(sorted({(one.rule, one.severity) for one in report.findings}))
        failed = next((gap.reason for gap in report.coverage.gaps if gap.failed), "")
        yield Outcome(skill, report.verdict == "malicious", seconds, failed, rules, report.verdict)


def evaluate(skills: Sequence[Labelled], options: argparse.Namespace) -> dict[str, Any]:
    """Scan, print and return all figures."""
    ours = list(_show_progress(run_ours(skills), len(skills), "weft"))
    memory_kb = peak_kb()
    halves = [half for half in "AB" if any(one.skill.half == half for one in ours)]
    columns: dict[str, Sequence[Outcome]] = {f"half {h}": [o for o in ours if o.skill.half == h] for h in halves}
    theirs: list[Outcome] = []
    if options.peer and (python := find_peer(options.peer)):
        theirs = list(_show_progress(run_peer(python, skills), len(skills), "Cisco"))
        columns |= {f"Cisco, {half}": [one for one in theirs if one.skill.half == half] for half in halves}
    elif options.peer:
        print("note: no Python here can import skill_scanner (cisco-ai-skill-scanner)", file=sys.stderr)
    print(render_rates(columns), "", render_rules(count_rules(ours)), "", sep="\n")
    print(render_times("weft", take_times(ours), ours) + f", peak memory {memory_kb / 1024:.0f} MB")
    if theirs:
        print(render_times("Cisco", take_times(theirs), theirs))
        ratio = take_times(theirs).total / max(1e-9, take_times(ours).total)
        print(f"{'':10}{ratio:.1f} times the skills per second of Cisco's")
    print(*render_named(ours, with_b=options.show and options.half == "all"), sep="\n")
    return {
        "schema": SCHEMA,
        "half": options.half,
        "peak_kb": memory_kb,
        **{name: to_json(outcomes) for name, outcomes in {**columns, "weft": ours}.items()},
        **({"Cisco": to_json(theirs)} if theirs else {}),
    }


def render_named(outcomes: Iterable[Outcome], *, with_b: bool) -> list[str]:
    """Misses, false alarms and failures by name."""
    lines = []
    for one in outcomes:
        if one.skill.half == "B" and not with_b:
            continue
        critical = [rule for rule, severity in one.rules if severity == "critical"]
        if one.error:
            lines.append(f"failed       {one.skill.name}: {one.error}")
        if one.skill.malicious and not one.flagged:
            lines.append(f"missed       {one.skill.tier:12} {one.skill.name} ({one.verdict or 'failed'})")
        if not one.skill.malicious and one.flagged:
            lines.append(f"false alarm  {one.skill.category:12} {one.skill.name}: {', '.join(critical) or one.error}")
    return ["", *sorted(lines)] if lines else []


def scan_archive(top: str) -> str:
    """A Markdown page: the share of skills below a folder that would be blocked, and a line for each of them."""
    skills = find_skills(top)
    blocked: list[tuple[str, Report]] = []
    suspicious = failed = 0
    start = time.perf_counter()
    for path, inside in _show_progress(skills.items(), len(skills), "weft"):
        try:
            report = scan_path(path, without=inside)
        except Exception as error:
            failed += 1
            print(f"failed {path}: {error!r}", file=sys.stderr)
            continue
        failed += any(gap.failed for gap in report.coverage.gaps)
        suspicious += report.verdict == "suspicious"
        if report.verdict == "malicious":
            blocked.append((os.path.relpath(path, top), report))
    elapsed = time.perf_counter() - start
    speed = f"{len(skills) / max(1e-9, elapsed):.0f} skills/s"
    lines = [
        f"{Rate(len(blocked), len(skills))} blocked, {suspicious} suspicious, {failed} failed; {speed}",
        "",
        "| skill | rule | where | evidence | says |",
        "|---|---|---|---|---|",
    ]
    for name, report in blocked:
        for one in [finding for finding in report.findings if finding.severity == "critical"][:3]:
            cells = (name, one.rule, f"{one.path}:{one.line}", f"`{_cell(one.evidence, '`')}`", _cell(one.message))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def find_skills(top: str) -> dict[str, list[str]]:
    """Every folder with a SKILL.md, and the skills inside it: each is scanned by itself, and once."""
    found: dict[str, list[str]] = {}
    for at, _, names in os.walk(top):
        if any(name.lower() == "skill.md" for name in names):
            for above in Path(at).parents:
                found.get(str(above), []).append(at)
            found[at] = []
    return dict(sorted(found.items()))


MAX_CELL = 160


def _cell(text: str, banned: str = "") -> str:
    """A text that cannot leave its cell of a table."""
    plain = "".join(letter if letter.isprintable() and letter not in banned else " " for letter in text)
    return plain.replace("|", "\\|")[:MAX_CELL]


def _show_progress(items: Iterable[T], total: int, name: str) -> Iterator[T]:
    """The items, counted on a terminal."""
    for index, item in enumerate(items, 1):
        yield item
        if sys.stderr.isatty() and (index % 10 == 0 or index == total):
            print(f"\r{name}: {index} of {total}", end="\n" if index == total else "", file=sys.stderr, flush=True)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/eval_scan.py", description=__doc__)
    parser.add_argument("folder", metavar="DATA", nargs="?", help="a folder with labels.csv, malicious/ and benign/")
    parser.add_argument("--half", choices=("A", "B", "all"), default="all")
    parser.add_argument("--peer", default="", help="compare with Cisco's scanner: its Python, or 1 to look for it")
    parser.add_argument("--show", action="store_true", help="with --half all: also name the misses of half B")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--archive", metavar="DIR", help="scan every skill below a folder instead")
    options = parser.parse_args(words)
    if options.archive:
        print(scan_archive(os.path.abspath(options.archive)))
        return 0
    if not options.folder:
        parser.error("give the folder DATA, or --archive DIR")
    skills = [one for one in load_labels(options.folder) if options.half in (one.half, "all")]
    document = evaluate(skills, options)
    if options.json:
        write_json(document, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
