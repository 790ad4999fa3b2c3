"""The commands that skills may run: word by word, and the setting that would allow one."""

import pytest

from clawft.skills.render.prefixes import find_unlisted, suggest_setting
from clawft.skills.render.shell import NotUnderstood


@pytest.mark.parametrize(
    ("line", "unlisted"),
    [
        ("git log -3", ""),
        ("git log", ""),
        ("git 'log'", ""),
        ("git", "git"),
        ("git logs", "git logs"),
        ("gitlog", "gitlog"),
        ("git log; rm x", "rm x"),
        ("git log | wc -l", ""),
        ("git $X", "git"),
        ("/usr/bin/git log", "/usr/bin/git log"),
    ],
)
def test_an_entry_allows_what_begins_with_its_words(line: str, unlisted: str) -> None:
    assert find_unlisted(line, ["git log", "wc"]) == unlisted


def test_an_empty_entry_allows_nothing() -> None:
    assert find_unlisted("rm x", ["", "  "]) == "rm x"


def test_what_is_not_understood_is_never_allowed() -> None:
    with pytest.raises(NotUnderstood):
        find_unlisted("git log $(rm x)", ["git log"])


def test_the_setting_keeps_what_is_allowed_and_adds_each_command_once() -> None:
    lines = ["git log -3 | head -5", "git log --stat", "it's broken"]
    assert suggest_setting(lines, ["echo"]) == (
        """weft config set skills.security.allowed_command_prefixes '["echo","git log","head"]'"""
    )
    assert suggest_setting(["echo a"], ["echo"]) == ""


def test_a_program_that_runs_others_is_suggested_with_its_file_or_not_at_all() -> None:
    assert "'[\"sh go.sh\"]'" in suggest_setting(["sh go.sh x"], [])
    assert suggest_setting(["python3 -c 'print(1)'", "env"], []) == ""
