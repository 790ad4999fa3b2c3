"""What `weft skills show` and `validate` tell of the tools that a skill brings."""

from pathlib import Path

from clawft.app import App, open_app
from clawft.cli.skills._json import digest_of
from clawft.cli.skills.show import detail_lines
from programs import add_tool
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
