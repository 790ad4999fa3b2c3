"""`weft agents list`, `show` and `use`, and agents at work: their models, tools and skills, and Claude's files."""

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
    assert [line.split()[:2] for line in lines if " * " in line] == [["default", "*"]]


def test_broken_and_shadowed_agents_are_listed_with_the_reason(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "researcher.yaml", RESEARCHER)
    _write(project / ".clawft" / "agents" / "bad.yaml", "- a list\n")
    _write(project / ".claude" / "agents" / "coder.md", "---\nname: coder\ndescription: Mine\n---\n\nCode.\n")

    assert weft("skills", "trust", "--all", "--yes").returncode == 0

    done = weft("agents", "list")

    assert "researcher  Research agent" in done.stdout
    assert "└ broken: " in done.stdout
    assert "└ shadowed: project has 'coder' too and comes first" in done.stdout


def test_json_of_agents(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "researcher.yaml", RESEARCHER)

    assert weft("skills", "trust", "researcher", "--yes").returncode == 0

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

    assert done.returncode == 0
    for line in (
        "Agent: researcher",
        "Description: Research agent",
        "Model: local/small",
        "Temperature: 0.3",
        "Max Tool Iterations: 7",
        "Scope: project (.clawft/agents/researcher.yaml)",
        "Tools: read_file, web_search",
        "Skills: research",
        "Answered By: nobody: local/small cannot be used",
        "Gets Tools: read_file",  # no engine is set up for web_search
        "Missing Skills: research",
    ):
        assert f"{line}\n" in done.stdout
    assert done.stdout.endswith("\nDig deep.\n")
    assert "error[provider-not-found]: The model 'local/small' cannot be used: No provider 'local'" in done.stderr
    assert "warning[agent-skill-missing]: The skill 'research' is not here" in done.stderr


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
    assert document["plan"] == {"model": "offline", "answers": True, "tools": [], "skills": [], "missing": []}


CLAUDES = """---
name: reviewer
description: Reviews changes. Use proactively.
tools: Read, Bash(git diff:*), NotebookEdit, mcp__github__get_issue, mcp__tracker
model: {model}
permissionMode: acceptEdits
hooks: {{PreToolUse: []}}
background: false
color: red
maxTurns: 3
skills: [review-diff, house-rules]
---

Review it.
"""


def _scripted(home: Path, extra: str = "") -> None:
    """A provider `local` that answers from a file, as the default model."""
    script = home / "answers.json"
    script.write_text(json.dumps({"loop": True, "steps": [{"text": "Reviewed."}]}))
    _write(
        home / ".clawft" / "config.toml",
        f'[providers.local]\nwire = "scripted"\nscript = "{script}"\n[agents.defaults]\nmodel = "local/big"\n{extra}',
    )


def _home(project: Path) -> Path:
    return project.parent / "home"


def test_use_sets_the_agent_that_answers_and_the_list_marks_it(weft: Weft, project: Path) -> None:
    done = weft("agents", "use", "planner")

    assert (done.returncode, done.stdout) == (0, "planner answers from now on\n")
    assert done.stderr == "Written to ~/.clawft/config.toml\n"
    assert "planner *" in weft("agents", "list").stdout
    assert "In Use: yes\n" in weft("agents", "show", "planner").stdout
    assert "So it was in" in weft("agents", "use", "planner").stderr
    assert weft("agents", "use", "default").stdout == "default answers from now on\n"


def test_use_changes_nothing_else_in_the_config(weft: Weft, project: Path) -> None:
    _write(_home(project) / ".clawft" / "config.toml", '# mine\n[agents.defaults]\nmodel = "offline" # free\n')

    weft("agents", "use", "coder")

    text = (_home(project) / ".clawft" / "config.toml").read_text()
    assert text == '# mine\n[agents.defaults]\nmodel = "offline" # free\nagent = "coder"\n'


def test_json_of_use(weft: Weft, project: Path) -> None:
    document = json.loads(weft("agents", "use", "coder", "--format", "json").stdout)

    assert document == {
        "schema": "clawft.agents.use.v1",
        "name": "coder",
        "path": str(_home(project) / ".clawft" / "config.toml"),
        "changed": True,
        "diagnostics": [],
    }
    listed = json.loads(weft("agents", "list", "--format", "json").stdout)["agents"]
    assert [one["name"] for one in listed if one["in_use"]] == ["coder"]


def test_use_of_an_unknown_or_broken_agent_writes_nothing(weft: Weft, project: Path) -> None:
    _write(_home(project) / ".clawft" / "agents" / "bad.yaml", "- a list\n")

    unknown, broken = weft("agents", "use", "plannr"), weft("agents", "use", "bad")

    assert (unknown.returncode, broken.returncode) == (1, 1)
    assert "error[agent-not-found]: No agent 'plannr'" in unknown.stderr
    assert "did you mean 'planner'?" in unknown.stderr
    assert "error[agent-broken]" in broken.stderr
    assert not (_home(project) / ".clawft" / "config.toml").exists()


def test_projects_agent_is_used_in_its_project_only_and_once_it_is_approved(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "agents" / "local.md", "---\ndescription: Ours\n---\nBe ours.\n")

    refused = weft("agents", "use", "local")
    done = weft("agents", "use", "local", "--scope", "project")

    assert (refused.returncode, "error[agent-scope]" in refused.stderr) == (1, True)
    assert done.returncode == 0
    assert done.stdout == "local is set, but does not answer yet\n"
    assert "error[agent-untrusted]" in done.stderr
    assert "No agent answers" in weft("agents", "list").stderr
    weft("agent", "--trust-instructions", "--yes", "-m", "hello")
    assert "local *" in weft("agents", "list").stdout


def test_use_tells_that_another_config_wins(weft: Weft, project: Path) -> None:
    done = weft("agents", "use", "coder", CLAWFT_AGENTS__DEFAULTS__AGENT="planner")

    assert done.stdout == "coder is set, but does not answer yet\n"
    assert "warning[agent-elsewhere]: Another config sets 'planner' and wins" in done.stderr


def test_agent_of_claude_is_used_and_what_is_lost_is_said(weft: Weft, project: Path) -> None:
    _scripted(_home(project), '[mcp.servers.tracker]\ncommand = "tracker"\n')
    _write(_home(project) / ".claude" / "agents" / "reviewer.md", CLAUDES.format(model="opus"))

    done = weft("agents", "show", "reviewer")

    assert "Answered By: local/big\n" in done.stdout
    assert "Gets Tools: read_file, exec_shell, mcp__tracker\n" in done.stdout
    assert "Max Tool Iterations: 3\n" in done.stdout
    assert "Loads Skills: review-diff\n" in done.stdout
    assert "Missing Skills: house-rules\n" in done.stdout
    assert "reviewer.md:7: warning[agent-not-honoured]: Not honoured here: hooks, color\n" in done.stderr
    assert "warning[agent-model]: Claude's 'opus' is no model here; 'local/big' answers" in done.stderr
    assert "warning[unknown-tool]: 'NotebookEdit'" in done.stderr
    assert "warning[unknown-tool]: 'mcp__github__get_issue'" in done.stderr
    assert "mcp__tracker'" not in done.stderr


def test_alias_of_claude_lets_the_default_model_answer_with_a_warning(weft: Weft, project: Path) -> None:
    _scripted(_home(project))
    _write(_home(project) / ".claude" / "agents" / "reviewer.md", CLAUDES.format(model="sonnet"))

    done = weft("agent", "--agent", "reviewer", "-m", "Look")

    assert (done.returncode, done.stdout) == (0, "Reviewed.\n")
    assert "warning[agent-model]: The agent asks for Claude's 'sonnet'" in done.stderr
    assert "warning[agent-not-honoured]" in done.stderr
    assert "warning[agent-skill-missing]: The agent 'reviewer' names the skill 'house-rules'" in done.stderr


def test_model_that_is_inherited_needs_no_word(weft: Weft, project: Path) -> None:
    _scripted(_home(project))
    _write(_home(project) / ".claude" / "agents" / "plain.md", "---\ndescription: d\nmodel: inherit\n---\nDo it.\n")

    done = weft("agent", "--agent", "plain", "-m", "Look")

    assert (done.returncode, done.stdout) == (0, "Reviewed.\n")
    assert "warning" not in done.stderr


def test_agents_model_without_a_provider_is_an_error_unless_another_is_named(weft: Weft, project: Path) -> None:
    _scripted(_home(project))
    _write(_home(project) / ".clawft" / "agents" / "far.yaml", "description: d\nmodel: nowhere/large\n")

    done = weft("agent", "--agent", "far", "-m", "Look")

    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "error[provider-not-found]: The agent 'far' asks for the model 'nowhere/large', which cannot be used"
        in done.stderr
    )
    assert weft("agent", "--agent", "far", "--model", "local/x", "-m", "Look").stdout == "Reviewed.\n"


def test_full_name_of_claudes_model_means_anthropic(weft: Weft, project: Path) -> None:
    _write(_home(project) / ".claude" / "agents" / "big.md", CLAUDES.format(model="claude-opus-4-1"))

    assert "nobody: anthropic/claude-opus-4-1 cannot be used" in weft("agents", "show", "reviewer").stdout
    with_key = weft("agents", "show", "reviewer", ANTHROPIC_API_KEY="k").stdout
    assert "Answered By: anthropic/claude-opus-4-1\n" in with_key
