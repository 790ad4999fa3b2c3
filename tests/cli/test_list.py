"""`weft skills list`."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]

# A promised document: these keys in this order; more may follow.
SKILL = [
    "name", "display_name", "description", "version", "scope", "layer", "format", "path", "digest", "state", "reasons",
    "user_invocable", "model_invocable", "context", "allowed_tools", "requires", "emoji", "homepage", "tokens",
]  # fmt: skip
REASON = ["code", "severity", "message", "path", "line", "hint"]
REQUIRES = ["bins", "any_bins", "env", "config", "os", "tools", "skills"]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _skill(folder: Path, description: str = "A skill.", extra: str = "") -> None:
    _write(folder / "SKILL.md", f"---\nname: {folder.name}\ndescription: {description}\n{extra}---\n\nDo it.\n")


def _json(done: subprocess.CompletedProcess[str]) -> Any:
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_every_skill_is_listed_with_state_scope_and_format(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "sound")
    _skill(project / "skills" / "poor", extra="requires: {bins: [no-such-program]}\n")
    _write(project / "skills" / "broken" / "SKILL.md", "---\nname: broken\n")
    _write(project / "skills" / "old" / "skill.json", '{"name": "old", "description": "Old one."}')
    _write(project / "skills" / "old" / "prompt.md", "Old.")

    assert weft("skills", "trust", "--all", "--yes").returncode == 0

    done = weft("skills", "list", "--scope", "project")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["NAME", "DESCRIPTION", "STATE", "SCOPE", "FORMAT"]
    rows = [line.split() for line in lines[1:] if "└" not in line]
    assert rows == [
        ["✗", "broken", "broken", "project", "SKILL.md"],
        ["✓", "old", "Old", "one.", "ready", "project", "legacy"],
        ["✗", "poor", "A", "skill.", "ineligible", "project", "SKILL.md"],
        ["✓", "sound", "A", "skill.", "ready", "project", "SKILL.md"],
    ]
    assert done.stderr == "4 skills: 2 ready, 1 ineligible, 1 broken\n"


def test_skill_that_is_not_ready_says_why_below_its_row(weft: Weft, own: Path) -> None:
    install = "install: [{kind: brew, formula: dishes, bins: [dishctl]}]\n"
    _skill(own / "poor", extra=f"requires: {{bins: [dishctl], env: [NO_SUCH_KEY]}}\n{install}")

    done = weft("skills", "list", "--scope", "user")

    reason = done.stdout.splitlines()[2]
    assert "└" in reason
    assert 'requires binary "dishctl"' in reason
    assert "brew install dishes" in reason
    assert "1 more: weft skills why poor" in reason


def test_json_has_the_documented_keys(weft: Weft, project: Path, own: Path) -> None:
    _skill(
        own / "full",
        "Does all.",
        "version: 1.2.3\nallowed-tools: Read, Bash(git:*)\nhomepage: https://example.org\ncontext: fork\n"
        "metadata: {openclaw: {emoji: 📡, requires: {bins: [no-such-program]}}}\n",
    )

    document = _json(weft("skills", "list", "--scope", "user", "--format", "json"))

    assert list(document) == ["schema", "skills", "diagnostics"]
    assert document["schema"] == "clawft.skills.list.v1"
    (skill,) = document["skills"]
    assert list(skill)[: len(SKILL)] == SKILL
    assert list(skill["requires"]) == REQUIRES
    assert list(skill["tokens"]) == ["catalog", "body"]
    (reason,) = skill["reasons"]
    assert list(reason)[: len(REASON)] == REASON
    assert reason["severity"] == "warning"
    assert skill["requires"]["bins"] == ["no-such-program"]
    expected = {
        "name": "full", "display_name": "full", "description": "Does all.", "version": "1.2.3", "scope": "user",
        "layer": ".clawft/skills", "format": "skill.md", "state": "ineligible", "user_invocable": True,
        "context": "fork", "allowed_tools": ["Read", "Bash(git:*)"], "emoji": "📡", "homepage": "https://example.org",
        "path": str(own / "full" / "SKILL.md"),
    }  # fmt: skip
    assert {key: skill[key] for key in expected} == expected
    assert skill["digest"].startswith("sha256:")
    assert len(skill["digest"]) == len("sha256:") + 64


def test_what_comes_with_the_project_is_untrusted_and_the_row_says_what_to_do(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "theirs")

    done = weft("skills", "list", "--scope", "project")

    row, reason = done.stdout.splitlines()[1:3]
    assert row.split() == ["✗", "theirs", "A", "skill.", "untrusted", "project", "SKILL.md"]
    assert "It comes with the project and is not approved. Look at it, then: weft skills trust theirs" in reason
    assert done.stderr == "1 skill: 1 untrusted\n"


def test_json_of_a_broken_skill_has_the_same_keys(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "broken" / "SKILL.md", "---\nname: broken\n")

    (skill,) = _json(weft("skills", "list", "--scope", "project", "--format", "json"))["skills"]

    assert list(skill)[: len(SKILL)] == SKILL
    assert (skill["name"], skill["state"], skill["emoji"]) == ("broken", "broken", None)
    (reason,) = skill["reasons"]
    assert (reason["code"], reason["severity"], reason["line"]) == ("frontmatter-unterminated", "error", 1)
    assert reason["hint"]


def test_legacy_format_is_told(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "old" / "skill.json", '{"name": "old", "description": "d"}')

    (skill,) = _json(weft("skills", "list", "--scope", "project", "--format", "json"))["skills"]

    assert skill["format"] == "legacy"


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("project", {"one"}),
        ("user", {"two"}),
        ("extra", {"three"}),
        ("plugin", set()),
        ("all", {"one", "two", "three"}),
    ],
)
def test_scope_narrows_the_list(weft: Weft, project: Path, tmp_path: Path, scope: str, names: set[str]) -> None:
    _skill(project / "skills" / "one")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "two")
    _skill(tmp_path / "more" / "three")
    _write(tmp_path / "home" / ".clawft" / "config.toml", f"[skills.load]\nextra_dirs = ['{tmp_path}/more']\n")

    skills = _json(weft("skills", "list", "--scope", scope, "--format", "json"))["skills"]

    found = {one["name"] for one in skills}
    assert found - {one["name"] for one in skills if one["scope"] == "bundled"} == names
    assert scope == "all" or {one["scope"] for one in skills} <= {scope}


def test_dir_searches_only_there_and_may_be_repeated_and_be_a_skill(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "not-this")
    _skill(tmp_path / "left" / "one")
    _skill(tmp_path / "left" / "group" / "two")
    _skill(tmp_path / "right" / "three")

    document = _json(
        weft("skills", "list", "--dir", "../left", "--dir", tmp_path / "right" / "three", "--format", "json")
    )

    assert [(one["name"], one["scope"]) for one in document["skills"]] == [
        ("one", "dir"),
        ("three", "dir"),
        ("two", "dir"),
    ]
    told = "They are only looked at: to run one asks first"
    assert told in weft("skills", "list", "--dir", "../left").stderr
    assert told not in weft("skills", "list").stderr


def test_dir_that_is_not_there_is_said(weft: Weft) -> None:
    done = weft("skills", "list", "--dir", "nowhere")

    assert done.stdout == ""
    assert "error[no-folder]: There is no such folder" in done.stderr


def test_search_diagnostics_go_to_stderr_and_into_json(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(tmp_path / "elsewhere" / "secret")
    _skill(project / "skills" / "own")
    (project / "skills" / "out").symlink_to(tmp_path / "elsewhere")

    table = weft("skills", "list", "--scope", "project")
    document = _json(weft("skills", "list", "--scope", "project", "--format", "json"))

    assert "link-leaves-root" not in table.stdout
    assert "skills/out: warning[link-leaves-root]" in table.stderr
    (said,) = document["diagnostics"]
    assert list(said)[: len(REASON)] == REASON
    assert said["path"] == str(project / "skills" / "out")


def test_nothing_found_is_said_on_stderr_with_the_next_step(weft: Weft, project: Path) -> None:
    (project / "empty").mkdir()

    done = weft("skills", "list", "--dir", "empty")

    assert (done.returncode, done.stdout) == (0, "")
    assert "No skills found" in done.stderr
    assert "weft doctor" in done.stderr


def test_list_sees_a_change_at_once(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "one", "Before.")
    assert "Before." in weft("skills", "list").stdout

    _skill(project / "skills" / "one", "After it.")

    assert "After it." in weft("skills", "list").stdout


def test_file_without_the_right_to_read_it_is_broken_and_says_so(
    project: Path, own: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    _skill(own / "private")
    _skill(own / "public")
    (own / "private" / "SKILL.md").chmod(0)

    done = subprocess.run(
        [*unprivileged, "weft", "skills", "list", "--scope", "user"],
        cwd=project, env=child_env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0
    assert done.stderr.endswith("2 skills: 1 ready, 1 broken\n")
    assert "Permission denied. Check its permissions" in done.stdout


def test_folder_without_the_right_to_read_it_is_said(
    project: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    _skill(project / "skills" / "public")
    (project / "skills" / "private").mkdir()
    (project / "skills" / "private").chmod(0)
    try:
        done = subprocess.run(
            [*unprivileged, "weft", "skills", "list", "--scope", "project"],
            cwd=project, env=child_env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        (project / "skills" / "private").chmod(0o755)

    assert done.returncode == 0
    assert " public " in done.stdout
    assert "Permission denied" in done.stdout + done.stderr


def test_copies_for_several_clients_are_one_row_and_no_reason_to_rename(weft: Weft, own: Path, tmp_path: Path) -> None:
    _skill(tmp_path / "hello")
    assert weft("skills", "install", tmp_path / "hello", "--yes", "--to", "all").returncode == 0
    listed = weft("skills", "list", "--scope", "user")
    assert [line.split()[1] for line in listed.stdout.splitlines()[1:]] == ["hello"]
    assert "1 skill: 1 ready" in listed.stderr
    assert "copies of these" in listed.stderr
    why = weft("skills", "why", "hello").stdout
    assert "note[skill-copy]" in why
    assert "Rename one" not in why
    (own.parent / "approvals.json").unlink()  # as in a fresh clone
    untrusted = weft("skills", "list", "--scope", "user")
    assert untrusted.stdout.count("untrusted") == 1
    (own / "hello" / "SKILL.md").write_text("---\nname: hello\ndescription: Other.\n---\nOther.\n")
    assert weft("skills", "list", "--scope", "user").stdout.count("untrusted") == 2
