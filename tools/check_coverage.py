"""Fails when an area of the code is tested less than it must be. Counts lines of coverage's JSON."""

import json
import sys
from pathlib import Path
from typing import Any

MINIMUM_PERCENT = {
    "src/clawft/skills/parse": 90,
    "src/clawft/skills/render": 90,
    "src/clawft/config": 90,
    "src/clawft/skills/discovery": 85,
    "src/clawft/trust": 85,
    "src/clawft/cli": 80,
}
ELSE = "everything else"
ELSE_MINIMUM_PERCENT = 85


def check_report(report: dict[str, Any]) -> list[tuple[str, float, int]]:
    """Return area, percent of lines run and the minimum, for each area that has code."""
    counts: dict[str, list[int]] = {}
    for file, result in report["files"].items():
        summary = result["summary"]
        total = counts.setdefault(_area_of(file), [0, 0])
        total[0] += summary["covered_lines"]
        total[1] += summary["num_statements"]
    minimum = MINIMUM_PERCENT | {ELSE: ELSE_MINIMUM_PERCENT}
    return [
        (area, 100 * counts[area][0] / counts[area][1], minimum[area])
        for area in minimum
        if counts.get(area, [0, 0])[1]
    ]


def _area_of(file: str) -> str:
    path = file.replace("\\", "/")
    return next((area for area in MINIMUM_PERCENT if path.startswith((f"{area}/", f"{area}.py"))), ELSE)


def main(report_file: str) -> int:
    areas = check_report(json.loads(Path(report_file).read_text("utf-8")))
    if not areas:
        print("FAIL  coverage: no code was measured")
        return 1
    for area, percent, minimum in areas:
        word = "ok  " if percent >= minimum else "FAIL"
        print(f"{word}  coverage of {area}: {percent:.1f} % (at least {minimum} %)")
    return 1 if any(percent < minimum for _, percent, minimum in areas) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
