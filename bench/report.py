"""What was measured: one value for each line, its verdict, and how it is shown and kept."""

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

SCHEMA = "clawft.bench.v1"
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Line:
    """One figure. `at most`: value over baseline; `at least`: baseline over value, how many times better."""

    name: str
    measured: str
    baseline: str
    value: float
    baseline_value: float
    unit: str
    limit: float
    bound: Literal["at most", "at least"] = "at most"

    @property
    def ratio(self) -> float:
        return self.value / self.baseline_value if self.bound == "at most" else self.baseline_value / self.value

    @property
    def ok(self) -> bool:
        return self.ratio <= self.limit if self.bound == "at most" else self.ratio >= self.limit


def exit_code(lines: Sequence[Line], *, enforced: bool) -> int:
    """1 when a line is missed and limits are enforced."""
    return 1 if enforced and not all(line.ok for line in lines) else 0


def to_json(lines: Sequence[Line], load: Sequence[float], *, enforced: bool) -> dict[str, Any]:
    """The document that is kept: when and on what it was measured, how busy that was before, and every line."""
    return {
        "schema": SCHEMA,
        "commit": find_commit(ROOT),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "load_average": [round(one, 2) for one in load],
        "enforced": enforced,
        "lines": [{**asdict(line), "ratio": line.ratio, "ok": line.ok} for line in lines],
    }


def write_json(document: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def render_lines(lines: Sequence[Line]) -> str:
    """A table, and below it what each line says."""
    rows = [("LINE", "VALUE", "BASELINE", "RATIO", "LIMIT", "")]
    for line in lines:
        sign = "≤" if line.bound == "at most" else "≥"
        value, baseline = (f"{number:.3g} {line.unit}" for number in (line.value, line.baseline_value))
        verdict = "ok" if line.ok else "MISSED"
        rows.append((line.name, value, baseline, f"{line.ratio:.2f}x", f"{sign} {line.limit:g}x", verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    said = [f"{line.name.ljust(widths[0])}  {line.measured}; against: {line.baseline}" for line in lines]
    return "\n".join((*table, "", *said))


def describe_machine() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "cpu": _find_cpu_model() or platform.processor() or "unknown",
        "python": platform.python_version(),
    }


def _find_cpu_model() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), None)


def find_commit(root: Path) -> str:
    """The commit, with `-dirty` when files differ from it; `unknown` outside a repository."""
    try:
        commit = _run_git(root, "rev-parse", "HEAD")
        return commit + ("-dirty" if _run_git(root, "status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _run_git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()
