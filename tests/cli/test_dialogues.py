"""The example dialogues, as the product answers them; those at the prompt: tests/cli/repl."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]

RESEARCH = """---
name: research
description: Deep research on a topic
version: 1.0.0
variables: [topic, depth]
argument-hint: "[topic] [depth]"
allowed-tools: [read_file, web_search, web_fetch]
---

Research {{topic}} to depth {{depth}}.
"""
RESEARCHER = """name: researcher
description: Deep research agent with web access
model: local/some-model
temperature: 0.3
max_tool_iterations: 20
system_prompt: You research.
tools: [read_file, web_search, web_fetch, memory_read, memory_write]
skills: [research, summarize]
"""


@pytest.fixture
def world(project: Path, child_env: dict[str, str]) -> Path:
    """A user with the skills and agents of the dialogues; the folder of the user."""
    user = Path(child_env["HOME"], ".clawft")
    (user / "skills" / "research").mkdir(parents=True)
    (user / "skills" / "research" / "SKILL.md").write_text(RESEARCH)
    (user / "skills" / "summarize").mkdir()
    (user / "skills" / "summarize" / "skill.json").write_text(
        '{"name": "summarize", "description": "Summarize documents"}'
    )
    (user / "skills" / "summarize" / "prompt.md").write_text("Summarize it.")
    (project / ".clawft" / "skills" / "code-review").mkdir(parents=True)
    (project / ".clawft" / "skills" / "code-review" / "SKILL.md").write_text(
        "---\nname: code-review\ndescription: Review code for quality\n---\nReview.\n"
    )
    (user / "agents").mkdir()
    (user / "agents" / "researcher.yaml").write_text(RESEARCHER)
    (user / "script.json").write_text(json.dumps({"steps": [{"text": "WebAssembly."}], "loop": True}))
    (user / "config.toml").write_text(f'[providers.local]\nwire = "scripted"\nscript = "{user}/script.json"\n')
    return user


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_skills_list(weft: Weft, world: Path) -> None:
    assert weft("skills", "trust", "code-review", "--yes").returncode == 0
    lines = [" ".join(row) for row in cells(weft("skills", "list").stdout)]
    assert lines[0] == "NAME DESCRIPTION STATE SCOPE FORMAT"
    assert "✓ research Deep research on a topic ready user SKILL.md" in lines
    assert "✓ code-review Review code for quality ready project SKILL.md" in lines
    assert "✓ summarize Summarize documents ready user legacy" in lines
    only = weft("skills", "list", "--scope", "project").stdout
    assert "code-review" in only
    assert "research " not in only


def test_skills_show(weft: Weft, world: Path) -> None:
    shown = weft("skills", "show", "research").stdout
    for line in (
        "Skill: research",
        "Description: Deep research on a topic",
        "Version: 1.0.0",
        "Format: SKILL.md",
        "Scope: user (~/.clawft/skills/research/)",
        "Variables: topic, depth",
        "Argument Hint: [topic] [depth]",
        "User Invocable: yes",
        "Model Invocable: yes",
        "Context: inline",
        "Allowed Tools: read_file, web_search, web_fetch",
    ):
        assert line in shown.splitlines(), line


def test_skills_run(weft: Weft, world: Path) -> None:
    done = weft("skills", "run", "--model", "local/some-model", "research", "wasm", "deep")
    assert (done.returncode, done.stdout) == (0, "WebAssembly.\n")


def test_agents_list(weft: Weft, world: Path) -> None:
    lines = [" ".join(row) for row in cells(weft("agents", "list").stdout)]
    assert any(line.startswith("NAME DESCRIPTION MODEL SCOPE") for line in lines)
    assert any("explore Read-only exploration (config default) built-in" in line for line in lines)
    assert any("researcher Deep research agent with web access local/some-model user" in line for line in lines)


def test_agents_show(weft: Weft, world: Path) -> None:
    shown = weft("agents", "show", "researcher").stdout.splitlines()
    for line in (
        "Agent: researcher",
        "Description: Deep research agent with web access",
        "Temperature: 0.3",
        "Max Tool Iterations: 20",
        "Scope: user (~/.clawft/agents/researcher.yaml)",
    ):
        assert line in shown, line
    for start in ("Model: local/some-model", "Tools: read_file, ", "Skills: research, summarize"):
        assert any(one.startswith(start) for one in shown), start


def test_agent_by_name_answers(weft: Weft, world: Path) -> None:
    done = weft("agent", "--agent", "researcher", "-m", "What is WASM?")
    assert (done.returncode, done.stdout) == (0, "WebAssembly.\n")


@pytest.mark.parametrize("topic", ["skills", "agents", "commands", "config"])
def test_help_on_a_topic(weft: Weft, topic: str) -> None:
    done = weft("help", topic)
    assert done.returncode == 0
    assert len(done.stdout) > 500
