"""`weft skills pin|enable|disable`: the setting is written, and the new state is told."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def config(own: Path, tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (own / name).mkdir()
        (own / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: A skill.\n---\n\nDo it.\n")
    return tmp_path / "home" / ".clawft" / "config.toml"


def test_disabled_skill_is_out_of_use_until_it_is_enabled(weft: Weft, config: Path) -> None:
    done = weft("skills", "disable", "one", "two")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["one is disabled: the config turns it off", "two is disabled: the config turns it off"],
    )
    assert "Written to ~/.clawft/config.toml" in done.stderr
    assert config.read_text() == "[skills.entries.one]\nenabled = false\n\n[skills.entries.two]\nenabled = false\n"
    done = weft("skills", "enable", "one")
    assert done.stdout == "one is ready: a model may be offered it\n"
    assert config.read_text() == "[skills.entries.one]\nenabled = true\n\n[skills.entries.two]\nenabled = false\n"


def test_pin_is_set_and_taken_off(weft: Weft, config: Path) -> None:
    assert weft("skills", "pin", "one").stdout == "one is pinned and ready: a model may be offered it\n"
    assert config.read_text() == "[skills.entries.one]\npinned = true\n"
    assert weft("skills", "pin", "one", "--off").stdout == "one is ready: a model may be offered it\n"
    assert config.read_text() == "[skills.entries.one]\npinned = false\n"


def test_json_has_the_new_state(weft: Weft, config: Path) -> None:
    document = json.loads(weft("skills", "disable", "one", "--format", "json").stdout)

    assert (document["schema"], document["path"], document["changed"]) == (
        "clawft.skills.entries.v1",
        str(config),
        True,
    )
    (skill,) = document["skills"]
    assert (skill["name"], skill["enabled"], skill["pinned"], skill["state"]) == ("one", False, False, "disabled")
    assert [reason["code"] for reason in skill["reasons"]] == ["disabled"]


@pytest.mark.parametrize("command", ["pin", "enable", "disable"])
def test_skill_must_be_there(weft: Weft, config: Path, command: str) -> None:
    done = weft("skills", command, "one", "twoo")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "error[skill-not-found]: No skill 'twoo'",
        "hint: did you mean 'two'? Run: weft skills list",
    ]
    assert not config.exists()


def test_entry_under_the_key_of_a_skill_stays_the_one(weft: Weft, own: Path, config: Path) -> None:
    file = own / "one" / "SKILL.md"
    file.write_text(
        '---\nname: one\ndescription: A skill.\nmetadata: {"openclaw": {"skillKey": "uno"}}\n---\n\nDo it.\n'
    )
    config.write_text('[skills.entries.uno.env]\nA = "1"\n')
    done = weft("skills", "disable", "one")

    assert done.stdout == "one is disabled: the config turns it off\n"
    assert "[skills.entries.uno]\nenabled = false\n" in config.read_text()
    assert "[skills.entries.one]" not in config.read_text()


def test_what_else_has_the_last_word_is_said(weft: Weft, project: Path, config: Path) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text("[skills.entries.one]\nenabled = false\n")
    weft("config", "trust", "--yes")
    done = weft("skills", "enable", "one")
    assert done.stdout == "one is disabled: the config turns it off\n"
    assert "something else sets skills.entries.one.enabled too, and wins" in done.stderr
    done = weft("skills", "enable", "one", "--scope", "project")
    assert done.stdout == "one is ready: a model may be offered it\n"
    assert (project / ".clawft" / "config.toml").read_text() == "[skills.entries.one]\nenabled = true\n"


def test_same_skill_named_twice_is_told_once(weft: Weft, config: Path) -> None:
    done = weft("skills", "pin", "one", "user:one")

    assert done.stdout == "one is pinned and ready: a model may be offered it\n"
    again = weft("skills", "pin", "one")
    assert "So it was in ~/.clawft/config.toml" in again.stderr
