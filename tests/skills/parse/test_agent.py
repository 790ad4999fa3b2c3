"""Agent files in all their forms."""

import pytest

from clawft.errors import MissingFrontmatter, YamlParse
from clawft.skills.parse.agent import parse_agent
from clawft.skills.parse.model import Agent

RESEARCHER = """# ~/.clawft/agents/researcher.yaml
name: researcher
description: Deep research agent with web access
model: anthropic/claude-sonnet-4-20250514
system_prompt: |
  You are a research specialist. Focus on accuracy, cite sources,
  and provide comprehensive analysis.
tools:
  - read_file
  - web_search
  - web_fetch
  - memory_read
  - memory_write
skills:
  - research
  - summarize
max_tool_iterations: 20
temperature: 0.3
context_window: 100000
"""


def _yaml(text: str) -> Agent:
    return parse_agent(text, "agent.yaml", "folder", path="p")


def _said(agent: Agent) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in agent.diagnostics]


def test_yaml_agent_of_the_seed() -> None:
    agent = parse_agent(RESEARCHER, "researcher.yaml", "researcher", path="p")
    assert (agent.name, agent.description) == ("researcher", "Deep research agent with web access")
    assert agent.model == "anthropic/claude-sonnet-4-20250514"
    assert agent.system_prompt.startswith("You are a research specialist.")
    assert agent.tools == ("read_file", "web_search", "web_fetch", "memory_read", "memory_write")
    assert agent.skills == ("research", "summarize")
    assert (agent.max_tool_iterations, agent.temperature, agent.context_window) == (20, 0.3, 100000)
    assert agent.diagnostics == ()


def test_markdown_agent_of_the_seed() -> None:
    agent = parse_agent(
        "---\nname: coder\ndescription: Code-focused agent\nmodel: openai/gpt-4o\n"
        "tools: [read_file, write_file, edit_file, exec_shell]\n---\n\n"
        "You are a code specialist. Write clean, tested, documented code.\n",
        "coder.md",
        "coder",
        path="p",
    )
    assert agent.system_prompt == "You are a code specialist. Write clean, tested, documented code."
    assert (agent.model, agent.tools) == ("openai/gpt-4o", ("read_file", "write_file", "edit_file", "exec_shell"))


def test_agent_file_of_claude_with_tools_in_one_line() -> None:
    agent = parse_agent(
        "---\nname: reviewer\ndescription: Reviews. Use proactively.\ntools: Read, Grep, Bash(git diff:*)\n"
        "disallowedTools: Write\nmodel: sonnet\nmaxTurns: 5\ncolor: blue\n---\nReview it.",
        "reviewer.MD",
        "reviewer",
        path="p",
    )
    assert agent.tools == ("Read", "Grep", "Bash(git diff:*)")
    assert (agent.disallowed_tools, agent.max_tool_iterations) == (("Write",), 5)
    assert (agent.extra, _said(agent)) == ({"color": "blue"}, [("agent-not-honoured", 8)])


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("tools: []", None),
        ("tools: '*'", None),
        ("tools: ['*']", None),
        ("", None),
        ("tools: none", ()),
        ("tools: [none]", ()),
        ("tools: ['!*']", ()),
        ("tools: '!*'", ()),
        ("tools: [github__*, read_*]", ("github__*", "read_*")),
        ("allowed-tools: Read", ("Read",)),
    ],
)
def test_all_tools_none_or_some(written: str, tools: tuple[str, ...] | None) -> None:
    assert _yaml(f"name: a\ndescription: d\n{written}\n").tools == tools


@pytest.mark.parametrize("written", ["3", "{a: b}", "true"])
def test_unreadable_tools_grant_nothing(written: str) -> None:
    agent = _yaml(f"name: a\ndescription: d\ntools: {written}\n")
    assert (agent.tools, _said(agent)) == ((), [("wrong-type", 3)])


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("system_prompt", "system_prompt"),
        ("system-prompt", "system_prompt"),
        ("systemPrompt", "system_prompt"),
        ("max_tool_iterations", "max_tool_iterations"),
        ("max-tool-iterations", "max_tool_iterations"),
        ("maxToolIterations", "max_tool_iterations"),
        ("contextWindow", "context_window"),
    ],
)
def test_every_spelling_of_a_key(key: str, field: str) -> None:
    agent = _yaml(f"name: a\ndescription: d\n{key}: 7\n")
    assert getattr(agent, field) in (7, "7")
    assert agent.extra == {}


@pytest.mark.parametrize(
    "line",
    [
        "temperature: 3",
        "temperature: -0.1",
        "temperature: hot",
        "temperature: .nan",
        "temperature: true",
        "max_tool_iterations: 0",
        "max_tool_iterations: 1.5",
        "max_tool_iterations: .inf",
        "max_tool_iterations: 1001",
        "context_window: 0",
        "context_window: '9'",
        "model: {a: b}",
    ],
)
def test_value_out_of_range_is_left_out_and_said(line: str) -> None:
    agent = _yaml(f"name: a\ndescription: d\n{line}\n")
    assert (agent.temperature, agent.max_tool_iterations, agent.context_window, agent.model) == (None, None, None, "")
    assert _said(agent) == [("wrong-type", 3)]


def test_whole_number_is_a_temperature_too() -> None:
    assert _yaml("name: a\ndescription: d\ntemperature: 1\n").temperature == 1.0


def test_name_and_description_have_fallbacks() -> None:
    agent = parse_agent("You are terse.\n\nVery.", "terse.md", "terse", path="p")
    assert (agent.name, agent.description, agent.system_prompt) == (
        "terse",
        "You are terse.",
        "You are terse.\n\nVery.",
    )
    assert _said(agent) == [("no-frontmatter", 1), ("description-missing", 1)]


def test_odd_name_becomes_its_slug() -> None:
    assert _yaml("name: My Agent\ndescription: d\n").name == "my-agent"
    assert _yaml("name: '!!'\ndescription: d\n").name == "folder"


def test_body_wins_over_a_prompt_in_the_frontmatter() -> None:
    agent = parse_agent("---\ndescription: d\nsystem_prompt: x\n---\nBody", "a.md", "a", path="p")
    assert (agent.system_prompt, _said(agent)) == ("Body", [("prompt-twice", 3)])


def test_empty_file_is_an_agent_of_its_own_name() -> None:
    assert (_yaml("").name, _said(_yaml(""))) == ("folder", [("description-missing", 1)])


def test_broken_yaml_is_recovered_as_in_a_skill() -> None:
    agent = _yaml("name: a\ndescription: Use when: asked\n")
    assert (agent.description, _said(agent)) == ("Use when: asked", [("yaml-unquoted", 2)])


@pytest.mark.parametrize("text", ["- a\n", "text\n", "[[[\n", "3\n"])
def test_file_that_is_no_mapping_is_an_error_with_its_place(text: str) -> None:
    with pytest.raises(YamlParse, match="agent/folder") as caught:
        _yaml(text)
    assert (caught.value.code, caught.value.diagnostic.where) == ("yaml-invalid", "p:1")


def test_frontmatter_without_end_is_an_error() -> None:
    with pytest.raises(MissingFrontmatter):
        parse_agent("---\nname: a\n", "a.md", "a", path="p")


def _lost(text: str) -> list[tuple[str, str, str]]:
    agent = parse_agent(f"---\ndescription: d\n{text}\n---\nDo it.", "a.md", "a", path="p")
    return [(one.code, one.severity, one.message) for one in agent.diagnostics]


def test_what_only_claude_does_is_said_in_one_word() -> None:
    assert _lost("permissionMode: plan\nmcpServers: [x]\nmemory: user\neffort: high\nisolation: worktree") == [
        (
            "agent-not-honoured",
            "warning",
            "Not honoured here: mcpServers, memory, effort, isolation",
        )
    ]


def test_colour_alone_is_a_note_and_what_changes_nothing_is_not_said() -> None:
    assert _lost("color: red") == [("agent-not-honoured", "note", "Not honoured here: color")]
    assert _lost("permissionMode: default\nbackground: false\nhooks: {}") == []


def test_limits_of_tools_and_a_lower_mode_are_kept() -> None:
    assert _lost("tools: Read, Bash(git diff:*)\npermissionMode: acceptEdits") == []


def test_agent_cannot_ask_for_a_higher_mode() -> None:
    ((code, severity, message),) = _lost("permissionMode: bypassPermissions")
    assert (code, severity) == ("agent-mode", "warning")
    assert message.endswith("'bypassPermissions' changes nothing here")


def test_field_of_nobody_is_unknown() -> None:
    assert [code for code, _, _ in _lost("favourite: blue")] == ["unknown-field"]
