"""A skill's list of tools leaves reading the project and its own folder, and narrows what a model is offered."""

from typing import Any

import pytest

from clawft.messages import ToolFinished
from wire import call, say
from world import Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio

_READERS = {"read_file", "list_directory", "glob", "grep"}


def offered(world: World, index: int = -1) -> set[str]:
    """The names of the tools that a request had."""
    return {tool["function"]["name"] for tool in world.sent(index).get("tools", ())}


async def use(world: World, *calls: tuple[str, dict[str, Any]], skill: str, **how: Any) -> list[ToolFinished]:
    world.replies = [*(call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)), say("done")]
    return only(await world.run(skill=skill, approve=Person("no"), **how), ToolFinished)


async def test_a_skill_whose_list_lacks_reading_reads_the_project_and_its_own_folder(world: World) -> None:
    folder = world.add_skill("runner", head="allowed-tools: Bash(git:*)\n")
    (folder / "data.txt").write_text("the data of the skill\n")
    (world.project / "note.txt").write_text("a note of the project\n")
    ended = await use(
        world,
        ("read_file", {"path": "note.txt"}),
        ("grep", {"pattern": "note"}),
        ("glob", {"pattern": "*.txt"}),
        ("list_directory", {}),
        ("read_file", {"path": f"{folder}/data.txt"}),
        ("write_file", {"path": "new.txt", "content": "x"}),
        skill="runner",
    )
    assert [finished.status for finished in ended] == [*["success"] * 5, "error"]
    assert "the skill 'runner' does not allow the tool 'write_file'" in error_of(ended[-1])


async def test_it_reads_nothing_beyond(world: World) -> None:
    world.add_skill("runner", head="allowed-tools: Bash(git:*)\n")
    other = world.add_skill("other")
    (world.home / "private.txt").write_text("TOP SECRET\n")
    (world.project / "link.txt").symlink_to(world.home / "private.txt")
    ended = await use(
        world,
        ("read_file", {"path": f"{world.home}/private.txt"}),
        ("read_file", {"path": "link.txt"}),
        ("read_file", {"path": f"{other}/SKILL.md"}),
        ("grep", {"pattern": "TOP", "path": str(world.home)}),
        skill="runner",
    )
    assert [finished.status for finished in ended] == ["error"] * 4
    assert "TOP SECRET" not in str(world.sent()["messages"])


async def test_what_is_forbidden_by_name_or_named_with_a_path_stays_so(world: World) -> None:
    (world.project / "note.txt").write_text("x")
    world.add_skill("blind", head="allowed-tools: Bash(git:*)\ndisallowed-tools: Read\n")
    world.add_skill("narrow", head="allowed-tools: Read(src/**)\n")
    for skill in ("blind", "narrow"):
        (ended,) = await use(world, ("read_file", {"path": "note.txt"}), skill=skill, key=skill)
        assert ended.status == "error"


async def test_an_agent_may_take_reading_away(world: World) -> None:
    (world.user_dir / "agents").mkdir()
    (world.user_dir / "agents" / "writer.md").write_text("---\ndescription: Writes\ntools: Write, Skill\n---\nWrite.\n")
    world.add_skill("runner", head="allowed-tools: Write\n")
    (ended,) = await use(world, ("read_file", {"path": "note.txt"}), skill="runner", agent="writer")
    assert "the agent 'writer' does not allow the tool 'read_file'" in error_of(ended)
    assert offered(world) == {"write_file"}


async def test_a_model_is_offered_only_what_the_skills_at_work_allow(world: World) -> None:
    world.add_skill("first", head="allowed-tools: Bash(git:*), Write, Skill\n")
    world.add_skill("second", head="allowed-tools: Write, Edit\ndisallowed-tools: Grep\n")
    world.replies = [call("Skill", {"name": "second"}), say("done"), say("hello")]
    async with world.talk() as conversation:
        await collect(conversation, "go")
        every = offered(world, 0)
        narrowed = offered(world, 1)
        await collect(conversation, "and now?")
    assert {"exec_shell", "write_file", "edit_file", "web_fetch", *_READERS} <= every
    assert narrowed == {"write_file", "edit_file", "skill_read", *_READERS} - {"grep"}
    assert offered(world) == every  # a list of tools holds until the person's next message


async def test_a_skill_that_a_person_starts_narrows_the_first_request(world: World) -> None:
    world.add_skill("first", head="allowed-tools: Bash(git:*)\n")
    world.replies = [say("done")]
    await world.run(skill="first")
    assert offered(world) == {"exec_shell", "process_output", "process_end", "skill_read", *_READERS}
