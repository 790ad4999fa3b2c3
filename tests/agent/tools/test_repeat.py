"""Which calls may be made twice, and what is found out about one that a crash cut short."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.memory import MemoryFiles
from clawft.agent.tools.builtin import build_tools
from clawft.agent.tools.execution import check_tool, run_tool
from clawft.agent.tools.tool import Tool, ToolContext, ToolRegistry, may_repeat
from clawft.config import Config
from clawft.config.tools import ExecSettings, SearchSettings, ToolsSettings, WebSettings
from programs import add_tool
from tool_contexts import adjust
from wire import call as say_call
from wire import say
from world import World, collect

pytestmark = pytest.mark.anyio

# Every tool that does not depend on a conversation: arguments of a call, and whether it may be made twice.
DECIDED: dict[str, list[tuple[Mapping[str, Any], bool]]] = {
    "read_file": [({"path": "a"}, True)],
    "write_file": [({"path": "a", "content": "x"}, True)],
    "edit_file": [({"path": "a", "old_string": "x", "new_string": "y"}, False)],
    "list_directory": [({"path": "."}, True)],
    "glob": [({"pattern": "*"}, True)],
    "grep": [({"pattern": "x"}, True)],
    "TodoWrite": [({"todos": []}, True)],
    "AskUserQuestion": [({"questions": []}, True)],
    "process_output": [({"process": 1}, True)],
    "process_end": [({"process": 1}, True)],
    "exec_shell": [
        ({"command": "ls", "background": True}, False),
        ({"command": "ls -la src | head -5"}, True),
        ({"command": "grep -rn TODO . 2>/dev/null"}, True),
        ({"command": "ls", "outside_sandbox": True}, False),
        ({"command": "git status"}, False),  # what it starts is the repository's to say
        ({"command": "make"}, False),
        ({"command": "ls; make"}, False),
        ({"command": "ls > list.txt"}, False),
        ({"command": "sort -o a a"}, False),
        ({"command": "echo $(make)"}, False),
        ({"command": ""}, False),
        ({"command": ["ls"]}, False),
        ({"command": None}, False),
        ({}, False),
    ],
    "web_fetch": [({"url": "https://example.com"}, True)],
    "web_search": [({"query": "x"}, True)],
    "memory_read": [({"key": "a"}, True)],
    "memory_write": [({"key": "a", "content": "x"}, False), ({"key": "a", "mode": "delete"}, False)],
    "message": [({"text": "hello"}, True)],
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryFiles]:
    with closing(MemoryFiles(str(tmp_path / "memory"))) as opened:
        yield opened


@pytest.fixture
def tools(memory: MemoryFiles) -> ToolRegistry:
    searching = WebSettings(search=SearchSettings(engine="searxng", base_url="http://127.0.0.1:9"))
    listed = ExecSettings(also_allowed=("make",))  # which its owner thinks harmless; it need not be
    config = Config(sections={"tools": ToolsSettings(web=searching, exec=listed)})
    return ToolRegistry(tool for tools in build_tools(config, memory).values() for tool in tools)


@pytest.fixture
def context(context: ToolContext) -> ToolContext:
    """A context of a run that goes on after a crash."""
    adjust(context, call="run-1/4.0")
    return context


def get(tools: ToolRegistry, name: str) -> Tool:
    tool = tools.find(name)
    assert tool is not None
    return tool


async def found_out(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> str | None:
    """What is told of a call: its text, that it was not made, or nothing."""
    found = await check_tool(tool, arguments, context)
    return found if found is None or isinstance(found, str) else found.text


def test_every_tool_has_decided_which_calls_may_be_made_twice(tools: ToolRegistry) -> None:
    assert set(tools.names) == set(DECIDED)
    for name, calls in DECIDED.items():
        for arguments, expected in calls:
            assert may_repeat(get(tools, name), arguments) is expected, (name, arguments)


async def test_tools_of_a_conversation_have_decided_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.config = '[skills.security]\nscan_on_load = false\n[tools.delegate]\ncommand = ["echo"]\n'
    add_tool(world, more="    repeatable: true\n  - name: other\n    command: [scripts/make.sh]\n")
    world.replies = [say_call("Skill", {"name": "maker"}), say("done")]
    async with world.talk() as conversation:
        await collect(conversation, "go")
        tools = conversation.list_tools()
    calls: list[tuple[str, dict[str, Any], bool]] = [
        ("Skill", {"name": "maker"}, True),
        ("skill_search", {"query": "x"}, True),
        ("skill_read", {"name": "maker", "path": "SKILL.md"}, True),
        ("skill_run_script", {"name": "maker", "script": "scripts/make.sh"}, False),
        ("make", {}, True),
        ("other", {}, False),
        ("delegate", {"task": "x", "target": "local"}, True),
        ("delegate", {"task": "x", "target": "claude"}, False),
        ("delegate", {"task": "x", "target": "flow"}, False),
        ("delegate", {"task": "x"}, False),
        ("delegate", {"task": "x", "target": "auto"}, False),  # there is a command
        ("delegate", {"task": "x", "target": ["local"]}, False),
    ]
    assert set(tools.names) - set(DECIDED) == {name for name, _, _ in calls}
    for name, arguments, expected in calls:
        assert may_repeat(get(tools, name), arguments) is expected, (name, arguments)


def test_the_documentation_tells_of_every_tool(tools: ToolRegistry) -> None:
    text = (Path(__file__).parents[3] / "docs/runs.md").read_text()
    section = text.partition("## What is repeated after a crash\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    says = {name: cells[2].strip() for cells in rows for name in re.findall(r"`(\w+)`", cells[1])}
    for name, calls in DECIDED.items():
        expected = {"yes" if twice else "no" for _, twice in calls}
        assert says[name].startswith(expected.pop() if len(expected) == 1 else "if "), name


def test_a_tool_that_cannot_judge_its_arguments_is_not_repeated(tools: ToolRegistry) -> None:
    def judge(arguments: Mapping[str, Any]) -> bool:
        return bool(arguments["missing"].nothing)

    own = get(tools, "read_file")
    assert may_repeat(Tool("a", "", own.run, {}, read_only=True), {}) is True
    assert may_repeat(Tool("a", "", own.run, {}, repeatable=judge, read_only=True), {}) is False


async def test_a_look_of_git_may_be_taken_again_unless_the_repository_starts_programs(
    tools: ToolRegistry, context: ToolContext, project: Path
) -> None:
    tool = get(tools, "exec_shell")
    subprocess.run(["git", "init", "-q", str(project)], check=True, env={"PATH": os.defpath, "HOME": str(project)})
    assert await found_out(tool, {"command": "git status"}, context) == "not-done"
    assert await found_out(tool, {"command": "git commit -m x"}, context) is None
    assert await found_out(tool, {"command": "make"}, context) is None
    assert await found_out(tool, {"command": "git status", "outside_sandbox": True}, context) is None
    with (project / ".git/config").open("a") as config:
        config.write("[core]\n\tfsmonitor = ./watch\n")
    assert await found_out(tool, {"command": "git status"}, context) is None


async def test_a_look_by_a_program_of_the_project_is_none(
    tools: ToolRegistry, context: ToolContext, project: Path
) -> None:
    planted = project / "bin/ls"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\ntouch mark\n")
    planted.chmod(0o755)
    assert await found_out(get(tools, "exec_shell"), {"command": "ls"}, context) == "not-done"
    adjust(context, environ={**context.environ, "PATH": f"{planted.parent}:/usr/bin:/bin"})
    assert await found_out(get(tools, "exec_shell"), {"command": "ls"}, context) is None


@pytest.mark.parametrize("arguments", [{}, {"command": ""}, {"command": 3, "cwd": []}, {"comand": "make"}])
async def test_a_call_whose_arguments_are_refused_was_never_made(
    tools: ToolRegistry, context: ToolContext, arguments: dict[str, Any]
) -> None:
    assert await found_out(get(tools, "exec_shell"), arguments, context) == "not-done"


@pytest.mark.parametrize(
    ("before", "arguments", "told"),
    [
        ("", {"content": "x"}, "not-done"),
        ("old", {"content": "x"}, "not-done"),
        ("x", {"content": " x\n"}, "Remembered 'k'."),
        ("# x\n\n## y", {"content": "# x\r\n\r\n## y"}, "Remembered 'k'."),
        ("", {"mode": "append", "content": "x"}, "not-done"),
        ("old", {"mode": "append", "content": "x"}, "not-done"),
        ("x", {"mode": "append", "content": "x"}, "Remembered 'k'."),
        ("old\n\nx", {"mode": "append", "content": "x\n"}, "Remembered 'k'."),
        ("x\n\nlater", {"mode": "append", "content": "x"}, None),
        ("old", {"mode": "delete"}, "not-done"),
        ("", {"mode": "delete"}, "Forgot 'k'."),
        ("", {"content": " "}, "not-done"),
    ],
)
async def test_what_is_remembered_tells_of_a_memory_that_was_written(
    tools: ToolRegistry,
    context: ToolContext,
    memory: MemoryFiles,
    before: str,
    arguments: dict[str, Any],
    told: str | None,
) -> None:
    if before:
        memory.store("k", before)
    assert await found_out(get(tools, "memory_write"), {"key": "k", **arguments}, context) == told
    assert memory.retrieve("k") == (before or None)


async def test_a_memory_is_told_as_written_whatever_is_written(
    tools: ToolRegistry, context: ToolContext, memory: MemoryFiles
) -> None:
    tool = get(tools, "memory_write")
    for mode in ("replace", "append"):
        for content in ("plain", "## a heading\n\n# another", "```\n# code\n```", "<!-- clawft: {} -->", "\tx \n\n y"):
            arguments = {"key": f"{mode} {content.strip()[:3]}", "content": content, "mode": mode}
            assert await found_out(tool, arguments, context) == "not-done"
            made = await run_tool(tool, arguments, context, timeout_s=60)
            assert await found_out(tool, arguments, context) == made.text, content


async def test_where_a_check_fails_nothing_is_told(
    tools: ToolRegistry, context: ToolContext, memory: MemoryFiles
) -> None:
    Path(memory.folder, "MEMORY.md").mkdir(parents=True)
    assert await found_out(get(tools, "memory_write"), {"key": "k", "content": "x"}, context) is None
