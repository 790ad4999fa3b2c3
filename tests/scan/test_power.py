"""The power of a skill: what its tools declare counts, and what they are given does not."""

from pathlib import Path

from clawft.scan import scan_path

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
