"""The figures of a folder of skills: everything is counted, and what is not found has a reason."""

import json
from pathlib import Path

import pytest

import corpus


def write(path: Path, text: str = "---\nname: {name}\ndescription: Does one thing.\n---\nBody\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{name}", path.parent.name))


def test_broken_skill_is_shown_with_place_reason_and_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "good" / "SKILL.md")
    write(tmp_path / "bad" / "SKILL.md", "---\nname: bad\n\nNever closed\n")
    assert corpus.main([str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "2 by name, 2 found as skills" in shown
    assert "1 of 2 (50.0 %) with name and description" in shown
    assert "  bad/SKILL.md:1: skill/bad: " in shown
    assert "hint: End it with a line '---'" in shown


def test_json_counts_diagnostics_requirements_strict_and_the_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "good" / "SKILL.md")
    block = 'metadata: {"clawdbot": {"requires": {"bins": ["jq"]}}, "elsewhere": {"requires": {"bins": ["jq"]}}}'
    write(tmp_path / "needs" / "SKILL.md", f"---\nname: needs\ndescription: Needs jq.\n{block}\n---\nBody\n")
    write(tmp_path / "bare" / "SKILL.md", "Just a text.\n")
    assert corpus.main([str(tmp_path), "--format", "json", "--peer"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["files"], figures["found"], figures["complete"], figures["strict"]) == (3, 3, 3, 1)
    assert figures["diagnostics"]["no-frontmatter"] == 1
    assert figures["requirements"] == {"clawdbot": 1}
    assert figures["requirements_unread"] == {"elsewhere": 1}
    assert figures["peer"] == {"reads": 1, "accepts": 1}


def test_every_file_that_is_not_found_has_its_reason(tmp_path: Path) -> None:
    write(tmp_path / "outer" / "SKILL.md")
    write(tmp_path / "outer" / "inner" / "SKILL.md")
    write(tmp_path / "outer" / "skill.md")
    write(tmp_path / ".hidden" / "one" / "SKILL.md")
    write(tmp_path / "a" / "b" / "c" / "d" / "SKILL.md")
    write(tmp_path / "a" / "b" / "c" / "x" / "deep" / "skill.md")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "skill.json").write_text('{"name": "old", "description": "Old"}')
    figures = corpus.measure(str(tmp_path), with_peer=False)
    assert figures.not_found == {
        "in a hidden folder or one of packages": [".hidden/one/SKILL.md"],
        "more than 4 folders down": ["a/b/c/x/deep/skill.md"],
        "nested inside another skill": ["outer/inner/SKILL.md"],
        "beside another skill file": ["outer/skill.md"],
    }
    assert figures.found_elsewhere == ["old/skill.json"]
    assert figures.files - sum(map(len, figures.not_found.values())) == figures.found - len(figures.found_elsewhere)


def test_folder_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        corpus.main([str(tmp_path / "none")])
    assert ended.value.code == 2
    assert "there is no folder" in capsys.readouterr().err
