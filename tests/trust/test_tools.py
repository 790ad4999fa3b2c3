"""The names of tools."""

import pytest

from clawft.skills.parse.model import Agent, Skill, ToolDefinition
from clawft.trust.tools import (
    CANONICAL_TOOLS,
    TOOL_ALIASES,
    check_agent_tools,
    check_tools,
    known_tool_names,
    tool_matches,
)


def test_canonical_names_are_those_of_the_decision() -> None:
    assert set(CANONICAL_TOOLS) == {
        "read_file", "write_file", "edit_file", "list_directory", "glob", "grep", "exec_shell", "web_fetch",
        "web_search", "memory_read", "memory_write", "message", "delegate", "Skill", "skill_search", "skill_read",
        "skill_run_script", "process_output", "process_end", "TodoWrite", "AskUserQuestion",
    }  # fmt: skip


def test_a_skill_may_name_a_tool_that_it_brings() -> None:
    skill = Skill(name="a", allowed_tools=("mine", "theirs"), provided_tools=(ToolDefinition("mine"),))
    assert [one.message[:8] for one in check_tools(skill, "SKILL.md")] == ["'theirs'"]


def test_every_alias_leads_to_a_tool_there_is() -> None:
    assert set(TOOL_ALIASES.values()) <= set(CANONICAL_TOOLS)
    assert not set(TOOL_ALIASES) & set(CANONICAL_TOOLS)


@pytest.mark.parametrize(
    "name",
    ["Read", "Write", "Edit", "MultiEdit", "LS", "Bash", "Shell", "exec", "Glob", "Grep", "WebFetch", "WebSearch",
     "Task"],
)  # fmt: skip
def test_other_clients_names_are_mapped(name: str) -> None:
    assert TOOL_ALIASES[name] in CANONICAL_TOOLS
    assert {name, name.lower()} <= known_tool_names()


@pytest.mark.parametrize(
    ("name", "pattern", "meant"),
    [
        ("read_file", "Read", True),
        ("exec_shell", "Bash(git:*)", True),
        ("read_file", "read_*", True),
        ("github__get", "github__*", True),
        ("github__get", "mcp__github__get", True),
        ("github__get", "mcp__github__*", True),
        ("github__get", "mcp__github", True),
        ("github__get", "mcp__*", True),
        ("github__get", "mcp__git", False),
        ("gitlab__get", "mcp__github__*", False),
        ("glob", "mcp__g*", False),
        ("read_file", "mcp__*", False),
        ("read_file", "mcp__", False),
        ("github__get", "mcp__", False),
        ("mcp__get", "mcp__get", True),
        ("read_file", "!*", False),
        ("read_file", "*", True),
    ],
)
def test_pattern_means_a_tool_under_any_clients_name(name: str, pattern: str, meant: bool) -> None:
    assert tool_matches(name, [pattern]) is meant


def test_names_of_an_agent_that_mean_no_tool_are_said() -> None:
    agent = Agent(
        name="a",
        tools=("Read", "read_*", "NotebookEdit", "github__*", "mcp__other__x", "x_*", "mcp__*"),
        disallowed_tools=("Nope",),
    )

    said = check_agent_tools(agent, "p", {"github"})

    assert [(one.code, one.message.split("'")[1]) for one in said] == [
        ("unknown-tool", "NotebookEdit"),
        ("unknown-tool", "mcp__other__x"),
        ("unknown-tool", "x_*"),
        ("unknown-tool", "Nope"),
    ]
