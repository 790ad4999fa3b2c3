"""The names of tools (D53)."""

import pytest

from clawft.trust import CANONICAL_TOOLS, TOOL_ALIASES, known_tool_names


def test_canonical_names_are_those_of_the_decision() -> None:
    assert set(CANONICAL_TOOLS) == {
        "read_file", "write_file", "edit_file", "list_directory", "glob", "grep", "exec_shell", "web_fetch",
        "web_search", "memory_read", "memory_write", "message", "delegate", "Skill", "skill_search", "skill_read",
    }  # fmt: skip


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
