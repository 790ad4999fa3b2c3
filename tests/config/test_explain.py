"""What is wrong with a config file, in terms of the file: the key, its line in its own table, and what was meant."""

from pathlib import Path

import pytest

from clawft.config import load_config
from clawft.errors import ClawftError
from clawft.workspace import Workspace


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[skils]\nenabled = false\n", "Did you mean 'skills'?"),
        (
            "[x]\n",
            "Sections are agents, providers, skills, tools, permissions, sandbox, mcp, memory, runs, hooks, "
            "plugins, gateway, registries, hub, serve, trust",
        ),
    ],
)
def test_unknown_section_is_an_error_with_the_close_one(workspace: Workspace, text: str, hint: str) -> None:
    Path(workspace.user_dir, "config.toml").write_text(text)
    with pytest.raises(ClawftError, match="no section") as caught:
        load_config(workspace, {})
    assert (caught.value.code, caught.value.hint, caught.value.diagnostic.line) == ("config-unknown-key", hint, 1)


@pytest.mark.parametrize(
    ("name", "text", "line", "key"),
    [
        ("config.json", '{"skills": {"enabled": true,\n"enabled": false}}', 2, "skills.enabled"),
        ("config.json", '{"skills": {"load": {"extraDirs": [],\n"extra_dirs": []}}}', 2, "skills.load.extra_dirs"),
        ("config.toml", "[skills.load]\nextraDirs = []\nextra_dirs = []\n", 3, "skills.load.extra_dirs"),
        ("config.toml", "[skills.load]\n[skills.Load]\n", 2, "skills.load"),
        ("config.json", '{"mcp": {"servers": {"a": {}, "b": {},\n\n"a": {}}}}', 3, "mcp.servers.a"),
    ],
)
def test_key_that_is_set_twice_is_an_error(workspace: Workspace, name: str, text: str, line: int, key: str) -> None:
    Path(workspace.user_dir, name).write_text(text)
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    found = caught.value.diagnostic
    assert (found.code, found.message, found.line) == ("config-invalid", f"{key} is set twice", line)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        (
            "config.toml",
            "[skills]\nenabled = true\n[skills.entries.a]\nenabled = true\n[skills.entries.b]\nenabled = 3\n",
            6,
            "skills.entries.b.enabled: expected `bool`, got `int`",
        ),
        (
            "config.toml",
            "[providers.a]\ntimeout_s = 1\n[mcp.servers]\na.timeout_s = 1\nb = { timeout_s = 0 }\n",
            5,
            "mcp.servers.b.timeout_s: expected `float` > 0.0",
        ),
        (
            "config.toml",
            '[[agents.routing.tiers]]\nmodel = "a"\n# [[agents.routing.tiers]]\n[[agents.routing.tiers]]\nup_to = 1\n',
            4,
            "agents.routing.tiers[1]: object missing required field `model`",
        ),
        (
            "config.toml",
            '[[agents.routing.tiers]]\nmodel = "a"\nup_to = 3\n',
            3,
            "agents.routing.tiers[0].up_to: expected `float` <= 1.0",
        ),
        (
            "config.toml",
            'skills.load.extra_dirs = [\n  "a", # ]\n  """b\n[skills]\n""", 1970-01-01,\n]\n',
            5,
            "skills.load.extra_dirs[2]: expected `str`, got `date`",
        ),
        (
            "config.json",
            '{"providers":\n{"a":\n{"wire": "openai"},\n"b\\u0020c":\n{"wire": "x"}}}',
            5,
            'providers."b c".wire: expected `openai`, `anthropic` or `scripted`',
        ),
        ("config.json", '{"mcp": {"servers": {"a": [\n3]}}}', 1, "mcp.servers.a: expected `object`, got `array`"),
        ("config.json", '{"tools": {"exec": {"allowed_commands": ["a",\n3]}}}', 2, "tools.exec.allowed_commands[1]"),
    ],
)
def test_line_is_that_of_the_key_in_its_own_table(
    workspace: Workspace, name: str, text: str, line: int, message: str
) -> None:
    Path(workspace.user_dir, name).write_text(text)
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    assert message in caught.value.diagnostic.message
    assert caught.value.diagnostic.line == line


@pytest.mark.parametrize(
    "text",
    [
        '[providers.x]\napi_key = ["SECRETVALUE"]\n',
        '[providers.x]\napi_key = { env = "A", literal = "SECRETVALUE" }\n',
        '[providers.x]\nwire = "SECRETVALUE"\n',
        '[tools.exec]\nmode = "SECRETVALUE"\n',
        '[tools.delegate]\ntarget = "SECRETVALUE"\n',
        '[providers.x]\ntimeout_s = "SECRETVALUE"\n',
        '[providers.x]\nheaders = ["SECRETVALUE"]\n',
        '[providers.x]\napi_key = "SECRETVALUE\n',
    ],
)
def test_no_error_quotes_a_value(workspace: Workspace, text: str) -> None:
    Path(workspace.user_dir, "config.toml").write_text(text)
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    assert "SECRETVALUE" not in repr(caught.value.diagnostic)
