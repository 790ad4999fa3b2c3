"""`make bench`: a small run from end to end, and the verdict."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from report import Line, exit_code, find_commit, render_lines

RUN = Path(__file__).parents[2] / "bench" / "run.py"
SLOWER = Line("cold", "loading", "reading", value=5.0, baseline_value=2.0, unit="ms", limit=2.5)
FASTER = Line("peer", "loading", "the peer", value=0.1, baseline_value=5.0, unit="ms", limit=50, bound="at least")


def run_bench(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, RUN, *words], env=env, capture_output=True, text=True, timeout=100)


@pytest.mark.soak
@pytest.mark.unmeasured
def test_quick_run_prints_every_line_and_writes_json(tmp_path: Path, child_env: dict[str, str]) -> None:
    output = tmp_path / "new" / "bench.json"
    done = run_bench("--quick", "--output", str(output), env=child_env)
    assert done.returncode == 0, done.stderr
    assert "limits are not enforced" in done.stderr
    document = json.loads(output.read_text("utf-8"))
    assert document.keys() == {"schema", "commit", "date", "machine", "load_average", "enforced", "lines"}
    assert document["machine"].keys() == {"platform", "cpus", "cpu", "python"}
    names = [line["name"] for line in document["lines"]]
    expected = [
        "cold", "warm", "peer", "start-up", "linear", "memory", "R176", "R55", "R84",
        "first-token", "concurrent", "dynamic", "fork", "runs-step", "sandbox", "hook",
        "hook-kept", "wasm", "wasm-call", "audit", "verify", "session", "memory-search",
        "hub-200", "install-100", "serve-list", "serve-500", "serve-memory", "serve-edit",
        "mcp-stdio", "mcp-http", "plugins-50", "reload", "prompt", "keystroke",
        "scan-warm", "scan-unchanged", "scan-large", "scan-memory",
    ]  # fmt: skip
    if "sandbox" not in names:  # where there is no bubblewrap
        expected = [one for one in expected if one not in ("sandbox", "hook", "hook-kept")]
    assert names[: len(expected)] == expected
    assert names[len(expected) :] in ([], ["scan-peer", "scan-start"])  # where Cisco's scanner is installed
    for line in document["lines"]:
        assert line.keys() >= {"measured", "baseline", "value", "baseline_value", "unit", "ratio", "limit", "ok"}
        assert line["ratio"] > 0
        assert f"\n{line['name']} " in done.stdout


def test_corpus_measures_a_folder_of_the_users_own(tmp_path: Path, child_env: dict[str, str]) -> None:
    skill = tmp_path / "skills" / "one"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: one\ndescription: Does one thing.\n---\nBody\n")
    output = tmp_path / "bench.json"
    done = run_bench("--quick", "--corpus", str(tmp_path / "skills"), "--output", str(output), env=child_env)
    assert done.returncode == 0, done.stderr
    assert [line["name"] for line in json.loads(output.read_text())["lines"]] == ["cold", "warm", "peer"]


def test_corpus_without_skills_is_an_error(tmp_path: Path, child_env: dict[str, str]) -> None:
    done = run_bench("--quick", "--corpus", str(tmp_path), "--output", str(tmp_path / "x.json"), env=child_env)
    assert done.returncode == 1
    assert "there are no skills below" in done.stderr


@pytest.mark.parametrize("kept", [SLOWER, FASTER])
def test_line_at_its_limit_is_kept(kept: Line) -> None:
    assert kept.ok
    assert exit_code([kept], enforced=True) == 0


@pytest.mark.parametrize("missed", [replace(SLOWER, value=5.1), replace(FASTER, value=0.11)])
def test_missed_line_fails_the_run_unless_limits_are_not_enforced(missed: Line) -> None:
    assert not missed.ok
    assert exit_code([SLOWER, missed, FASTER], enforced=True) == 1
    assert exit_code([SLOWER, missed, FASTER], enforced=False) == 0
    assert "MISSED" in render_lines([missed])


def test_folder_outside_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert find_commit(tmp_path) == "unknown"
