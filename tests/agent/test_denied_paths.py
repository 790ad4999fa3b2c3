"""Paths that rules deny, and commands whose paths nobody can read: the sandbox keeps them closed."""

import os
from pathlib import Path

import pytest

from arena import Arena
from clawft.config.tools import SandboxSettings
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

pytestmark = pytest.mark.anyio
READ_ALL = "for f in * */* */*/*; do cat $f 2>/dev/null; done; X=secret; cat $X/key; ls -R; grep -rh . ."


@pytest.fixture(params=["bubblewrap", "landlock"])
def arena(request: pytest.FixtureRequest, tmp_path: Path) -> Arena:
    arena = Arena(tmp_path, request.param)
    workspace = Workspace(str(tmp_path), str(tmp_path), str(tmp_path), str(tmp_path))
    found = Sandbox(SandboxSettings(mode=request.param), workspace, {"PATH": os.defpath}).status()
    if found.kind != request.param:
        pytest.skip(f"there is no {request.param} here: {found.reason}")
    arena.answer = "no"
    for path, text in (
        ("secret/key", "TOP"),
        ("deep/down/x.private", "DEEP"),
        ("docs/a.md", "doc"),
        ("src/a.py", "code"),
    ):
        (arena.project / path).parent.mkdir(parents=True, exist_ok=True)
        (arena.project / path).write_text(f"{text}\n")
    (arena.project / "way").symlink_to("secret")
    return arena


@pytest.mark.parametrize("mode", ["plan", "auto-edit", "full"])
async def test_no_command_reads_what_a_rule_denies_to_read(arena: Arena, mode: str) -> None:
    arena.world.config = (
        f'mode = "{mode}"\n[permissions]\ndeny = ["Read(secret/**)", "Read(*.private)"]\n{arena.world.config}'
    )
    shown = await arena.shell(
        READ_ALL,
        "python3 -c 'print(open(chr(119) + \"ay/key\").read())'",
        "mv deep moved; for f in */* */*/*; do cat $f; done",
    )

    assert "TOP" not in shown
    assert "DEEP" not in shown
    assert {"doc", "code"} <= set(shown.split())
    assert arena.asked == []


async def test_what_a_skill_disallows_to_read_is_closed_while_it_is_in_use(arena: Arena) -> None:
    arena.add_skill("shy", head="disallowed-tools: Read(secret/**)\n")
    ended = await arena.use(("exec_shell", {"command": READ_ALL}), skill="shy")

    assert "TOP" not in ended[0].result["text"]
    assert "DEEP" in ended[0].result["text"]
    assert "TOP" in await arena.shell(READ_ALL)


async def test_no_command_changes_what_a_rule_denies_to_edit(arena: Arena) -> None:
    arena.world.config += '[permissions]\ndeny = ["Edit(docs/**)", "Write(src/*.py)"]\n'
    await arena.shell("for f in */*; do echo pwned >> $f; done", "D=docs; rm -rf $D; mv $D away", "S=src; touch $S/new")

    assert (arena.project / "docs/a.md").read_text() == "doc\n"
    assert (arena.project / "src/a.py").read_text() == "code\n"
    assert (arena.project / "secret/key").read_text().endswith("pwned\n")
    assert not (arena.project / "away").exists()
    assert arena.asked == []
