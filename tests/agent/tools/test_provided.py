"""Which of the tools that a skill declares can be offered, with which program, and how a file of it is started."""

from pathlib import Path

import pytest

from clawft.agent.tools.skill_tools import MAX_TOOLS, DeclaredTool, check_declared_tools, find_start
from clawft.skills.parse.model import Skill
from clawft.skills.parse.skill import parse_skill_md


def parse(tools: str, execution: str = "shell") -> Skill:
    return parse_skill_md(f"---\nname: a\ndescription: d\nexecution: {execution}\ntools:\n{tools}---\n", "a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("SKILL.md", "scripts/go.sh", "scripts/plain.py", "scripts/odd", "top.sh"):
        path = tmp_path / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("echo")
    return tmp_path / "a"


def offered(skill: Skill, folder: Path) -> list[tuple[str, ...]]:
    return [one.words for one in check_declared_tools(skill, str(folder), "SKILL.md")[0]]


def said(skill: Skill, folder: Path) -> list[tuple[str, str]]:
    _, diagnostics = check_declared_tools(skill, str(folder), "SKILL.md")
    assert all(one.severity == "warning" and one.path == "SKILL.md" for one in diagnostics)
    return [(one.code, one.message) for one in diagnostics]


def test_a_tool_runs_the_script_of_its_name_or_the_command_it_names(folder: Path) -> None:
    skill = parse(
        "  - {name: go}\n  - {name: x, command: [./scripts/plain.py, --all]}\n"
        "  - {name: y, command: top.sh}\n  - {name: z, command: git status}\n"
    )
    assert offered(skill, folder) == [
        ("scripts/go.sh",),
        ("scripts/plain.py", "--all"),
        ("top.sh",),
        ("git", "status"),
    ]
    (first, *_) = check_declared_tools(skill, str(folder), "")[0]
    whole = {"type": "object", "properties": {}, "additionalProperties": False}
    assert first == DeclaredTool("go", "", whole, ("scripts/go.sh",), "scripts/go.sh")
    assert said(skill, folder) == []


@pytest.mark.parametrize(
    ("tool", "code", "why"),
    [
        ("{name: missing}", "tool-program", "no file scripts/missing"),
        ("{name: odd}", "tool-program", "nothing tells how to start scripts/odd"),
        ("{name: go, command: [../outside.sh]}", "tool-program", "neither a file of it nor a program's name"),
        ("{name: go, command: [/bin/sh]}", "tool-program", "neither a file of it nor a program's name"),
        ("{name: go, command: [scripts/nothing.sh]}", "tool-program", "neither a file of it nor a program's name"),
        ("{name: go, command: [-c]}", "tool-program", "neither a file of it nor a program's name"),
        ("{name: go, execution: wasm}", "tool-program", "no file scripts/go.wasm or go.wasm, and no command is named"),
        ("{name: go, execution: wasm, command: [git]}", "tool-program", "its command 'git' is no .wasm file of it"),
        ("{name: go, execution: wasm, command: [top.sh]}", "tool-program", "its command 'top.sh' is no .wasm file"),
        ("{name: go, execution: native}", "tool-execution", "is native, and only a plugin's skill has such tools"),
        ("{name: go, execution: prompt}", "tool-execution", "nothing says how it runs"),
        ("{name: server__go}", "tool-name", "cannot be a tool's"),
        ("{name: 'go there'}", "tool-name", "cannot be a tool's"),
        ("{name: go, parameters: {type: string}}", "tool-schema", "its type is not 'object'"),
        ("{name: go, parameters: {$ref: x}}", "tool-schema", "'$ref' is not understood"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_named_with_the_reason(folder: Path, tool: str, code: str, why: str) -> None:
    skill = parse(f"  - {tool}\n")
    ((found, message),) = said(skill, folder)
    assert offered(skill, folder) == []
    assert found == code
    assert why in message


def test_two_files_that_may_be_meant_are_none(folder: Path) -> None:
    (folder / "scripts/go.py").write_text("")
    ((code, message),) = said(parse("  - {name: go}\n"), folder)
    assert code == "tool-program"
    assert "scripts/go.py and scripts/go.sh may both be meant" in message


def test_a_link_is_no_program(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.sh").write_text("echo")
    (folder / "scripts/linked.sh").symlink_to(tmp_path / "outside.sh")
    skill = parse("  - {name: linked}\n  - {name: x, command: [scripts/linked.sh]}\n")
    assert offered(skill, folder) == []


def test_a_name_is_offered_once(folder: Path) -> None:
    skill = parse("  - {name: go}\n  - {name: Go, command: [git]}\n")
    assert offered(skill, folder) == [("scripts/go.sh",)]
    assert [code for code, _ in said(skill, folder)] == ["tool-name"]


def test_no_skill_floods_a_model_with_tools(folder: Path) -> None:
    skill = parse("".join(f"  - {{name: t{number}, command: [git]}}\n" for number in range(MAX_TOOLS + 2)))
    assert len(offered(skill, folder)) == MAX_TOOLS
    assert [code for code, _ in said(skill, folder)] == ["tool-limit"] * 2


@pytest.mark.parametrize("word", ["{text}", "{{ text }}", "$text", "${text}", "--x={text}"])
def test_a_word_that_looks_like_a_placeholder_is_said(folder: Path, word: str) -> None:
    skill = parse(f"  - {{name: go, command: [git, '{word}'], parameters: {{properties: {{text: {{}}}}}}}}\n")
    assert offered(skill, folder) == [("git", word)]
    assert [code for code, _ in said(skill, folder)] == ["tool-placeholder"]


def test_a_variable_of_ours_is_no_placeholder(folder: Path) -> None:
    skill = parse("  - {name: go, command: [sh, -c, 'echo \"$ARG_TEXT\"'], parameters: {properties: {text: {}}}}\n")
    assert said(skill, folder) == []


@pytest.mark.parametrize(
    ("name", "content", "executable", "start"),
    [
        ("x", b"#!/bin/sh\n", True, ()),
        ("x", b"\x7fELF", True, ()),
        ("x.py", b"#!/usr/bin/env python3\n", False, ("python3",)),
        ("x.py", b"print()", True, ("python3",)),
        ("x.mjs", b"", False, ("node",)),
        ("x", b"#!/usr/bin/env -S bash\n", False, ("bash",)),
        ("x", b"#! /usr/local/bin/ruby\n", False, ("ruby",)),
        ("x", b"#!/bin/evil\n", False, None),
        ("x", b"#!/bin/sh -c evil\n", False, None),
        ("x", b"echo", True, None),
        ("x.txt", b"echo", False, None),
    ],
)
def test_a_file_is_started_by_itself_or_by_a_known_interpreter(
    tmp_path: Path, name: str, content: bytes, executable: bool, start: tuple[str, ...] | None
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    path.chmod(0o755 if executable else 0o644)
    assert find_start(str(path)) == start
