"""Commands that change one file, run at the same time: each change is kept, and no command that exits 0 is lost."""

import base64
import json
import struct
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from warm import WarmPopen

Weft = Callable[..., subprocess.CompletedProcess[str]]
AtOnce = Callable[[Sequence[Sequence[str]]], None]
MANY = range(8)


@pytest.fixture
def at_once(project: Path, child_env: dict[str, str]) -> AtOnce:
    """Run commands as processes that are started together; each must exit 0."""

    def run(commands: Sequence[Sequence[str]]) -> None:
        started = [
            WarmPopen[str](
                ["weft", *words],
                cwd=project,
                env=child_env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for words in commands
        ]
        outputs = [process.communicate(timeout=120) for process in started]
        failed = [output for process, output in zip(started, outputs, strict=True) if process.returncode]
        assert not failed

    return run


def _make_key(number: int) -> str:
    blob = b"".join(struct.pack(">I", len(part)) + part for part in (b"ssh-ed25519", bytes([number + 1]) * 32))
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


@pytest.mark.parametrize("kind", ["allow", "ask", "deny"])
def test_rules_that_are_added_at_once_are_all_kept(at_once: AtOnce, tmp_path: Path, kind: str) -> None:
    at_once([["permissions", kind, f"Bash(make {number})"] for number in MANY])

    folder = tmp_path / "home" / ".clawft"
    assert sorted(_read(folder / "config.toml")["permissions"][kind]) == [f"Bash(make {number})" for number in MANY]
    logged = [json.loads(line)["subject"] for line in (folder / "audit.jsonl").read_text().splitlines()]
    assert sorted(logged) == [f"rule {kind} Bash(make {number})" for number in MANY]


def test_rules_that_are_added_and_removed_at_once_are_what_was_asked(
    at_once: AtOnce, weft: Weft, tmp_path: Path
) -> None:
    weft("permissions", "deny", *(f"Bash(old {number})" for number in MANY))

    at_once(
        [
            words
            for number in MANY
            for words in (
                ["permissions", "remove", f"Bash(old {number})"],
                ["permissions", "deny", f"Bash(new {number})"],
            )
        ]
    )

    rules = _read(tmp_path / "home" / ".clawft" / "config.toml")["permissions"]["deny"]
    assert sorted(rules) == [f"Bash(new {number})" for number in MANY]


def test_rules_of_a_project_that_are_added_at_once_are_all_kept_and_approved(
    at_once: AtOnce, weft: Weft, project: Path
) -> None:
    at_once([["permissions", "deny", f"Bash(make {number})", "--scope", "project"] for number in MANY])

    assert len(_read(project / ".clawft" / "config.toml")["permissions"]["deny"]) == len(MANY)
    listed = json.loads(weft("permissions", "list", "--format", "json").stdout)
    assert (len(listed["rules"]), listed["diagnostics"]) == (len(MANY), [])


def test_registries_that_are_added_at_once_are_all_kept_and_one_is_the_default(at_once: AtOnce, weft: Weft) -> None:
    at_once([["registries", "add", f"hub-{number}", f"https://{number}.example", "--default"] for number in MANY])

    done = weft("registries", "list", "--format", "json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)["registries"]
    assert {entry["name"] for entry in listed} >= {f"hub-{number}" for number in MANY}


def test_settings_skills_tokens_and_publishers_that_change_at_once_are_all_kept(at_once: AtOnce, own: Path) -> None:
    for number in MANY:
        (own / f"skill-{number}").mkdir()
        (own / f"skill-{number}" / "SKILL.md").write_text(f"---\nname: skill-{number}\ndescription: d\n---\n")

    at_once(
        [
            words
            for number in MANY[:4]
            for words in (
                ["config", "set", f"mcp.servers.s{number}.command", "true"],
                ["skills", "disable", f"skill-{number}"],
                ["serve", "token", "new", f"token-{number}", "--scope", "read"],
                ["publishers", "trust", f"publisher-{number}", _make_key(number), "--yes"],
            )
        ]
    )

    config = _read(own.parent / "config.toml")
    assert sorted(config["mcp"]["servers"]) == [f"s{number}" for number in MANY[:4]]
    assert sorted(config["skills"]["entries"]) == [f"skill-{number}" for number in MANY[:4]]
    assert sorted(_read(own.parent / "publishers.toml")["publisher"]) == [f"publisher-{number}" for number in MANY[:4]]
    tokens = json.loads((own.parent / "serve-tokens.json").read_text())["tokens"]
    assert sorted(token["name"] for token in tokens) == [f"token-{number}" for number in MANY[:4]]
