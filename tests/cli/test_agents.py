"""`weft agents list` and `show`."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Weft = Callable[..., subprocess.CompletedProcess[str]]

RESEARCHER = (
    "name: researcher\ndescription: Research agent\nmodel: local/small\ntools: [read_file, web_search]\n"
    "skills: [research]\ntemperature: 0.3\nmax_tool_iterations: 7\ncontext_window: 8000\n"
)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_built_in_agents_are_listed_with_model_and_scope(weft: Weft) -> None:
    done = weft("agents", "list")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["NAME", "DESCRIPTION", "MODEL", "SCOPE"]
    assert [line.split()[0] for line in lines[1:]] == ["coder", "default", "explore", "planner"]
    assert all(line.endswith("(config default)  built-in") for line in lines[1:])


def test_broken_and_shadowed_agents_are_listed_with_the_reason(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "researcher.yaml", RESEARCHER)
    _write(project / ".clawft" / "agents" / "bad.yaml", "- a list\n")
    _write(project / ".claude" / "agents" / "coder.md", "---\nname: coder\ndescription: Mine\n---\n\nCode.\n")

    done = weft("agents", "list")

    assert "researcher  Research agent" in done.stdout
    assert "└ broken: " in done.stdout
    assert "└ shadowed: project has 'coder' too and comes first" in done.stdout


def test_json_of_agents(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "researcher.yaml", RESEARCHER)

    document = json.loads(weft("agents", "list", "--format", "json").stdout)

    assert document["schema"] == "clawft.agents.list.v1"
    agents = {one["name"]: one for one in document["agents"]}
    mine = agents["researcher"]
    assert mine["path"] == str(project / ".clawft" / "agents" / "researcher.yaml")
    expected = {
        "description": "Research agent", "model": "local/small", "scope": "project", "state": "ready",
        "tools": ["read_file", "web_search"], "skills": ["research"], "temperature": 0.3,
        "max_tool_iterations": 7, "context_window": 8000,
    }  # fmt: skip
    assert {key: mine[key] for key in expected} == expected
    assert agents["default"]["tools"] is None
    assert agents["planner"]["tools"] == []


def test_show_tells_all_of_one_agent(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "researcher.yaml", RESEARCHER + "system_prompt: Dig deep.\n")

    done = weft("agents", "show", "researcher")

    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "Agent: researcher",
        "Description: Research agent",
        "Model: local/small",
        "Temperature: 0.3",
        "Max Tool Iterations: 7",
        "Scope: project (.clawft/agents/researcher.yaml)",
        "Tools: read_file, web_search",
        "Skills: research",
    ):
        assert f"{line}\n" in done.stdout
    assert done.stdout.endswith("\nDig deep.\n")


def test_show_of_built_in_agents(weft: Weft) -> None:
    assert "Tools: all\n" in weft("agents", "show", "default").stdout
    assert "Tools: none\n" in weft("agents", "show", "planner").stdout


def test_show_of_a_broken_agent_tells_what_is_wrong(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "bad.yaml", "- a list\n")

    done = weft("agents", "show", "bad")

    assert "State: broken" in done.stdout
    assert "error[yaml-invalid]" in done.stderr
    assert ".clawft/agents/bad.yaml:1" in done.stderr


def test_json_of_show_is_the_one_agent(weft: Weft) -> None:
    document = json.loads(weft("agents", "show", "planner", "--format", "json").stdout)

    assert document["schema"] == "clawft.agents.show.v1"
    assert (document["name"], document["tools"], document["scope"]) == ("planner", [], "built-in")
