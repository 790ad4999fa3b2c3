"""Tools under the names that other clients give them and their arguments."""

from typing import Any

import pytest

from clawft.messages import ToolFinished, ToolStarted
from wire import Reply, say
from wire import call as call_of
from world import Person, World, error_of, only

pytestmark = pytest.mark.anyio


async def use(world: World, name: str, arguments: dict[str, Any], **how: Any) -> ToolFinished:
    world.replies = [call_of(name, arguments), say("done"), say("done")]
    return only(await world.run(**how), ToolFinished)[0]


async def test_files_are_read_written_and_edited_by_file_path(world: World) -> None:
    path = str(world.project / "a.txt")
    assert (await use(world, "Write", {"file_path": path, "content": "one\n"})).status == "success"
    edit = {"file_path": path, "old_string": "one", "new_string": "two"}
    assert (await use(world, "Edit", edit)).status == "success"
    many = {"file_path": path, "edits": [{"old_string": "two", "new_string": "three"}]}
    assert (await use(world, "MultiEdit", many)).status == "success"
    assert "three" in (await use(world, "Read", {"file_path": path, "offset": 1, "limit": 5})).result["text"]


async def test_a_command_has_a_description_and_a_timeout_in_milliseconds(world: World) -> None:
    arguments = {"command": "echo hi", "description": "Greet", "timeout": 5000}
    world.replies = [call_of("Bash", arguments), say("done")]
    events = await world.run()
    assert only(events, ToolStarted)[0].arguments == {"command": "echo hi", "timeout_s": 5.0}
    assert only(events, ToolFinished)[0].status == "success"
    assert "milliseconds" not in str(world.sent()["messages"])


async def test_files_are_found_and_searched(world: World) -> None:
    (world.project / "a.txt").write_text("Needle\n")
    found = await use(world, "Glob", {"pattern": "*.txt", "path": "."})
    assert "a.txt" in found.result["text"]
    arguments = {"pattern": "needle", "-i": True, "-n": True, "-C": 1, "output_mode": "content", "head_limit": 5}
    assert "Needle" in (await use(world, "Grep", arguments)).result["text"]


async def test_a_skill_and_a_task_are_started(world: World) -> None:
    world.add_skill("greet", "Say hello.")
    assert (await use(world, "Skill", {"skill": "greet"})).status == "success"
    arguments = {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    assert (await use(world, "Task", arguments)).status == "success"


async def test_an_argument_under_both_names_is_refused(world: World) -> None:
    ended = await use(world, "Read", {"file_path": "/etc/hosts", "path": "a.txt"})
    assert error_of(ended).startswith("INVALID_PARAM")


async def test_rules_judge_what_the_other_name_says(world: World) -> None:
    (world.project / "secret.txt").write_text("TOP SECRET\n")
    world.config = '[permissions]\ndeny = ["Read(secret.txt)"]\n'
    ended = await use(world, "Read", {"file_path": "secret.txt"}, approve=Person())
    assert "rule deny Read(secret.txt)" in error_of(ended)
    world.add_skill("narrow", head="allowed-tools: Write(docs/**)\n")
    world.replies = [Reply(calls=(("c1", "Write", '{"file_path": "x", "content": "x"}'),)), say("done")]
    (ended,) = only(await world.run(skill="narrow"), ToolFinished)
    assert "allows write_file only for Write(docs/**)" in error_of(ended)
    assert not (world.project / "x").exists()
