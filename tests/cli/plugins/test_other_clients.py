"""A plugin of another client on the command line: looked at, granted, and everywhere after that."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"


@pytest.fixture
def helper(tmp_path: Path) -> Path:
    """A plugin of Claude Code's in the user's folder."""
    folder = tmp_path / "home" / ".clawft" / "plugins" / "helper"
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "helper", "version": "1.0.0", "outputStyles": "./x"}),
        "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies.\n---\n\nTidy up.\n",
        "commands/greet.md": "---\ndescription: Greets.\n---\n\nGreet $ARGUMENTS.\n",
        "agents/critic.md": "---\nname: critic\ndescription: Criticises.\n---\n\nBe strict.\n",
        "hooks/hooks.json": json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}),
        ".mcp.json": json.dumps({"main": {"command": "npx", "env": {"KEY": "${HELPER_KEY}"}}}),
        ".lsp.json": "{}",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_what_it_brings_and_asks_for_is_shown_and_what_is_not_used_is_said(weft: Weft, helper: Path) -> None:
    shown = weft("plugins", "show", "helper")
    for words in ("skill tidy", "command greet", "agent critic", "a command at Stop", "MCP server main", "HELPER_KEY"):
        assert words in shown.stdout, words
    for words in ("'outputStyles' is of Claude Code", "language servers"):
        assert words in shown.stdout + shown.stderr, words


def test_once_it_is_granted_its_skill_command_agent_and_hooks_are_everywhere(weft: Weft, helper: Path) -> None:
    assert "weft plugins enable helper" in weft("skills", "why", "tidy").stdout
    done = weft("plugins", "enable", "helper", "--yes")
    assert done.returncode == 0, done.stderr
    listed = json.loads(weft("skills", "list", "--format", "json").stdout)["skills"]
    brought = {one["name"]: one["state"] for one in listed if one["scope"] == "plugin"}
    assert brought == {"greet": "ready", "tidy": "ready"}
    assert "Description: Tidies." in weft("skills", "show", "helper:tidy").stdout
    assert "Greet Bob." in weft("skills", "render", "plugin:greet", "Bob").stdout
    assert "Be strict." in weft("agents", "show", "helper:critic").stdout
    assert "plugin:helper" in weft("hooks", "list").stdout
    assert weft("plugins", "disable", "helper").returncode == 0
    assert "tidy" not in weft("skills", "list").stdout
    assert "No skill 'helper:tidy'" in weft("skills", "show", "helper:tidy").stderr


def test_a_skill_that_does_not_conform_is_left_out_and_nothing_else_is_said_of_it(weft: Weft, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".clawft" / "plugins" / "kit"
    (folder / "skills" / "bad").mkdir(parents=True)
    (folder / "plugin.json").write_text(json.dumps({"$schema": SCHEMA, "name": "kit", "version": "1.0.0"}))
    (folder / "skills" / "bad" / "SKILL.md").write_text("---\nname: Bad Name\ndescription: d\n---\n")
    shown = weft("plugins", "show", "kit").stdout

    assert "It is left out, as its plugin's format wants: the name 'Bad Name' is not lowercase" in shown
    assert "cannot be read" not in shown
    assert "it is loaded as" not in shown


def test_a_marketplace_is_told_from_a_plugin(weft: Weft, tmp_path: Path) -> None:
    market = tmp_path / "market"
    (market / ".claude-plugin").mkdir(parents=True)
    (market / "plugins" / "a").mkdir(parents=True)
    told = {"name": "m", "plugins": [{"name": "a", "source": "./plugins/a"}]}
    (market / ".claude-plugin" / "marketplace.json").write_text(json.dumps(told))
    done = weft("plugins", "install", market)
    assert done.returncode != 0
    assert "marketplace of plugins" in done.stderr
