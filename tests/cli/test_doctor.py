"""`weft doctor` and `weft config path`: where things are, and whether they are in order."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Weft = Callable[..., subprocess.CompletedProcess[str]]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_doctor_is_content_with_an_empty_project(weft: Weft) -> None:
    done = weft("doctor")

    assert (done.returncode, done.stderr) == (0, "")
    assert "✗" not in done.stdout
    assert "✓ project: . (the current folder" in done.stdout
    assert "none; defaults are used" in done.stdout


def test_doctor_names_what_is_searched_and_what_is_not_there(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "skills" / "one" / "SKILL.md", "---\nname: one\ndescription: d\n---\n")

    done = weft("doctor")

    assert "✓ project: . (marked)" in done.stdout
    assert "searched: .clawft/skills (project): 1 skill\n" in done.stdout
    assert "~/.claude" in next(line for line in done.stdout.splitlines() if "not there: skills of user" in line)


def test_doctor_exits_1_for_a_broken_skill_and_a_broken_agent(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "bad" / "SKILL.md", "---\nname: bad\n")
    _write(project / ".clawft" / "agents" / "worse.yaml", "- a list\n")

    done = weft("doctor")

    assert done.returncode == 1
    assert "✗ broken skill: skills/bad/SKILL.md:1: " in done.stdout
    assert "✗ broken agent: .clawft/agents/worse.yaml: " in done.stdout


def test_doctor_survives_a_broken_config_and_names_it(weft: Weft, tmp_path: Path) -> None:
    _write(tmp_path / "home" / ".clawft" / "config.toml", "[skills]\nenabeld = true\n")

    done = weft("doctor")

    assert done.returncode == 1
    assert "✗ config: " in done.stdout
    assert "config.toml:2" in done.stdout
    assert "enabled" in done.stdout
    assert "Traceback" not in done.stderr


def test_json_of_doctor(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "bad" / "SKILL.md", "---\nname: bad\n")

    done = weft("doctor", "--format", "json")

    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["ok"]) == (1, "clawft.doctor.v1", False)
    assert {one["status"] for one in document["checks"]} <= {"ok", "note", "problem"}
    assert "broken skill" in [one["name"] for one in document["checks"] if one["status"] == "problem"]


def test_config_path_lists_the_files_lowest_first(weft: Weft, project: Path, tmp_path: Path) -> None:
    _write(project / ".clawft" / "config.toml", "")

    done = weft("config", "path")

    home = tmp_path / "home" / ".clawft"
    assert done.stdout.splitlines() == [
        f"{home}/config.toml (not there)",
        f"{home}/config.json (not there)",
        f"{project}/.clawft/config.toml",
        f"{project}/.clawft/config.json (not there)",
    ]


def test_json_of_config_path(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "config.json", "{}")

    document = json.loads(weft("config", "path", "--format", "json").stdout)

    assert document["schema"] == "clawft.config.path.v1"
    assert [one["exists"] for one in document["files"]] == [False, False, False, True]


def test_config_path_follows_clawft_home(weft: Weft, tmp_path: Path) -> None:
    done = weft("config", "path", CLAWFT_HOME=str(tmp_path / "moved"))

    assert done.stdout.startswith(f"{tmp_path}/moved/config.toml")
