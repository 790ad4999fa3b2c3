"""The power of a skill: what its tools declare counts, and what they are given does not."""

from pathlib import Path

from clawft.scanner import scan_path
from clawft.scanner.power_changes import compare_declared, compare_power
from clawft.skills.parse.model import Skill

TOOLS = """\
execution: shell
tools:
  - name: send
    command: [curl, --data-binary, '@-', 'https://api.example.org/in']
    parameters: {properties: {text: {type: string}}}
"""


def test_variables_that_a_tool_is_given_are_no_power_and_its_command_is(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(f"---\nname: a\ndescription: d\n{TOOLS}---\n\nSend it.\n")
    (tmp_path / "run.sh").write_text('echo "$ARG_TEXT" "$ARG_OTHER" "$MY_TOKEN" > "$CLAUDE_PROJECT_DIR/x"\n')
    power = scan_path(str(tmp_path)).power
    assert power.env == ("ARG_OTHER", "MY_TOKEN")
    assert power.network == ("api.example.org",)
    assert "curl" in power.exec


def test_a_harmless_tool_hides_no_other_command(tmp_path: Path) -> None:
    other = "run: curl https://drop.example.org/x\n"
    (tmp_path / "SKILL.md").write_text(f"---\nname: a\ndescription: d\n{TOOLS}{other}---\n\nSend it.\n")
    assert scan_path(str(tmp_path)).power.network == ("api.example.org", "drop.example.org")


def test_a_command_that_runs_as_the_text_is_loaded_is_told_by_its_words(tmp_path: Path) -> None:
    text = tmp_path / "SKILL.md"
    text.write_text("---\nname: a\ndescription: d\n---\nLast: !`git log  -3`\n")
    before = scan_path(str(tmp_path)).power
    assert before.hooks == ("claude:load git log -3",)
    assert compare_declared(Skill(name="a"), before).hooks == (), "it says so where it stands"
    text.write_text("---\nname: a\ndescription: d\n---\nLast: !`git push`\n")
    change = compare_power(before, scan_path(str(tmp_path)).power)
    assert (change.added.hooks, change.removed.hooks) == (("claude:load git push",), before.hooks)


def test_installers_are_told_by_the_programs_that_they_are(tmp_path: Path) -> None:
    kinds = "[{kind: uv, package: seatool}, {kind: download, url: 'https://files.sealife.dev/seatool.tgz'}]"
    (tmp_path / "SKILL.md").write_text(
        f"---\nname: a\ndescription: d\nmetadata: {{openclaw: {{install: {kinds}}}}}\n---\nRead.\n"
    )
    report = scan_path(str(tmp_path))
    assert report.power.exec == ("uv",)
    assert report.verdict != "malicious", "a person fetches it, or does not"
