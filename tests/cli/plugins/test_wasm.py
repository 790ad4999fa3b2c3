"""A plugin in WebAssembly as a user has it: installed, looked at, granted, and its tool called in a turn."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from report import ROOT

Weft = Callable[..., subprocess.CompletedProcess[str]]
ID = "org.clawft.text-facts"


def _script(user_dir: Path, **arguments: str) -> None:
    steps = [{"tool_calls": [{"name": "text_facts", "arguments": arguments}]}, {"text": "Counted."}]
    (user_dir / "script.json").write_text(json.dumps({"steps": steps}))
    provider = f'[providers.s]\nwire = "scripted"\nscript = "{user_dir}/script.json"\n'
    (user_dir / "config.toml").write_text(f'[agents.defaults]\nmodel = "s/x"\n{provider}')


def test_the_tool_of_a_granted_component_is_called_in_a_turn(weft: Weft, user_dir: Path, project: Path) -> None:
    (project / "notes.txt").write_text("three small words\n")
    _script(user_dir, path="notes.txt")
    assert weft("plugins", "install", str(ROOT / "examples/plugins/wasm-text")).returncode == 0
    assert _ask(weft)["status"] == "error"  # nobody granted it anything
    assert weft("plugins", "enable", ID, "--yes").returncode == 0

    finished = _ask(weft)
    assert finished["status"] == "success"
    assert json.loads(finished["result"]["text"])["words"] == 3
    lines = [json.loads(line) for line in (user_dir / "audit.jsonl").read_text().splitlines()]
    used = [line for line in lines if line["kind"] == "plugin" and line["decision"] == "used"]
    assert [(line["subject"], line["detail"]) for line in used] == [
        ("text_facts", {"plugin": ID, "outcome": "success"})
    ]
    assert len(list((user_dir / "cache/wasm").iterdir())) == 1


def test_a_component_that_is_too_large_fails_its_call_and_not_the_turn(weft: Weft, user_dir: Path) -> None:
    _script(user_dir, text="a")
    with (user_dir / "config.toml").open("a") as file:
        file.write("[plugins.wasm]\nmax_bytes = 8192\n")
    assert weft("plugins", "install", str(ROOT / "examples/plugins/wasm-text")).returncode == 0
    assert weft("plugins", "enable", ID, "--yes").returncode == 0
    done = weft("agent", "-m", "count")
    assert (done.returncode, done.stdout) == (0, "Counted.\n")
    assert "8192 is the limit" in done.stderr


def _ask(weft: Weft) -> dict[str, Any]:
    """What came of the tool."""
    done = weft("agent", "-m", "count", "--format", "json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    [finished] = [one for one in events if one["event"] == "ToolFinished"]
    found: dict[str, Any] = finished
    return found
