"""A hook that must have its say has it: nothing that is done to it makes a no a yes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.messages import ToolFinished
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.approvals import make_approval
from wire import call, say
from world import World, error_of, only

pytestmark = pytest.mark.anyio
STRICT = '[hooks.entries.guard]\non_failure = "deny"\n'


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.config = STRICT
    world.replies = [call("list_directory", {}), say("done")]
    return world


async def ask(world: World) -> str:
    (done,) = only(await world.run(), ToolFinished)
    return error_of(done)


REFUSED = "the hook 'guard': it failed, and is set to refuse then"
HARMS: dict[str, Callable[[Path], object]] = {
    "no handler": lambda folder: (folder / "handler.js").unlink(),
    "no HOOK.md that can be read": lambda folder: (folder / "HOOK.md").write_text("---\nname: [\n---\n"),
    "something that is missing": lambda folder: (folder / "HOOK.md").write_text(
        (folder / "HOOK.md").read_text().replace('{"events"', '{"requires": {"bins": ["not-there"]}, "events"')
    ),
}


@pytest.mark.parametrize("harm", HARMS)
async def test_a_hook_that_can_no_longer_be_asked_refuses(world: World, harm: str) -> None:
    HARMS[harm](world.add_hook("guard", "tool:before", ""))
    assert REFUSED in await ask(world)


async def test_a_hook_that_cannot_be_given_what_it_is_to_get_refuses(world: World) -> None:
    world.add_hook("guard", "tool:before", "")
    world.config = STRICT + 'permissions = { read = ["~/.clawft/x"] }\n'
    assert REFUSED in await ask(world)


async def test_a_strangers_hook_that_was_changed_refuses(world: World) -> None:
    (world.user_dir / "config.toml").write_text("")
    folder = world.add_hook("guard", "tool:before", "", strangers=True)
    approvals = open_app(world.environ, str(world.project)).approvals
    approvals.record([make_approval("hook", str(folder), compute_digest(str(folder)).value, "guard")])
    (folder / "handler.js").write_text("export default () => {};")
    assert REFUSED in await ask(world)


async def test_commands_that_cannot_be_read_refuse(world: World) -> None:
    world.config = STRICT.replace("guard", "claude-user")
    (world.home / ".claude").mkdir()
    (world.home / ".claude" / "settings.json").write_text("{")
    assert "the hook 'claude-user': it failed" in await ask(world)


@pytest.mark.parametrize("events", ["tool:after", "agent:stop"])
async def test_one_that_is_not_asked_about_calls_refuses_none(world: World, events: str) -> None:
    folder = world.add_hook("guard", events, "")
    (folder / "handler.js").unlink()
    folder = world.add_hook("other", "tool:before", "")
    (folder / "HOOK.md").write_text(json.dumps({}))
    (world.user_dir / "hooks" / "guard" / "handler.js").write_text("export default () => {};")
    assert await ask(world) == ": "


async def test_a_strangers_hook_of_that_name_refuses_nothing_in_the_place_of_ones_own(world: World) -> None:
    world.add_hook("guard", "tool:before", "")
    world.add_hook("guard", "tool:before", "throw new Error('never')", strangers=True)
    assert await ask(world) == ": "
