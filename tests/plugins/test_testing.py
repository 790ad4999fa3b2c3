"""`clawft.plugins.testing`: what a plugin's author is told before anything runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ClawftError
from clawft.plugins.testing import run_plugin

TOOL = {
    "name": "add",
    "description": "Adds",
    "parameters": {"type": "object", "required": ["a"], "properties": {"a": {}}},
}
MANIFEST = {"id": "org.example.add", "name": "Add", "version": "1.0.0", "capabilities": ["tool"], "tools": [TOOL]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    schema = {"type": "object", "properties": {"base": {"type": "integer"}}}
    place = tmp_path / "plugin"
    place.mkdir()
    (place / "clawft.plugin.json").write_text(json.dumps(MANIFEST | {"config_schema": schema}))
    return place


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("sub", {"a": 1}, "The manifest declares no tool 'sub'"),
        ("add", {}, "The arguments are not as the manifest says"),
    ],
)
def test_a_call_that_no_model_could_make_is_an_error(
    folder: Path, tmp_path: Path, name: str, arguments: dict[str, Any], said: str
) -> None:
    with run_plugin(folder, home=tmp_path) as plugin, pytest.raises(ClawftError, match=said):
        plugin.call_tool(name, **arguments)
    assert not (tmp_path / ".clawft" / "logs").exists()  # nothing of it was started


def test_settings_that_its_schema_refuses_are_an_error(folder: Path) -> None:
    running = run_plugin(folder, config={"base": "ten"})
    with pytest.raises(ClawftError, match="Its settings are not as its config_schema says"):
        running.__enter__()


def test_a_folder_that_is_no_plugin_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ClawftError, match="The folder has no manifest"), run_plugin(tmp_path):
        pass
