"""Agents on disk and built in: the registry, every form of a file, and hostile files."""

import os
from pathlib import Path

import pytest

from clawft.skills.discovery import Location
from clawft.skills.discovery.agents import BUILTIN_AGENTS, DiscoveredAgent, load_agents
from effort import within


def _load(*roots: Path) -> tuple[DiscoveredAgent, ...]:
    """The agents in these folders, without the built-in ones."""
    found = load_agents([Location("project", root.name, str(root)) for root in roots])
    return tuple(one for one in found if one.scope != "built-in")


def test_yaml_agent_is_found(tmp_path: Path) -> None:
    (tmp_path / "researcher.yaml").write_text(
        "name: researcher\ndescription: Research agent\nmodel: anthropic/claude-sonnet-4-20250514\n"
        "tools: [read_file, web_search]\nskills: [research]\ntemperature: 0.3\n"
    )

    found = load_agents([Location("user", "agents", str(tmp_path))])

    agent = next(one.agent for one in found if one.name == "researcher")
    assert agent is not None
    assert agent.model == "anthropic/claude-sonnet-4-20250514"
    assert agent.tools == ("read_file", "web_search")
    assert agent.skills == ("research",)
    assert agent.temperature == 0.3


def test_markdown_agent_is_found_with_its_body_as_prompt(tmp_path: Path) -> None:
    (tmp_path / "coder.md").write_text(
        "---\nname: coder\ndescription: Code-focused agent\nmodel: openai/gpt-4o\n"
        "tools: [read_file, write_file, edit_file, exec_shell]\n---\n\n"
        "You are a code specialist. Write clean, tested, documented code.\n"
    )

    (found,) = _load(tmp_path)

    assert found.agent is not None
    assert found.agent.system_prompt == "You are a code specialist. Write clean, tested, documented code."


def test_built_in_agents_are_there_with_no_folder(tmp_path: Path) -> None:
    found = load_agents([Location("project", "agents", str(tmp_path / "nonexistent"))])

    assert [one.name for one in found] == ["default", "explore", "coder", "planner"]
    assert {one.scope for one in found} == {"built-in"}


def test_built_in_agents_have_the_tools_the_seed_gives_them() -> None:
    agents = {one.name: one for one in BUILTIN_AGENTS}

    assert agents["default"].tools is None  # all
    assert agents["explore"].tools == ("read_file", "list_directory", "web_search")
    assert {"read_file", "write_file", "edit_file", "exec_shell"} <= set(agents["coder"].tools or ())
    assert agents["planner"].tools == ()  # none
    assert (agents["planner"].temperature or 0) > 0.7


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("one.yaml", "one"),
        ("one.yml", "one"),
        ("one.md", "one"),
        ("one/AGENT.md", "one"),
        ("one/agent.yaml", "one"),
        ("one/agent.yml", "one"),
    ],
)
def test_agent_files_of_every_form_are_found(tmp_path: Path, file: str, name: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    text = "description: Anything\nmodel: m\n"
    path.write_text(f"---\n{text}---\n\nPrompt.\n" if file.endswith(".md") else text)

    (found,) = _load(tmp_path)

    assert found.agent is not None
    assert (found.name, found.agent.description, found.agent.model) == (name, "Anything", "m")
    assert found.file == str(path)


def test_folder_of_an_agent_prefers_agent_md(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "AGENT.md").write_text("---\ndescription: md\n---\n")
    (tmp_path / "one" / "agent.yaml").write_text("description: yaml\n")

    (found,) = _load(tmp_path)

    assert found.agent is not None
    assert found.agent.description == "md"


def test_other_files_and_empty_folders_are_no_agents(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "Makefile").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "AGENT.md").write_text("x")

    assert _load(tmp_path) == ()


def test_locations_come_in_order_and_files_sorted(tmp_path: Path) -> None:
    for folder in ("high", "low"):
        (tmp_path / folder).mkdir()
        for name in ("b", "a"):
            (tmp_path / folder / f"{name}.yaml").write_text(f"description: {folder}\n")

    found = _load(tmp_path / "high", tmp_path / "low")

    assert [(one.name, one.agent.description) for one in found if one.agent] == [
        ("a", "high"),
        ("b", "high"),
        ("a", "low"),
        ("b", "low"),
    ]


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("", None),
        ("tools: []", None),
        ("tools: '*'", None),
        ("tools: none", ()),
        ("tools: ['!*']", ()),
        ("tools: [read_file, 'github__*']", ("read_file", "github__*")),
        ("tools: Read, Grep", ("Read", "Grep")),
        ("tools: {a: b}", ()),  # unreadable: nothing is granted
    ],
)
def test_tools_of_an_agent_mean_all_none_or_those(tmp_path: Path, written: str, tools: tuple[str, ...] | None) -> None:
    (tmp_path / "one.yaml").write_text(f"description: d\n{written}\n")

    (found,) = _load(tmp_path)

    assert found.agent is not None
    assert found.agent.tools == tools


@pytest.mark.parametrize("name", ["two words.yaml", "dot.dot.md", "ünï.yaml"])
def test_agent_name_outside_the_charset_is_broken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("description: d\n")

    (found,) = _load(tmp_path)

    assert found.agent is None
    assert found.problem is not None
    assert found.problem.code == "folder-name"
    assert found.name == name.rpartition(".")[0]


def test_broken_agent_keeps_its_name_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("- a\n- list\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "AGENT.md").write_text("---\nname: folder\n")
    (tmp_path / "good.yaml").write_text("description: d\n")

    found = _load(tmp_path)

    assert [(one.name, one.problem.code if one.problem else "") for one in found] == [
        ("bad", "yaml-invalid"),
        ("folder", "frontmatter-unterminated"),
        ("good", ""),
    ]


def test_agent_file_that_is_no_plain_file_is_broken_at_once(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    (tmp_path / "secret.yaml").write_text("description: secret\n")
    os.mkfifo(agents / "fifo.yaml")
    (agents / "folder.yaml").mkdir()
    (agents / "dangling.yaml").symlink_to("nothing")
    (agents / "device.yaml").symlink_to("/dev/zero")
    (agents / "outside.yaml").symlink_to(tmp_path / "secret.yaml")
    with (agents / "huge.yaml").open("wb") as file:
        file.truncate(200 << 30)
    with within(2):
        found = _load(agents)
    assert {one.name: one.problem.code for one in found if one.problem} == {
        "dangling": "unreadable",
        "device": "link-leaves-root",
        "fifo": "not-a-file",
        "folder": "not-a-file",
        "huge": "file-too-large",
        "outside": "link-leaves-root",
    }
    assert all(one.agent is None for one in found)


def test_linked_agent_inside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / ".store").mkdir()
    (tmp_path / ".store" / "kept").write_text("description: linked\n")
    (tmp_path / "one.yaml").symlink_to(".store/kept")

    (found,) = _load(tmp_path)

    assert found.agent is not None
    assert found.agent.description == "linked"
