"""`weft skills show` (and `info`)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Weft = Callable[..., subprocess.CompletedProcess[str]]

FULL = """\
---
name: Satellite Dish
description: Point the dish and read telemetry.
version: 2.0.1
argument-hint: "[angle]"
arguments: [angle]
context: fork
agent: explore
model: local/small
license: MIT
homepage: https://example.org/dish
allowed-tools: Read, Bash(dishctl:*)
tags: [space, radio]
metadata: {"clawdbot": {"emoji": "📡", "requires": {"bins": ["dishctl"], "env": ["DISH_KEY"]},
  "install": [{"kind": "brew", "formula": "dishctl", "bins": ["dishctl"]}, {"kind": "apt", "package": "dish"}]}}
---

Run `dishctl align $angle`.
"""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_show_tells_every_field_requirement_and_way_to_install(weft: Weft, project: Path, own: Path) -> None:
    _write(own / "satellite" / "SKILL.md", FULL)

    done = weft("skills", "show", "satellite-dish")

    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    expected = {
        "Skill": "📡 satellite-dish",
        "Display Name": "Satellite Dish",
        "Description": "Point the dish and read telemetry.",
        "Version": "2.0.1",
        "Format": "SKILL.md",
        "Scope": "user (~/.clawft/skills/satellite/)",
        "State": "ineligible",
        "Arguments": "angle",
        "Argument Hint": "[angle]",
        "Context": "fork",
        "Agent": "explore",
        "Model": "local/small",
        "Allowed Tools": "Read, Bash(dishctl:*)",
        "Gets Tools": "read_file, exec_shell (Bash(dishctl:*))",
        "Tags": "space, radio",
        "License": "MIT",
        "Homepage": "https://example.org/dish",
        "Requires bins": "dishctl",
        "Requires env": "DISH_KEY",
    }
    assert {label: lines.get(label) for label in expected} == expected
    assert "Install: brew install dishctl\nInstall: apt install dish\n" in done.stdout
    assert 'requires binary "dishctl"' in done.stdout
    assert lines["Digest"].startswith("sha256:")


def test_show_of_a_plain_skill_leaves_out_what_it_does_not_have(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "plain" / "SKILL.md", "---\nname: plain\ndescription: d\n---\n\nBody.\n")

    done = weft("skills", "show", "plain")

    for label in ("Display Name", "Agent", "Model:", "Homepage", "Requires", "Install", "Tags"):
        assert f"\n{label}" not in done.stdout


def test_show_of_a_broken_skill_tells_what_is_wrong_and_where(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "broken" / "SKILL.md", "---\nname: broken\ndescription: d\n")

    done = weft("skills", "show", "broken")

    assert done.returncode == 0
    assert "State: broken" in done.stdout
    assert "skills/broken/SKILL.md:1: error[frontmatter-unterminated]" in done.stdout


def test_show_of_a_shadowed_skill_goes_by_scope(weft: Weft, project: Path, tmp_path: Path) -> None:
    _write(project / "skills" / "twin" / "SKILL.md", "---\nname: twin\ndescription: Mine.\n---\n")
    _write(
        tmp_path / "home" / ".claude" / "skills" / "twin" / "SKILL.md", "---\nname: twin\ndescription: Yours.\n---\n"
    )

    assert weft("skills", "trust", "--all", "--yes").returncode == 0

    assert "Description: Mine." in weft("skills", "show", "twin").stdout
    shadowed = weft("skills", "show", "user:twin").stdout
    assert "Description: Yours." in shadowed
    assert "Scope: user (~/.claude/skills/twin/)" in shadowed
    assert "State: shadowed" in shadowed


def test_json_of_show_holds_all_fields_of_the_one_skill(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "satellite" / "SKILL.md", FULL)

    document = json.loads(weft("skills", "show", "satellite-dish", "--format", "json").stdout)
    listed = json.loads(weft("skills", "list", "--scope", "project", "--format", "json").stdout)["skills"]

    assert document["schema"] == "clawft.skills.show.v1"
    (summary,) = listed
    assert {key: document[key] for key in summary} == summary
    assert document["license"] == "MIT"
    assert document["argument_hint"] == "[angle]"
    assert document["install"][0] == {"kind": "brew", "formula": "dishctl", "bins": ["dishctl"]}
    assert "name-not-canonical" in [one["code"] for one in document["diagnostics"]]
    assert "prompt" not in document


def test_links_in_the_folder_are_said_with_the_digest(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "linked" / "SKILL.md", "---\nname: linked\ndescription: d\n---\n")
    (project / "skills" / "linked" / "data").symlink_to("/etc/passwd")

    done = weft("skills", "show", "linked")

    assert "skills/linked/data: warning[not-in-digest]" in done.stdout
