"""A turn and the sandbox: that there is none is said, and only a person can let a command do without."""

import pytest

from clawft.messages import Noticed, ToolFinished
from wire import call, say
from world import Person, World, collect, only

pytestmark = pytest.mark.anyio
FREE = '[tools.exec]\nmode = "disabled"\n'


async def test_a_sandbox_that_is_off_is_said_once(world: World) -> None:
    world.config = '[sandbox]\nmode = "off"\n'
    world.replies = (say("One."), say("Two."))
    async with world.talk() as conversation:
        first = await collect(conversation, "one")
        second = await collect(conversation, "two")
    (said,) = [one for one in only(first, Noticed) if one.code == "sandbox-off"]
    assert "WITHOUT a sandbox" in said.message
    assert "sandbox-off" not in [one.code for one in only(second, Noticed)]


async def test_a_project_cannot_turn_the_sandbox_off(world: World) -> None:
    path = world.project / ".clawft" / "config.toml"
    path.write_text('[sandbox]\nmode = "off"\n')
    from clawft.app.app import open_app

    open_app(world.environ, str(world.project)).approve_config()
    world.config = FREE
    world.replies = (call("exec_shell", {"command": f"touch {world.home}/made"}), say("Done."))
    events = await world.run()
    assert "sandbox-ignored" in [one.code for one in only(events, Noticed)]
    assert not (world.home / "made").exists()


async def test_no_policy_and_no_list_answers_for_a_command_without_a_sandbox(world: World) -> None:
    world.config = f'{FREE}\n[sandbox]\nmode = "bubblewrap"\n'
    world.environ["PATH"] = "/nowhere"
    world.replies = (call("exec_shell", {"command": "echo made > made"}), say("Done."))
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.result["error"]["code"] == "PERMISSION_DENIED"
    assert not (world.project / "made").exists()
    person = Person()
    world.replies = (call("exec_shell", {"command": "echo made > made"}), say("Done."))
    await world.run(approve=person, key="other")
    ((question, grave),) = [(one.question, one.dangerous) for one in person.asked]
    assert (question, grave) == ("Run WITHOUT a sandbox: echo made > made", True)
    assert (world.project / "made").exists()
    assert [line["detail"]["sandbox"] for line in world.audit("command")] == ["none"]


async def test_only_mode_full_runs_commands_where_there_is_no_sandbox(world: World) -> None:
    world.config = 'mode = "full"\n[sandbox]\nmode = "bubblewrap"\n'
    world.environ["PATH"] = "/nowhere"
    world.replies = (call("exec_shell", {"command": "echo made > made"}), say("Done."))
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.status == "success"
    assert (world.project / "made").exists()
    assert [line["detail"]["sandbox"] for line in world.audit("command")] == ["none"]


async def test_no_mode_answers_where_the_sandbox_is_required(world: World) -> None:
    world.config = 'mode = "full"\n[sandbox]\nmode = "bubblewrap"\nif_unavailable = "refuse"\n'
    world.environ["PATH"] = "/nowhere"
    world.replies = (call("exec_shell", {"command": "echo made > made"}), say("Done."))
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.status == "error"
    assert not (world.project / "made").exists()
