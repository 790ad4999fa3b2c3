"""What tests of `weft plugins` share: plugins to speak of, and somebody who answers."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
CODE = (
    "from clawft.contracts import Plugin as Base\n\n\nclass Plugin(Base):\n    def execute_tool(self, name, given):\n"
)


@pytest.fixture
def user_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def plugin(user_dir: Path, project: Path) -> Plugin:
    """Write a plugin with a tool `weather`: the user's, or `of="project"`, or below a folder. `more`: its manifest."""

    def write(called: str = "weather", *, of: str = "user", code: str = "return 'Sun'", **more: Any) -> Path:
        base = {"user": user_dir / "plugins", "project": project / ".clawft" / "plugins"}.get(of) or Path(of)
        folder = base / called
        folder.mkdir(parents=True, exist_ok=True)
        manifest = {
            "id": f"org.example.{called}",
            "name": called.capitalize(),
            "version": "1.0.0",
            "description": "Tells the weather.",
            "capabilities": ["tool"],
            "tools": [{"name": "weather", "description": "The weather of a place", "read_only": True}],
        }
        (folder / "clawft.plugin.json").write_text(json.dumps(manifest | more))
        (folder / "plugin.py").write_text(f"{CODE}        {code}\n")
        return folder

    return write


@pytest.fixture
def states(weft: Weft) -> Callable[[], dict[str, str]]:
    """The state of every plugin, by id."""

    def load() -> dict[str, str]:
        document = json.loads(weft("plugins", "list", "--format", "json").stdout)
        assert document["schema"] == "clawft.plugins.list.v1"
        return {one["id"]: one["state"] for one in document["plugins"]}

    return load


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, weft: Weft) -> Callable[..., None]:
    """Somebody sits at a terminal, and says these things in turn."""

    def say(*said: str) -> None:
        left = list(said)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("click.termui.visible_prompt_func", lambda _text: left.pop(0))

    return say
