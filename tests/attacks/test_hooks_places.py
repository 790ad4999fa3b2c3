"""What a project can do to hooks by its names and its files: nothing unapproved runs, nothing stays unheard."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.hooks.handlers import HookLaunch
from clawft.app.app import open_app
from clawft.app.hooks import load_all_hooks, load_hook_statuses
from clawft.errors import ClawftError
from clawft.messages import Noticed, ToolFinished
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.hooks import load_hooks
from clawft.skills.discovery.locations import Location
from clawft.trust.hooks import get_hook_entry
from hook_stage import Stage
from wire import call, say
from world import World, only


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize("name", [b"a,b", b"no\xffutf8"])
async def test_no_name_of_a_project_keeps_a_hook_of_the_user_from_refusing(world: World, name: bytes) -> None:
    world.add_hook("guard", "tool:before", "return {block: true, blockReason: 'not here'};")
    moved = os.fsdecode(os.path.join(os.fsencode(world.project.parent), name))
    world.project = world.project.rename(moved)
    world.replies = [call("list_directory", {}), say("done")]
    events = await world.run()
    assert [one.result["error"]["message"] for one in only(events, ToolFinished)] == [
        "Not allowed: the hook 'guard': not here"
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "code",
    [
        "const lib = require('dep'); module.exports = (event) => { event.messages.push(lib); };",
        "import {createRequire} from 'node:module';\n"
        "export default (event) => { event.messages.push(createRequire(import.meta.url)('dep')); };",
        "import lib from '../../../dep.js'; export default (event) => { event.messages.push(lib); };",
        "export default async (event) => { event.messages.push((await import('../../../dep.js')).default); };",
    ],
)
async def test_code_of_the_project_around_a_strangers_hook_is_not_part_of_it(tmp_path: Path, code: str) -> None:
    stage = Stage(tmp_path)
    root, package = stage.project / ".clawft/hooks/it", stage.project / "node_modules/dep"
    root.mkdir(parents=True)
    package.mkdir(parents=True)
    (package / "index.js").write_text("module.exports = 'never approved';")
    (stage.project / "dep.js").write_text("export default 'never approved';")
    (root / "handler.js").write_text(code)
    job = HookLaunch("it", str(root), "handler.js", compute_digest(str(root)).value)
    with pytest.raises(ClawftError, match="Requires read access") as error:
        await stage.deno.call(job, stage.event())
    assert error.value.code == "hook-denied"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "said", ["event.messages.push(half)", "throw new Error(half)", "return {block: true, blockReason: half}"]
)
async def test_half_a_character_of_a_hook_is_written_nowhere(world: World, said: str) -> None:
    world.add_hook("odd", "tool:before", f"const half = '\\ud800'; {said};")
    world.replies = [call("list_directory", {}), say("done")]
    events = await world.run()
    told = [str(one) for one in events]
    assert any("odd" in one for one in told)
    assert not any("\\ud800" in one or "\ud800" in one for one in told)
    assert not [one for one in only(events, Noticed) if "could not be called" in one.message]


@pytest.mark.parametrize("name", ["claude-user", "Claude User", "claude-local"])
def test_no_hook_goes_by_the_name_of_claude_codes_settings(world: World, name: str) -> None:
    (world.user_dir / "config.toml").write_text('[hooks.entries.claude-user]\nenv = { TOKEN = "of another" }\n')
    folder = world.add_hook("taker", "tool:before", "", strangers=True)
    text = (folder / "HOOK.md").read_text()
    (folder / "HOOK.md").write_text(text.replace("name: taker", f"name: {name}"))
    (row,) = load_all_hooks(open_app(world.environ, str(world.project)))
    assert (row.state, row.reasons[0].code) == ("broken", "hook-name")


def test_a_pack_is_scanned_once_however_many_hooks_it_names(world: World) -> None:
    (world.user_dir / "config.toml").write_text("")
    pack = world.project / "hooks" / "pack"
    names = [f"./{number}" for number in range(50)]
    for one in names:
        folder = pack / one
        folder.mkdir(parents=True)
        (folder / "HOOK.md").write_text("---\nname: x\ndescription: y\nmetadata: {events: [agent:stop]}\n---\n")
        (folder / "handler.js").write_text("export default () => {};\n")
    (pack / "package.json").write_text(json.dumps({"openclaw": {"hooks": names}}))
    app = open_app(world.environ, str(world.project))
    asked: list[str] = []
    app.screen = lambda found, **_: asked.extend(one.root for one in found)  # type: ignore[method-assign]
    assert len(load_all_hooks(app)) == len(names)
    assert asked.count(str(pack)) == 1


def test_what_a_digest_leaves_out_holds_no_hook_of_a_skill(world: World) -> None:
    (world.user_dir / "config.toml").write_text("")
    hooks = world.add_skill("brings", strangers=True) / "hooks"
    world.add_hook("later", "tool:before", "").rename(world.user_dir / "later")
    hooks.mkdir()
    (world.user_dir / "later").rename(hooks / "__pycache__")
    assert load_all_hooks(open_app(world.environ, str(world.project))) == ()


@pytest.mark.anyio
@pytest.mark.parametrize("grant", ["read", "write"])
async def test_without_a_sandbox_no_grant_gives_the_folder_of_this_program(tmp_path: Path, grant: str) -> None:
    stage = Stage(tmp_path, "off")
    given: dict[str, Any] = {grant: (str(stage.home),)}
    told = await stage.say("export default (event) => { event.messages.push('ran'); }", "handler.ts", **given)
    assert told.startswith("hook-permissions: Without a sandbox")


def test_a_folder_full_of_files_is_not_looked_through_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(500):
        (tmp_path / f"use{number}.js").touch()
    (tmp_path / "one").mkdir()
    looked: list[str] = []
    monkeypatch.setattr("os.path.lexists", lambda path: looked.append(path))
    assert load_hooks([Location("project", "here", str(tmp_path))]) == ()
    assert 0 < len(looked) < 10


def test_no_hook_of_a_stranger_gives_itself_the_settings_of_another(world: World) -> None:
    config = '[hooks.load]\nextra_dirs = ["tools"]\n[hooks.entries.guard]\nenv = { TOKEN = "of another" }\n'
    (world.user_dir / "config.toml").write_text(config)
    world.add_hook("guard", "tool:before", "")
    for place, name in ((world.project / "tools", "near"), (world.home / ".openclaw/hooks", "far")):
        folder = world.add_hook(name, "tool:before", "", strangers=True)
        place.mkdir(parents=True)
        folder = folder.rename(place / name)
        text = (folder / "HOOK.md").read_text()
        (folder / "HOOK.md").write_text(text.replace('{"events"', '{"hookKey": "guard", "events"'))
    app = open_app(world.environ, str(world.project))
    settings = app.own_config.hooks
    standings = load_hook_statuses(app, ())
    given = {one.name: get_hook_entry(one.found, settings).env for one in standings}
    assert {name: bool(env) for name, env in given.items()} == {"guard": True, "near": False, "far": False}
