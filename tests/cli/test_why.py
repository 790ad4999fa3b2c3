"""`weft skills why`: the state of a skill, how it was decided, and what would change it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Weft = Callable[..., subprocess.CompletedProcess[str]]


def _skill(folder: Path, extra: str = "") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: d\n{extra}---\n\nBody.\n")


def test_why_names_every_unmet_requirement_and_what_to_do(weft: Weft, own: Path) -> None:
    _skill(own / "poor", "requires: {bins: [no-such-program], env: [NO_SUCH_KEY]}\n")

    done = weft("skills", "why", "poor")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("poor is ineligible: something it requires is missing\n")
    assert 'requires binary "no-such-program"' in done.stdout
    assert "hint: Set NO_SUCH_KEY, or run: weft skills env poor NO_SUCH_KEY" in done.stdout
    assert "a model is not told of it" in done.stdout
    assert "a person may start it as poor" in done.stdout


def test_what_the_hint_of_why_says_helps(weft: Weft, own: Path, tmp_path: Path) -> None:
    _skill(own / "poor", "requires: {env: [NO_SUCH_KEY]}\n")
    assert "poor is ineligible" in weft("skills", "why", "poor").stdout

    assert "poor is ready" in weft("skills", "why", "poor", NO_SUCH_KEY="x").stdout
    (tmp_path / "home" / ".clawft" / "config.toml").write_text("[skills.entries.poor.env]\nNO_SUCH_KEY = 'x'\n")
    assert "poor is ready" in weft("skills", "why", "poor").stdout


def test_why_tells_of_all_skills_of_a_name(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "twin", "disable-model-invocation: true\n")
    _skill(tmp_path / "home" / ".claude" / "skills" / "twin")

    assert weft("skills", "trust", "--all", "--yes").returncode == 0

    done = weft("skills", "why", "twin")

    assert "twin is manual" in done.stdout
    assert "twin is shadowed" in done.stdout
    assert "Name it as user:twin" in done.stdout


def test_why_of_a_broken_skill_has_line_and_hint(weft: Weft, project: Path) -> None:
    (project / "skills" / "broken").mkdir(parents=True)
    (project / "skills" / "broken" / "SKILL.md").write_text("---\nname: broken\ndescription: d\n")

    done = weft("skills", "why", "broken")

    assert done.stdout.startswith("broken is broken: it cannot be read\n")
    assert "line 1: error[frontmatter-unterminated]" in done.stdout
    assert "hint: End it with a line '---', most likely after line 3" in done.stdout
    assert "a person may not start it" in done.stdout


def test_json_of_why(weft: Weft, project: Path, own: Path) -> None:
    _skill(own / "Poor-One", "requires: {bins: [no-such-program]}\n")

    document = json.loads(weft("skills", "why", "poor-one", "--format", "json").stdout)

    assert document["schema"] == "clawft.skills.why.v1"
    assert document["name"] == "poor-one"
    (answer,) = document["skills"]
    assert (answer["state"], answer["scope"], answer["model_invocable"]) == ("ineligible", "user", False)
    assert [one["code"] for one in answer["reasons"]] == ["requires-bin"]
    assert [one["code"] for one in answer["diagnostics"]] == ["name-not-canonical"]


def test_why_says_who_turned_a_skill_off(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "off")
    (tmp_path / "home" / ".clawft").mkdir()
    (tmp_path / "home" / ".clawft" / "config.json").write_text('{"skills": {"entries": {"off": {"enabled": false}}}}')

    done = weft("skills", "why", "off")

    assert "off is disabled" in done.stdout
    assert "skills.entries.off.enabled = false" in done.stdout
