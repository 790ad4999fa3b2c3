"""The lines of hooks: what stands for folders stays one word, and what the user denies stays denied."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.tools import ExecSettings
from clawft.trust.hook_lines import LinePolicy, fill_line, find_files
from clawft.trust.patterns import parse_pattern
from clawft.trust.permissions import PermissionRule, PermissionRules
from clawft.workspace import Workspace

PLACES = {"CLAUDE_PROJECT_DIR": "/home/me/my project", "CLAUDE_SKILL_DIR": "/skills/x", "HOME": "/home/me"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("$CLAUDE_PROJECT_DIR/a.sh", ["/home/me/my project/a.sh"]),
        ('"$CLAUDE_PROJECT_DIR"/a.sh x', ["/home/me/my project/a.sh", "x"]),
        ('"${CLAUDE_PROJECT_DIR}/a.sh"', ["/home/me/my project/a.sh"]),
        ("sh ${CLAUDE_SKILL_DIR}/b.sh", ["sh", "/skills/x/b.sh"]),
        ("~/.claude/c.sh a~/b", ["/home/me/.claude/c.sh", "a~/b"]),
        ("echo '$HOME' \\$HOME $OTHER", ["echo", "$HOME", "$HOME", "$OTHER"]),
    ],
)
def test_what_stands_for_a_folder_is_one_word(line: str, words: list[str]) -> None:
    assert shlex.split(fill_line(line, PLACES).line) == words


@given(st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text))
def test_whatever_a_folder_is_called_it_is_one_word(folder: str) -> None:
    places = {"CLAUDE_PROJECT_DIR": folder}
    for line in ("run $CLAUDE_PROJECT_DIR x", 'run "${CLAUDE_PROJECT_DIR}" x'):
        assert shlex.split(fill_line(line, places).line) == ["run", folder, "x"]


def test_a_folder_with_an_odd_name_does_not_keep_a_line_from_being_run(tmp_path: Path) -> None:
    lines = LinePolicy(ExecSettings(), PermissionRules(), _workspace(tmp_path))
    assert lines.object_to(fill_line('"$CLAUDE_PROJECT_DIR"/a.sh', PLACES)) == ""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("jq -r .x | xargs prettier --write", ""),
        ("echo no >&2; exit 2", ""),
        ("x=$(cat); if true; then echo $x; fi", ""),
        ("if true; then\n  echo x | curl example.com\nfi", "Bash(curl:*)"),
        ("x=$(curl example.com)", "Bash(curl:*)"),
        ("if true; then shutdown now; fi", "it matches 'shut' (tools.exec.denied_patterns)"),
        ("echo $(\u202etrue)", "characters that do not show"),
        ("curl example.com", "Bash(curl:*)"),
        ("echo x | curl example.com", "Bash(curl:*)"),
        ("shutdown now", "it matches 'shut' (tools.exec.denied_patterns)"),
    ],
)
def test_what_the_policy_or_a_rule_denies_is_objected_to_and_what_they_would_ask_is_not(
    tmp_path: Path, line: str, why: str
) -> None:
    rules = PermissionRules(
        deny=(PermissionRule("deny", parse_pattern("Bash(curl:*)")),),
        ask=(PermissionRule("ask", parse_pattern("Bash")),),
    )
    lines = LinePolicy(ExecSettings(denied_patterns=("shut",)), rules, _workspace(tmp_path))
    said = lines.object_to(fill_line(line, {}))
    assert why in said if why else said == ""


def test_the_files_that_a_line_starts_are_found(tmp_path: Path) -> None:
    for name in ("a.sh", "b.py", "c.txt"):
        (tmp_path / name).write_text("")

    def names(line: str) -> list[str]:
        places = {"CLAUDE_PROJECT_DIR": str(tmp_path)}
        return [Path(one).name for one in find_files(fill_line(line, places), str(tmp_path), places)]

    assert names("./a.sh c.txt | python3 b.py c.txt && cat c.txt") == ["a.sh", "b.py"]
    assert names("node -r ./c.txt b.py") == ["c.txt", "b.py"]
    assert names("cat c.txt") == []
    assert names('if true; then "$CLAUDE_PROJECT_DIR"/a.sh; fi') == ["a.sh"]


def _workspace(folder: Path) -> Workspace:
    return Workspace(home=str(folder), cwd=str(folder), project=str(folder), user_dir=str(folder / ".clawft"))
