"""What can never work is told before a plugin is used: by its manifest, or by what is missing here."""

import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
States = Callable[[], dict[str, str]]


@pytest.mark.parametrize("host", ["https://x.org/api", "x.org/api", "x org", "me@x.org", "x.org:http", ""])
def test_a_manifest_that_asks_for_no_host_is_broken(weft: Weft, plugin: Plugin, states: States, host: str) -> None:
    plugin(permissions={"network": [host]})

    assert states() == {"weather": "broken"}
    assert "permissions.network" in weft("plugins", "list").stdout.replace("\n", " ")


def test_every_form_of_a_host_may_be_asked_for(plugin: Plugin, states: States) -> None:
    plugin(
        permissions={"network": ["x.org", "*.x.org", "*", "*:993", "x.org:8080", "[::1]:80", "127.0.0.1", "bücher.de"]}
    )

    assert states() == {"org.example.weather": "untrusted"}


@pytest.mark.parametrize(
    ("more", "gone", "said"),
    [
        ({"python": "main:MyPlugin"}, "", "It has no main.py"),
        ({}, "plugin.py", "It has no plugin.py"),
        ({"python": "parts.main:MyPlugin"}, "", "It has no parts/main.py"),
        ({"wasm_module": "text.wasm"}, "", "It has no text.wasm"),
        (
            {"permissions": {"filesystem": ["~"]}},
            "",
            "Nobody can be granted ~, which holds the folder of clawft itself",
        ),
        ({"permissions": {"filesystem": ["~/.clawft/x:ro"]}}, "", "Nobody can be granted ~/.clawft/x, which holds"),
    ],
)
def test_a_plugin_that_cannot_work_is_not_ready(
    weft: Weft, plugin: Plugin, states: States, more: dict[str, Any], gone: str, said: str
) -> None:
    folder = plugin(**more)
    if gone:
        (folder / gone).unlink()
    assert said in weft("plugins", "show", "weather").stdout  # also before somebody looked at it
    done = weft("plugins", "enable", "weather", "--yes")

    assert done.returncode == 1
    assert said in done.stderr  # before it was granted anything
    assert "org.example.weather is ineligible" in done.stdout
    assert states() == {"org.example.weather": "ineligible"}
    assert said in weft("plugins", "list", COLUMNS="300").stdout
    assert said in weft("plugins", "show", "weather").stdout


def test_a_part_of_what_cannot_be_granted_can_be(weft: Weft, plugin: Plugin, states: States, user_dir: Path) -> None:
    (user_dir.parent / "Mail").mkdir()
    plugin(permissions={"filesystem": ["~"]})
    weft("plugins", "enable", "weather", "--yes")
    weft("plugins", "grant", "weather", "--filesystem", "~/Mail")
    weft("plugins", "grant", "weather", "--revoke", "--filesystem", "~")

    assert states() == {"org.example.weather": "ready"}


def test_a_component_needs_what_runs_components(
    weft: Weft, plugin: Plugin, states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plugin(wasm_module="text.wasm") / "text.wasm").write_bytes(b"\0asm")
    weft("plugins", "enable", "weather", "--yes")
    assert states() == {"org.example.weather": "ready"}
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "wasmtime" else find(name, *more)
    )

    assert states() == {"org.example.weather": "ineligible"}
    listed = weft("plugins", "list", COLUMNS="200").stdout
    assert "clawft[wasm]" in listed
    assert "pip install 'clawft[wasm]'" in weft("doctor").stdout


def test_a_granted_folder_that_is_not_there_is_told(weft: Weft, plugin: Plugin, states: States, user_dir: Path) -> None:
    plugin(permissions={"filesystem": ["~/Mail", "drafts:ro"]})
    done = weft("plugins", "enable", "weather", "--yes")

    assert done.returncode == 0
    assert "~/Mail is not there" in done.stderr
    assert states() == {"org.example.weather": "ready"}
    assert "~/Mail is not there" in weft("plugins", "list", COLUMNS="200").stdout
    shown = weft("plugins", "show", "weather").stdout
    assert "drafts is not there" in shown  # of this project: it may be there in another one, so no list says it
    assert "drafts" not in weft("plugins", "list", COLUMNS="200").stdout
    (user_dir.parent / "Mail").mkdir()
    assert "~/Mail is not there" not in weft("plugins", "list", COLUMNS="200").stdout


def test_a_host_that_the_policy_keeps_closed_is_told(weft: Weft, plugin: Plugin, states: States) -> None:
    closed = ["127.0.0.1:8080", "localhost:3000", "[::1]:80"]
    plugin(permissions={"network": [*closed, "*", "*.x.org", "8.8.8.8", "bad.example"]})
    weft("config", "set", "tools.web.blocked_domains", '["bad.example"]')
    done = weft("plugins", "enable", "weather", "--yes")

    assert done.returncode == 0
    assert f"{', '.join(closed)} are private: tools.web.block_private_ips keeps them closed" in done.stderr
    assert "Run: weft config set tools.web.block_private_ips false" in done.stderr
    assert "'bad.example' is blocked" in done.stderr
    assert states() == {"org.example.weather": "ready"}
    assert "are private" in weft("plugins", "show", "weather").stdout
    weft("config", "set", "tools.web.block_private_ips", "false")
    assert "are private" not in weft("plugins", "show", "weather").stdout


def test_what_a_manifest_says_in_vain_is_told_before_it_is_installed_and_granted(
    weft: Weft, plugin: Plugin, tmp_path: Path
) -> None:
    folder = plugin(of=str(tmp_path / "from"), permisions={"network": ["x.org"]})
    document = json.loads(weft("plugins", "install", folder, "--dry-run", "--format", "json").stdout)

    assert [one["code"] for one in document["diagnostics"]] == ["plugin-unknown-key"]
    for done in (weft("plugins", "install", folder), weft("plugins", "enable", "weather")):
        assert "'permisions' is not known and is not used" in done.stderr


def test_settings_that_are_missing_are_named_and_the_exit_code_tells(
    weft: Weft, plugin: Plugin, states: States
) -> None:
    schema = {"type": "object", "properties": {"address": {"type": "string"}}, "required": ["address"]}
    plugin(config_schema=schema)
    done = weft("plugins", "enable", "weather", "--yes")

    assert done.returncode == 1
    assert "Run: weft config set 'plugins.entries.\"org.example.weather\".config.address' VALUE" in done.stderr
    set_it = weft("config", "set", 'plugins.entries."org.example.weather".config.address', "a@example.org")
    assert set_it.returncode == 0
    assert states() == {"org.example.weather": "ready"}
    assert weft("plugins", "enable", "weather", "--yes").returncode == 0
