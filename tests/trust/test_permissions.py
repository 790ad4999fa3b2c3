"""The rules of a config: what each kind does, and which of them deny to read what git's objects show."""

import subprocess
from pathlib import Path

import pytest

from clawft.config import load_config
from clawft.trust.permissions import PermissionRule, PermissionRules, check_tracked, load_rules
from clawft.workspace import Workspace

CONFIG = """
[permissions]
deny = ["Read(secrets/**)", "Edit(src/**)"]
ask = ["Read(docs/**)"]
allow = ["Read(src/**)", "WebFetch(domain:a.example)"]
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A project that git tracks, but for its `.env`."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".clawft").mkdir(parents=True)
    for name in ("secrets/a.txt", "secrets/b.txt", "src/c.txt", "docs/d.txt", ".env"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    for words in (("init", "-q"), ("add", "secrets", "src", "docs")):
        subprocess.run(["git", *words], cwd=project, check=True, timeout=60)
    (home / ".clawft" / "config.toml").write_text(CONFIG)
    return Workspace(str(home), str(home / ".clawft"), str(project), str(project))


def load(workspace: Workspace) -> PermissionRules:
    return load_rules(load_config(workspace, {}), workspace.project)


def test_each_rule_of_a_config_is_of_its_kind_and_knows_its_file(workspace: Workspace) -> None:
    rules = load(workspace)
    texts = [[rule.pattern.text for rule in some] for some in (rules.deny, rules.ask, rules.allow)]
    assert texts == [
        ["Read(secrets/**)", "Edit(src/**)"],
        ["Read(docs/**)"],
        ["Read(src/**)", "WebFetch(domain:a.example)"],
    ]
    assert {rule.source for rule in rules.all} == {f"{workspace.user_dir}/config.toml"}


def test_only_a_rule_that_denies_to_read_what_git_tracks_is_told_of(workspace: Workspace) -> None:
    (told,) = check_tracked(load(workspace).all, workspace)
    assert (told.code, told.path) == ("rule-tracked", f"{workspace.user_dir}/config.toml")
    assert told.message.startswith(
        "Read(secrets/**) denies to read 2 files that git tracks: secrets/a.txt and 1 more. "
    )


def test_what_git_does_not_track_is_not_in_its_objects(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[permissions]\ndeny = ["Read(.env)", "Bash(rm:*)"]\n')
    assert list(check_tracked(load(workspace).all, workspace)) == []


def test_a_rule_that_is_in_no_file_yet_is_told_of_without_one(workspace: Workspace) -> None:
    rules = [PermissionRule(rule.kind, rule.pattern) for rule in load(workspace).deny]
    assert [told.path for told in check_tracked(rules, workspace)] == [""]
