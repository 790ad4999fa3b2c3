"""`weft skills deps`: what a skill needs is shown, and installers run only when somebody asked for them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]

INSTALLERS = [
    {"id": "tool", "kind": "node", "package": "@tools/greet", "bins": ["greet-nowhere"]},
    {"kind": "uv", "package": "--editable"},
    {"kind": "node", "package": "--global x"},
    {"kind": "download", "url": "https://github.com/tools/greet/releases/download/v1/greet.tgz"},
    {"kind": "brew", "formula": "greet", "os": ["darwin"]},
    {"kind": "apt", "package": "greet", "bins": ["sh"]},
]


@pytest.fixture
def needy(own: Path) -> str:
    needs = {"openclaw": {"requires": {"bins": ["greet-nowhere", "sh"]}, "install": INSTALLERS}}
    head = f"---\nname: needy\ndescription: Greets when asked to.\nmetadata: {json.dumps(needs)}\n---\n"
    (own / "needy").mkdir()
    (own / "needy" / "SKILL.md").write_text(f"{head}Say hello.\n")
    return "needy"


@pytest.fixture
def npm(tmp_path: Path, child_env: dict[str, str]) -> Path:
    """A package manager that writes down how it is called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    called = tmp_path / "called"
    (folder / "npm").write_text(f'#!/bin/sh\necho "$@" >> {called}\necho added 1 package\n')
    (folder / "npm").chmod(0o755)
    child_env["PATH"] = f"{folder}:{child_env['PATH']}"
    return called


def test_each_installer_is_shown_with_its_exact_words_and_none_is_run(weft: Weft, needy: str, npm: Path) -> None:
    told = json.loads(weft("skills", "deps", needy, "--format", "json").stdout)
    assert {one["name"]: one["there"] for one in told["programs"]} == {"greet-nowhere": False, "sh": True}
    found = {one["id"]: (one["state"], one["command"]) for one in told["installers"]}
    assert found["tool"] == ("ready", "npm install -g --ignore-scripts @tools/greet")
    assert (found["uv-2"][0], found["node-3"][0]) == ("unfit", "unfit")
    assert (found["download-4"][0], found["brew-5"][0], found["apt-6"][0]) == ("shown", "unfit", "there")
    assert not npm.exists()


def test_an_installer_runs_only_after_a_yes_and_is_written_down(weft: Weft, own: Path, needy: str, npm: Path) -> None:
    assert weft("skills", "deps", needy, "--run").returncode == 3
    assert weft("skills", "deps", needy, "--run", "--yes").returncode == 2  # which ones is to be said
    assert weft("skills", "deps", needy, "--run", "--only", "node-3", "--yes").returncode == 3
    assert not npm.exists()
    done = weft("skills", "deps", needy, "--run", "--only", "tool", "--yes")
    assert (done.returncode, "added 1 package" in done.stdout) == (0, True)
    assert npm.read_text() == "install -g --ignore-scripts @tools/greet\n"
    assert "npm install -g --ignore-scripts @tools/greet" in (own.parent / "audit.jsonl").read_text()


def test_what_the_command_policy_refuses_is_not_run(weft: Weft, needy: str, npm: Path, own: Path) -> None:
    (own.parent / "config.toml").write_text('[tools.exec]\ndenied_patterns = ["npm install"]\n')
    refused = weft("skills", "deps", needy, "--run", "--only", "tool", "--yes")
    assert (refused.returncode, npm.exists()) == (3, False)
    assert "command-denied" in refused.stderr


def test_nothing_is_run_for_a_skill_that_nobody_approved(
    weft: Weft, project: Path, own: Path, needy: str, npm: Path
) -> None:
    (own / needy).rename(project / "strange")
    refused = weft("skills", "deps", needy, "--dir", "strange", "--run", "--only", "tool", "--yes")
    assert (refused.returncode, npm.exists()) == (3, False)
    assert "skill-untrusted" in refused.stderr


@pytest.mark.parametrize("command", [("list",), ("why", "dishes"), ("show", "dishes"), ("deps", "dishes")])
def test_no_command_prints_an_installer_that_a_shell_would_misread(weft: Weft, own: Path, command: tuple[str]) -> None:
    installers = [{"kind": "node", "package": "dishctl; touch evil"}, {"label": "touch evil | sh"}]
    needs = {"openclaw": {"requires": {"bins": ["dishctl"]}, "install": installers}}
    head = f"---\nname: dishes\ndescription: Points the dish.\nmetadata: {json.dumps(needs)}\n---\n"
    (own / "dishes").mkdir()
    (own / "dishes" / "SKILL.md").write_text(f"{head}Aim.\n")

    done = weft("skills", *command)

    told = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    assert done.returncode == 0
    assert not any("npm install -g" in line for line in told)
    assert not any("touch evil" in line for line in told if line.startswith(("Install:", "hint:", "└")))
    assert all("'touch evil | sh'" in line for line in told if command[0] == "deps" and "touch evil | sh" in line)
