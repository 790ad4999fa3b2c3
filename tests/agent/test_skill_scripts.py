"""`skill_run_script`: scripts of a loaded skill, and nothing else; words as they are; the bytes that were approved."""

import json
from pathlib import Path
from typing import Any

import pytest

from programs import ECHO, MARK, Person, add_script, audited, confine, has_run, output, results, tool_names
from wire import Reply, call, say
from world import World, collect

pytestmark = pytest.mark.anyio
LOAD = call("Skill", {"name": "maker"})


@pytest.fixture
def world(world: World) -> World:
    return confine(world, "bubblewrap")


@pytest.fixture(params=["bubblewrap", "landlock"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    """The same in each of the sandboxes."""
    return confine(World(tmp_path), request.param)


def run(script: str, **more: Any) -> Reply:
    return call("skill_run_script", {"name": "maker", "script": script, **more})


async def test_it_is_offered_only_where_a_loaded_skill_has_scripts(world: World) -> None:
    world.add_skill("plain")
    add_script(world.add_skill("maker"), "go.sh", "true\n")
    world.replies = [call("Skill", {"name": "plain"}), LOAD, say("x")]
    await world.run()
    assert [("skill_run_script" in tool_names(world.sent(index))) for index in range(3)] == [False, False, True]
    tool = next(one["function"] for one in world.sent(2)["tools"] if one["function"]["name"] == "skill_run_script")
    assert "maker: scripts/go.sh" in tool["description"]


async def test_words_and_input_arrive_as_they_are(either: World) -> None:
    add_script(either.add_skill("maker"), "echo.py", ECHO)
    words = ["$(touch mark)", "a b", "'; touch mark; '", "x\ny", "", "--help", "-c", "*"]
    either.replies = [LOAD, run("scripts/echo.py", args=words, stdin="one\ntwo"), say("x")]
    person = Person()
    (result,) = results(await either.run(approve=person), "skill_run_script")
    seen = json.loads(output(result))
    assert (seen["words"], seen["stdin"], seen["cwd"]) == (words, "one\ntwo", seen["folder"])
    ((question, reason),) = person.asked
    assert question.startswith("Run scripts/echo.py of the skill 'maker' (sandboxed; ")
    assert "'$(touch mark)' 'a b'" in reason
    assert "7 characters of input" in reason
    assert [line["decision"] for line in audited(either)] == ["allowed"]
    assert not has_run(either)


async def test_a_script_may_be_named_without_its_folder(world: World) -> None:
    add_script(world.add_skill("maker"), "go.sh", MARK)
    world.replies = [LOAD, run("go.sh"), say("x")]
    await world.run(approve=Person())
    assert has_run(world)


async def test_what_is_no_script_of_the_skill_does_not_run(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "go.sh").write_text(MARK)
    folder = add_script(world.add_skill("maker"), "go.sh", MARK)
    (folder / "evil.sh").write_text(MARK)
    (folder.parent / "evil.sh").write_text(MARK)
    (folder / "scripts/linked.sh").symlink_to(outside / "go.sh")
    (folder / "scripts/folder").symlink_to(outside)
    attempts = [
        "../evil.sh", "scripts/../evil.sh", "scripts/../../../evil.sh", "/bin/sh", f"{folder}/scripts/go.sh", "scripts",
        "", "linked.sh", "folder/go.sh", "evil.sh", "scripts/no.sh", "SKILL.md", "~/evil.sh", "$(touch mark)",
    ]  # fmt: skip
    world.replies = [LOAD, *(run(script) for script in attempts), run("scripts/go.sh\0"), say("x")]
    person = Person()
    *found, last = results(await world.run(approve=person), "skill_run_script")
    assert [one["error"]["code"] for one in found] == ["NOT_FOUND"] * len(attempts)
    assert last["error"]["code"] == "INVALID_PARAM"
    assert [line["decision"] for line in audited(world)] == ["denied"] * len(attempts)
    assert person.asked == []
    assert not has_run(world)


async def test_a_skill_that_is_not_loaded_runs_nothing(world: World) -> None:
    add_script(world.add_skill("maker"), "go.sh", "true\n")
    add_script(world.add_skill("other"), "go.sh", MARK)
    asked = call("skill_run_script", {"name": "other", "script": "go.sh"})
    world.replies = [LOAD, asked, say("x")]
    (result,) = results(await world.run(approve=Person()), "skill_run_script")
    assert "The skill 'other' is not loaded" in result["error"]["message"]
    assert not has_run(world)


async def test_an_executable_is_started_by_its_own_first_line(either: World) -> None:
    folder = add_script(either.add_skill("maker"), "go", f"#!/bin/sh -e\n{MARK}")
    (folder / "scripts/go").chmod(0o755)
    either.replies = [LOAD, run("go"), say("x")]
    await either.run(approve=Person())
    assert has_run(either)


async def test_a_file_that_nobody_knows_how_to_start_is_refused(world: World) -> None:
    add_script(world.add_skill("maker"), "data.txt", MARK)
    world.replies = [LOAD, run("data.txt"), say("x")]
    (result,) = results(await world.run(approve=Person()), "skill_run_script")
    assert "Nothing tells how to start scripts/data.txt" in result["error"]["message"]
    assert not has_run(world)


async def test_a_script_that_is_swapped_while_a_person_is_asked_does_not_run(either: World) -> None:
    folder = add_script(either.add_skill("maker"), "go.sh", "true\n")
    either.replies = [LOAD, run("go.sh"), say("x")]
    person = Person(meanwhile=lambda: add_script(folder, "go.sh", MARK))
    (result,) = results(await either.run(approve=person), "skill_run_script")
    assert "changed" in result["error"]["message"]
    assert [line["decision"] for line in audited(either)] == ["denied"]
    assert not has_run(either)


async def test_a_lasting_answer_ends_when_the_script_changes(world: World) -> None:
    folder = add_script(world.add_skill("maker"), "go.sh", MARK)
    person = Person("always")
    world.replies = [LOAD, say("x"), run("go.sh"), say("y")]
    async with world.talk(approve=person) as conversation:
        await collect(conversation, "load")
        await collect(conversation, "run")  # the skill is loaded, and not active any more
    world.replies = [run("go.sh"), say("x")]
    await world.run(approve=person)
    assert len(person.asked) == 1
    add_script(folder, "go.sh", f"true\n{MARK}")
    world.replies = [run("go.sh"), say("x")]
    await world.run(approve=person)
    assert len(person.asked) == 2


async def test_without_a_sandbox_the_copy_runs_where_it_is_and_says_so(world: World) -> None:
    confine(world, "off")
    folder = add_script(world.add_skill("maker"), "echo.py", ECHO)
    world.replies = [LOAD, run("echo.py"), say("x")]
    person = Person()
    (result,) = results(await world.run(approve=person), "skill_run_script")
    assert "(WITHOUT a sandbox; " in person.asked[0][0]
    cwd = json.loads(output(result))["cwd"]
    assert cwd.startswith(str(world.user_dir / "cache/programs"))
    assert cwd != str(folder)
