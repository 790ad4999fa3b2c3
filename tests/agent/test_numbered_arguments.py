"""Bare `$1` in the texts of skills: an argument in what was written for Claude Code, and plain text elsewhere."""

from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.skills.discovery.catalog import DiscoveredSkill
from wire import say
from world import World

pytestmark = pytest.mark.anyio

_TEXT = "Move $1 to $2, for $100 or $9.\n\n```sh\nmv $1 $2\n```\n"


def write(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Moves.\n---\n\n{_TEXT}")


async def heard(world: World, name: str) -> str:
    """The message that the model got when a person started a skill with two arguments."""
    world.replies = [say("done")]
    await world.run("here there", skill=name)
    return str(world.sent()["messages"][-1]["content"])


async def test_it_is_filled_in_a_skill_of_claudes_folder_outside_of_code(world: World) -> None:
    write(world.home / ".claude" / "skills", "move")
    text = await heard(world, "move")
    assert "Move here to there, for $100 or $9." in text
    assert "mv $1 $2" in text
    assert "ARGUMENTS:" not in text


async def test_it_is_filled_in_a_command_outside_of_code(world: World) -> None:
    (world.home / ".claude" / "commands").mkdir(parents=True)
    (world.home / ".claude" / "commands" / "move.md").write_text(_TEXT)
    text = await heard(world, "move")
    assert "Move here to there" in text
    assert "mv $1 $2" in text


async def test_it_stays_in_any_other_skill_which_a_note_says(world: World) -> None:
    write(world.user_dir / "skills", "move")
    text = await heard(world, "move")
    assert "Move $1 to $2" in text
    assert "ARGUMENTS: here there" in text
    app = open_app(world.environ, str(world.project))

    def notes(found: DiscoveredSkill) -> list[tuple[int, str]]:
        return [(one.line, one.hint) for one in app.diagnose(found) if one.code == "bare-number"]

    assert notes(app.get_skill("move").found) == [(6, "To fill it in, write $ARGUMENTS[0]")]
