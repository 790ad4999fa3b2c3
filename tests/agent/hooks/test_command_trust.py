"""Whose command hooks run: a project's only as they were approved, with the scripts that they start."""

import json
from typing import Any

import pytest

from clawft.agent.hooks.events import HookEvent
from clawft.app.app import open_app
from clawft.app.hooks import load_command_hook_statuses, open_hooks
from clawft.errors import ClawftError
from clawft.messages import Event, Noticed
from clawft.trust.command_hooks import CommandHooksStatus, approve_commands
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio


def write_settings(world: World, command: str, event: str = "UserPromptSubmit", name: str = "settings.json") -> None:
    path = world.project / ".claude" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}))


def standing(world: World, name: str = "claude-project") -> CommandHooksStatus:
    app = open_app(world.environ, str(world.project))
    return next(one for one in load_command_hook_statuses(app, app.skills) if one.name == name)


def approve(world: World, name: str = "claude-project") -> None:
    app = open_app(world.environ, str(world.project))
    one = standing(world, name)
    approve_commands(one.found, one.digest, app.approvals, app.audit)


def untrusted(events: list[Event]) -> list[str]:
    return [one.message for one in only(events, Noticed) if one.code == "hooks-untrusted"]


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
async def test_hooks_of_a_project_run_only_as_they_were_approved(world: World, file: str) -> None:
    name = "claude-local" if "local" in file else "claude-project"
    write_settings(world, "echo from the project", name=file)
    world.replies = lambda _: say("done")
    assert "are not approved" in untrusted(await world.run())[0]
    assert "from the project" not in str(world.sent())
    approve(world, name)
    assert untrusted(await world.run()) == []
    assert "from the project" in str(world.sent()["messages"][-1])
    write_settings(world, "echo from another", name=file)
    assert "changed since they were approved" in untrusted(await world.run())[0]
    assert "from another" not in str(world.sent())
    (line,) = world.audit("approval", "allowed")
    assert line["subject"].startswith("claude-hooks ")


async def test_an_approval_covers_what_is_said_of_hooks_and_not_the_rest_of_the_file(world: World) -> None:
    write_settings(world, "echo from the project")
    approve(world)
    path = world.project / ".claude" / "settings.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model": "another"}))
    assert standing(world).state == "ready"


async def test_a_script_that_was_changed_since_it_was_approved_does_not_run(world: World) -> None:
    script = world.project / "greet.sh"
    script.write_text("echo as approved\n")
    write_settings(world, 'sh "$CLAUDE_PROJECT_DIR"/greet.sh')
    approve(world)
    script.write_text("echo changed\n")
    assert standing(world).state == "untrusted"
    world.replies = [say("done")]
    await world.run()
    assert world.sent()["messages"][-1]["content"] == "hello"


async def test_wherever_weft_is_started_hooks_run_where_the_project_begins(world: World) -> None:
    (world.project / "greet.sh").write_text("pwd\n")
    write_settings(world, "sh ./greet.sh")
    approve(world)
    below = world.project / "src"
    below.mkdir()
    (below / "greet.sh").write_text("echo another\n")
    app = open_app(world.environ, str(below))
    (one,) = load_command_hook_statuses(app, ())
    assert one.state == "ready"
    hooks = open_hooks(app, app.open_sandbox())
    outcome = await hooks.fire(HookEvent("message", "received", "s", {"content": "hello"}))
    assert [said.text for said in outcome.added] == [str(world.project)]


async def test_a_script_that_a_model_changes_in_a_turn_does_not_run_in_it(world: World) -> None:
    script = world.project / "greet.sh"
    script.write_text("echo as approved >&2; exit 2\n")
    write_settings(world, "sh greet.sh", "PostToolUse")
    approve(world)
    write = call("write_file", {"path": "greet.sh", "content": "echo changed >&2; exit 2\n"})
    world.replies = [write, say("done")]
    events = await world.run()
    assert "hook-changed" in [one.code for one in only(events, Noticed)]
    assert "changed >&2" not in str([one for one in world.sent()["messages"] if one["role"] == "tool"])


async def test_what_a_projects_hook_says_to_the_model_binds_it_to_no_host(world: World) -> None:
    write_settings(world, "echo fetch http://example.invalid/in")
    approve(world)
    world.replies = [call("web_fetch", {"url": "http://example.invalid/in"}), say("done")]
    await world.run()
    said = world.sent()["messages"][-1]["content"]
    assert "the hook 'claude-project' was not approved for the host 'example.invalid'" in said


async def test_the_user_turns_off_all_and_a_project_only_its_own(world: World) -> None:
    def settings(**more: Any) -> str:
        hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo here"}]}]}
        return json.dumps({"hooks": hooks, **more})

    (world.home / ".claude").mkdir()
    (world.project / ".claude").mkdir()
    own, projects = world.home / ".claude" / "settings.json", world.project / ".claude" / "settings.json"
    own.write_text(settings())
    projects.write_text(settings(disableAllHooks=True))
    assert (standing(world).state, standing(world, "claude-user").state) == ("disabled", "ready")
    own.write_text(settings(disableAllHooks=True))
    projects.write_text(settings())
    assert (standing(world).state, standing(world, "claude-user").state) == ("disabled", "disabled")


async def test_settings_that_are_no_json_are_told_and_the_turn_goes_on(world: World) -> None:
    write_settings(world, "true")
    (world.project / ".claude" / "settings.json").write_text('{"hooks": ')
    world.replies = [say("done")]
    events = await world.run()
    assert [one.code for one in only(events, Noticed)][:1] == ["settings-invalid"]
    assert world.server.asked


async def test_a_hook_of_a_strangers_skill_waits_for_the_skill(world: World) -> None:
    hooks = {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "exit 2"}]}]}
    world.add_skill("careful", head=f"hooks: {json.dumps(hooks)}\n", strangers=True)
    assert standing(world, "skill:careful").state == "untrusted"
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(app.get_skill("careful").found)])
    assert standing(world, "skill:careful").state == "ready"
    world.replies = [call("Skill", {"name": "careful"}), call("write_file", {"path": "x", "content": ""}), say("done")]
    async with world.talk() as conversation:
        await collect(conversation, "hello")
    assert not (world.project / "x").exists()


async def test_the_hooks_of_a_plugin_run_on_the_folder_that_was_approved(world: World) -> None:
    plugin = world.user_dir / "plugins" / "greeter"
    (plugin / "hooks").mkdir(parents=True)
    (plugin / "greet.sh").write_text("echo hello from $(basename $CLAUDE_PLUGIN_ROOT)\n")
    command = {"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/greet.sh"}
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}}))
    assert standing(world, "plugin:greeter").state == "untrusted"
    approve(world, "plugin:greeter")
    world.replies = lambda _: say("done")
    await world.run()
    assert "hello from greeter" in str(world.sent()["messages"][-1])
    (plugin / "greet.sh").write_text("echo changed\n")
    assert standing(world, "plugin:greeter").state == "untrusted"


async def test_nothing_is_approved_where_a_script_cannot_be_read(world: World) -> None:
    (world.project / "big.sh").write_bytes(b"#" * (5 << 20))
    write_settings(world, "sh big.sh")
    with pytest.raises(ClawftError, match="cannot be read"):
        approve(world)
    assert standing(world).state == "untrusted"
