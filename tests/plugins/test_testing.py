"""`clawft.plugins.testing`: what a plugin's author is told before anything runs."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from clawft.contracts import PluginError
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


CODE = """
from urllib.request import urlopen
from clawft.contracts import Plugin, PluginError

class Plugin(Plugin):
    def execute_tool(self, name, arguments):
        if arguments["a"] == "raise":
            return self.count[name]
        if arguments["a"] == "refuse":
            raise PluginError("not today")
        with urlopen(arguments["a"], timeout=5) as answer:
            return answer.read().decode()
"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Snow")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """A server of the test itself."""
    with HTTPServer(("127.0.0.1", 0), _Handler) as made:
        thread = Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


def test_a_server_of_the_test_is_reached_if_it_is_named(folder: Path, server: str) -> None:
    (folder / "plugin.py").write_text(CODE)
    with run_plugin(folder, servers=[server]) as plugin:
        assert plugin.call_tool("add", a=f"http://{server}/") == "Snow"
        with pytest.raises(PluginError) as failed:
            plugin.call_tool("add", a="http://other.invalid/")
    (note,) = failed.value.__notes__
    assert "refused: other.invalid:80 is not granted" in note


def test_what_fails_is_shown_with_the_line_of_the_plugin_and_none_of_the_host(folder: Path) -> None:
    (folder / "plugin.py").write_text(CODE)
    with run_plugin(folder) as plugin:
        with pytest.raises(PluginError, match="not today") as refused:
            plugin.call_tool("add", a="refuse")
        with pytest.raises(PluginError, match="AttributeError") as failed:
            plugin.call_tool("add", a="raise")
    assert not hasattr(refused.value, "__notes__")
    (note,) = failed.value.__notes__
    assert "return self.count[name]" in note
    assert "not today" not in note
    for raised in (refused, failed):
        assert {Path(one.path).name for one in raised.traceback.filter(raised)} == {Path(__file__).name}
        assert (raised.value.__cause__, raised.value.__suppress_context__) == (None, True)
