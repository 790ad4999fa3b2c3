"""What `weft skills show` and `validate` tell of the tools that a skill brings."""

import sys
from pathlib import Path

import pytest

from clawft.app.app import App, open_app
from clawft.cli.skills.show import detail_lines
from clawft.server.views.skills import digest_of
from programs import add_tool
from wats import assemble
from world import World


def open_with(tmp_path: Path) -> App:
    world = World(tmp_path)
    add_tool(world, more="  - name: other\n")
    return open_app(world.environ, str(world.project))


def test_show_tells_the_program_of_each_tool(tmp_path: Path) -> None:
    app = open_with(tmp_path)
    standing = app.get_skill("maker")
    lines = detail_lines(app, standing, digest_of(standing))
    assert "Provided Tools: make (scripts/make.sh), other (not offered)" in lines


def test_show_tells_which_tools_may_be_repeated(tmp_path: Path) -> None:
    world = World(tmp_path)
    add_tool(world, more="    idempotent: true\n")
    app = open_app(world.environ, str(world.project))
    standing = app.get_skill("maker")
    assert "Provided Tools: make (scripts/make.sh, repeatable)" in detail_lines(app, standing, digest_of(standing))


def test_validate_complains_about_a_tool_without_a_program(tmp_path: Path) -> None:
    app = open_with(tmp_path)
    found = app.get_skill("maker").found
    (said,) = [one for one in app.diagnose(found) if one.code == "tool-program"]
    assert (said.severity, said.path) == ("warning", found.file)
    assert "The tool 'other' is not offered: there is no file scripts/other" in said.message


def test_show_and_validate_tell_of_tools_in_webassembly_and_of_plugins(tmp_path: Path) -> None:
    world = World(tmp_path)
    head = (
        "execution: wasm\ntools: [{name: count}, {name: fetch, execution: native}, {name: odd, command: [odd.wasm]}]\n"
    )
    folder = assemble(world.add_skill("maker", head=head), "scripts/count.wasm", b"\0asm\x01\0\0\0")
    assemble(folder, "odd.wasm", b"\0asm\x0d\0\x01\0")
    app = open_app(world.environ, str(world.project))
    standing = app.get_skill("maker")
    lines = detail_lines(app, standing, digest_of(standing))
    assert "Provided Tools: count (scripts/count.wasm, repeatable), fetch (not offered), odd (not offered)" in lines
    said = {one.code: one.message for one in app.diagnose(standing.found)}
    assert "only a plugin's skill has such tools" in said["tool-execution"]
    assert "odd.wasm is a component, not a module" in said["tool-program"]


def test_validate_tells_what_to_install_for_webassembly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    world = World(tmp_path)
    assemble(world.add_skill("maker", head="execution: wasm\ntools: [{name: count}]\n"), "count.wasm", b"")
    app = open_app(world.environ, str(world.project))
    (said,) = [one for one in app.diagnose(app.get_skill("maker").found) if one.code == "wasm-missing"]
    assert said.hint == "Install clawft[wasm]"
