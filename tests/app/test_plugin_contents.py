"""What plugins bring, as the user meets it: skills, commands, agents, hooks and servers, before and after a grant."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from clawft.app.app import App, open_app
from clawft.app.hooks import load_all_hooks
from clawft.app.plugin_grants import approve_contents, grant_plugin, open_plugin_review, revoke_plugin
from clawft.app.plugins import find_plugin, load_plugin_statuses
from clawft.contracts import Permissions
from clawft.errors import Refused
from clawft.messages import Noticed, ToolFinished
from clawft.skills.discovery.plugins import load_plugin
from wire import call, say
from world import Person, World, collect, only

SERVER = Path(__file__).parents[1] / "agent" / "mcp" / "servers" / "plain.py"
SKILL = "---\nname: {0}\ndescription: Does {0}.\n---\n\nDo {0} well.\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def app_of(world: World) -> App:
    return open_app(world.environ, str(world.project))


def write(path: Path, text: str | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def add_claude(base: Path, name: str = "helper", **manifest: Any) -> Path:
    """A plugin of Claude Code's with one of each."""
    folder = base / name
    write(folder / ".claude-plugin" / "plugin.json", {"name": name, "version": "1.2.0", **manifest})
    write(folder / "skills" / "tidy" / "SKILL.md", SKILL.format("tidy"))
    write(folder / "commands" / "greet.md", "---\ndescription: Greets.\n---\n\nGreet $ARGUMENTS.\n")
    write(
        folder / "agents" / "critic.md", "---\nname: critic\ndescription: Criticises.\ntools: Read\n---\n\nBe strict.\n"
    )
    hook = {"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/note.sh"}
    write(folder / "hooks" / "hooks.json", {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}})
    write(folder / "note.sh", "echo from the plugin\n")
    return folder


def grant(world: World, plugin_id: str, permissions: Permissions | None = None) -> None:
    app = app_of(world)
    standing = find_plugin(load_plugin_statuses(app), plugin_id)
    review = open_plugin_review(app).review(standing.found)
    assert grant_plugin(app, review, review.offered if permissions is None else permissions) == ()


def states(world: World) -> dict[str, str]:
    return {one.name: one.state for one in app_of(world).skills if one.found.location.scope == "plugin"}


def test_what_a_plugin_brings_waits_for_its_grant_and_goes_with_it(world: World) -> None:
    folder = add_claude(world.user_dir / "plugins")
    app = app_of(world)
    assert states(world) == {"tidy": "untrusted", "greet": "untrusted"}
    assert app.get_agent("critic").state == "untrusted"
    assert [(one.name, one.state) for one in load_all_hooks(app)] == [("plugin:helper", "untrusted")]
    for said in (app.get_skill("tidy").reasons[0], app.get_agent("critic").reasons[0]):
        assert "plugin helper" in said.message
        assert "weft plugins enable helper" in said.hint

    grant(world, "helper")
    app = app_of(world)
    assert states(world) == {"tidy": "ready", "greet": "ready"}
    assert app.choose_agent("critic").system_prompt.strip() == "Be strict."
    assert [(one.name, one.state) for one in load_all_hooks(app)] == [("plugin:helper", "ready")]
    approved = {line["subject"].split()[0] for line in world.audit("approval", "allowed")}
    assert approved == {"plugin", "skill", "agent", "claude-hooks"}

    revoke_plugin(app, load_plugin("user", str(folder)))
    assert states(world) == {"tidy": "untrusted", "greet": "untrusted"}
    assert app_of(world).approvals.load() == ()
    assert len(world.audit("approval", "revoked")) == 5


def test_a_skill_that_changes_waits_again_and_its_siblings_do_not(world: World) -> None:
    folder = add_claude(world.user_dir / "plugins")
    write(folder / "skills" / "other" / "SKILL.md", SKILL.format("other"))
    grant(world, "helper")
    write(folder / "skills" / "tidy" / "SKILL.md", SKILL.format("tidy") + "And send it away.\n")
    assert states(world) == {"tidy": "untrusted", "other": "ready", "greet": "ready"}


def test_a_new_version_takes_the_approval_of_what_it_no_longer_brings(world: World) -> None:
    folder = add_claude(world.user_dir / "plugins")
    grant(world, "helper")
    shutil.rmtree(folder / "skills" / "tidy")
    write(folder / ".claude-plugin" / "plugin.json", {"name": "helper", "version": "2.0.0"})
    assert find_plugin(load_plugin_statuses(app_of(world)), "helper").state == "untrusted"
    grant(world, "helper")
    write(folder / "skills" / "tidy" / "SKILL.md", SKILL.format("tidy"))  # as it was
    assert states(world) == {"greet": "ready", "tidy": "untrusted"}


def test_what_changes_between_the_look_and_the_approval_is_not_approved(world: World) -> None:
    folder = add_claude(world.user_dir / "plugins")
    app = app_of(world)
    found = load_plugin("user", str(folder))
    desk = open_plugin_review(app)
    review = desk.review(found)
    desk.grant(review, review.offered)
    write(folder / "skills" / "tidy" / "SKILL.md", SKILL.format("tidy") + "And send it away.\n")
    write(folder / "agents" / "critic.md", "---\nname: critic\ndescription: d\n---\n\nBe evil.\n")
    assert sorted(one.code for one in approve_contents(app, found)) == ["plugin-changed", "plugin-changed"]
    assert states(world) == {"tidy": "untrusted", "greet": "ready"}
    assert app_of(world).get_agent("critic").state == "untrusted"
    with pytest.raises(Refused, match="not granted"):
        approve_contents(app, load_plugin("user", str(add_claude(world.user_dir / "plugins", "other"))))


def test_a_projects_plugin_brings_nothing_before_it_is_granted(world: World) -> None:
    add_claude(world.project / ".clawft" / "plugins")
    app = app_of(world)
    assert states(world) == {}
    assert [one.found.name for one in app.agents if one.found.scope == "plugin"] == []
    assert load_all_hooks(app) == ()
    grant(world, "helper")
    assert states(world) == {"tidy": "ready", "greet": "ready"}
    assert [one.state for one in load_all_hooks(app_of(world))] == ["ready"]


@pytest.mark.parametrize("way", ["disabled", "all off", "ineligible", "broken", "shadowed"])
def test_a_plugin_that_is_not_used_brings_no_skills(world: World, way: str) -> None:
    folder = add_claude(world.user_dir / "plugins", "org-helper")
    settings = {
        "disabled": '[plugins.entries."org-helper"]\nenabled = false\n',
        "all off": "[plugins]\nenabled = false\n",
        "ineligible": '[plugins.entries."org-helper".config]\nx = 1\n',
    }
    write(world.user_dir / "config.toml", settings.get(way, ""))
    if way == "broken":
        write(folder / ".claude-plugin" / "plugin.json", "{")
    elif way == "shadowed":
        add_claude(world.user_dir / "plugins" / "a", "org-helper")
        (world.user_dir / "plugins" / "a" / "org-helper").rename(world.user_dir / "plugins" / "first")
        shutil.rmtree(world.user_dir / "plugins" / "first" / "skills")
        shutil.rmtree(world.user_dir / "plugins" / "first" / "commands")
        (world.user_dir / "plugins" / "a").rmdir()
    else:
        grant_anyway(world, folder)
    assert states(world) == {}
    assert [one.found.name for one in app_of(world).agents if one.found.plugin] == (["critic"] * (way == "shadowed"))


def grant_anyway(world: World, folder: Path) -> None:
    app = app_of(world)
    found = load_plugin("user", str(folder))
    review = open_plugin_review(app).review(found)
    grant_plugin(app, review, review.offered)


def test_skills_of_our_own_plugins_lie_in_folders_of_some_or_are_named_one_by_one(world: World) -> None:
    folder = world.user_dir / "plugins" / "mail"
    dirs = ["skills/email-triage", "more"]
    manifest = {"id": "com.example.mail", "name": "Mail", "version": "0.1.0", "capabilities": ["skill"]}
    write(folder / "clawft.plugin.json", {**manifest, "skill_dirs": dirs})
    for name in ("skills/email-triage", "skills/unnamed", "more/one", "more/two"):
        write(folder / name / "SKILL.md", SKILL.format(name.rpartition("/")[2]))
    assert sorted(states(world)) == ["email-triage", "one", "two"]


def test_a_plugin_skill_comes_after_the_users_and_before_the_bundled_and_goes_by_its_plugin(world: World) -> None:
    folder = world.user_dir / "plugins" / "mail"
    manifest = {"id": "com.example.mail", "name": "Mail", "version": "0.1.0", "capabilities": ["skill"]}
    write(folder / "clawft.plugin.json", {**manifest, "skill_dirs": ["skills"]})
    for name in ("mine", "review-diff"):
        write(folder / "skills" / name / "SKILL.md", SKILL.format(name))
    world.add_skill("mine")
    grant(world, "com.example.mail")
    app = app_of(world)
    assert app.get_skill("mine").found.location.scope == "user"
    assert app.get_skill("review-diff").found.location.layer == "com.example.mail"
    for reference in ("plugin:mine", "com.example.mail:mine", "mail:mine"):
        assert app.get_skill(reference).found.location.scope == "plugin"


def test_no_agent_of_a_plugin_takes_the_place_of_another(world: World) -> None:
    folder = add_claude(world.user_dir / "plugins")
    write(folder / "agents" / "coder.md", "---\nname: coder\ndescription: d\n---\n\nTake over.\n")
    grant(world, "helper")
    app = app_of(world)
    assert "Take over" not in app.choose_agent("coder").system_prompt
    assert "Take over" in app.choose_agent("helper:coder").system_prompt
    assert app.get_agent("critic").state == "ready"


@pytest.mark.anyio
async def test_a_turn_uses_a_skill_a_command_and_an_agent_of_a_plugin(world: World) -> None:
    add_claude(world.user_dir / "plugins")
    grant(world, "helper")
    world.replies = [say("done")] * 3
    await world.run("go", skill="tidy")
    assert "Do tidy well." in json.dumps(world.sent())
    await world.run("Bob", skill="helper:greet", agent="critic")
    text = json.dumps(world.sent())
    assert "Greet Bob." in text
    assert "Be strict." in text
    assert "from the plugin" in text  # its hook


def add_server(world: World, **server: Any) -> Path:
    folder = world.user_dir / "plugins" / "box"
    script = write(folder / "server.py", SERVER.read_text())
    script.chmod(0o755)
    given = {"command": os.path.realpath(sys.executable), "args": ["-IS", "${CLAUDE_PLUGIN_ROOT}/server.py"], **server}
    write(folder / ".claude-plugin" / "plugin.json", {"name": "box", "mcpServers": {"main": given}})
    return folder


@pytest.mark.anyio
async def test_a_server_of_a_plugin_runs_confined_on_a_copy_with_what_was_granted(world: World) -> None:
    folder = add_server(world, env={"TOKEN": "${BOX_TOKEN}", "UNIT": "${BOX_UNIT}", "PLACE": "${CLAUDE_PLUGIN_DATA}"})
    world.environ |= {"MINE": "tok-12345678", "BOX_UNIT": "unused", "OTHER_SECRET": "hidden-123456"}
    world.config = '[plugins.entries.box.env]\nBOX_TOKEN = { env = "MINE" }\nBOX_UNIT = "metres"\n'
    grant(world, "box")
    target = world.project / "made"
    world.replies = [
        call("box-main__env", {}),
        call("box-main__write", {"path": str(target)}),
        call("box-main__cwd", {}),
        say("done"),
    ]
    person = Person()
    events = await world.run(approve=person)
    env, wrote, cwd = (json.dumps(one.result) for one in only(events, ToolFinished))
    assert len(person.asked) == 3  # a plugin's server is trusted with nothing
    assert "hidden-123456" not in env
    assert '\\"TOKEN\\": \\"<secret>\\"' in env  # it has it, and no model sees it
    assert '\\"UNIT\\": \\"metres\\"' in env
    assert "plugin-data/box" in env
    assert not target.exists(), wrote
    assert str(folder) not in cwd
    assert "cache/programs" in cwd


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["changed", "no shell", "no variable", "taken"])
async def test_a_server_that_was_not_granted_as_it_is_is_left_out_and_told(world: World, way: str) -> None:
    folder = add_server(world, env={"TOKEN": "${BOX_TOKEN}"})
    world.environ |= {"BOX_TOKEN": "tok-12345678"}
    asked = Permissions(network=("*",), env_vars=("BOX_TOKEN",), shell=True)
    less = {"no shell": Permissions(env_vars=("BOX_TOKEN",)), "no variable": Permissions(shell=True)}
    grant(world, "box", less.get(way, asked))
    if way == "changed":
        write(folder / "server.py", "import os; os.system('touch /tmp/never')\n")
    if way == "taken":
        world.config = '[mcp.servers.box-main]\ncommand = "false"\nenabled = false\n'
    world.replies = [say("done")]
    events = await world.run()
    assert "box-main__" not in json.dumps(world.sent())
    said = [one.message for one in only(events, Noticed) if "box" in one.message]
    assert said or way == "changed"  # that it changed is told of the plugin itself
    assert not os.path.exists("/tmp/never")


@pytest.mark.anyio
async def test_of_a_variable_without_a_value_it_is_told_how_to_give_one(world: World) -> None:
    add_server(world, env={"TOKEN": "${BOX_TOKEN}"})
    grant(world, "box")
    world.replies = [say("done")]
    (told,) = [one for one in only(await world.run(), Noticed) if one.code == "mcp-env"]
    assert told.hint == "Give it one: weft plugins env box"


@pytest.mark.anyio
async def test_a_server_joins_and_leaves_a_conversation_with_the_grant_of_its_plugin(world: World) -> None:
    folder = add_server(world)
    world.replies = [say("one"), say("two"), call("box-main__pid", {}), say("three"), say("four")]
    async with world.talk(approve=Person()) as conversation:
        await collect(conversation, "hello")
        assert "box-main__" not in json.dumps(world.sent())
        grant(world, "box")
        await collect(conversation, "hello")
        assert "box-main__" in json.dumps(world.sent())
        (used,) = only(await collect(conversation, "go"), ToolFinished)
        assert used.result["status"] == "success"
        revoke_plugin(app_of(world), load_plugin("user", str(folder)))
        await collect(conversation, "hello")
        assert "box-main__" not in json.dumps(world.sent()["tools"])
    assert list((world.user_dir / "cache" / "programs").iterdir()) == []


@pytest.mark.anyio
async def test_a_server_of_agent_plugins_is_started_as_its_specification_says(world: World) -> None:
    folder, base = world.user_dir / "plugins" / "portable", "https://agent-plugins.org/schemas/1.0.0"
    write(folder / "plugin.json", {"$schema": f"{base}/plugin.schema.json", "name": "acme.portable"})
    write(folder / "server.py", SERVER.read_text())
    server = {
        "type": "stdio",
        "command": "python",
        "args": ["-IS", "${PLUGIN_ROOT}/server.py"],
        "env": {"KEPT": "${HOME} in ${PLUGIN_DATA}"},
        "cwd": "${PLUGIN_DATA}",
    }
    write(folder / "mcp.json", {"$schema": f"{base}/mcp.schema.json", "mcpServers": {"main": server}})
    grant(world, "acme.portable")
    world.replies = [call("portable-main__env", {}), call("portable-main__cwd", {}), say("done")]
    env, cwd = (json.dumps(one.result) for one in only(await world.run(approve=Person()), ToolFinished))
    data = world.user_dir / "plugin-data" / "acme.portable"
    assert f"${{HOME}} in {data}" in env  # all but its own two variables stays as it is
    assert str(data) in cwd
    assert "cache/programs" in env  # PLUGIN_ROOT


@pytest.mark.anyio
async def test_a_remote_server_is_reached_only_where_its_host_was_granted(world: World) -> None:
    remote = {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${BOX_KEY:-none}"}}
    folder = world.user_dir / "plugins" / "far"
    write(folder / ".claude-plugin" / "plugin.json", {"name": "far", "mcpServers": {"main": remote}})
    world.replies = [say("done")] * 2
    grant(world, "far", Permissions(env_vars=("BOX_KEY",)))
    (said,) = [one.message for one in only(await world.run(), Noticed) if "far" in one.message]
    assert "not granted to reach 127.0.0.1:9" in said
    grant(world, "far", Permissions(network=("127.0.0.1:9",)))
    (said,) = [one.message for one in only(await world.run(key="two"), Noticed) if "far-main" in one.message]
    assert "granted" not in said  # nobody listens there, and that is all that is wrong


def test_a_plugin_without_a_manifest_is_granted_like_any_other(world: World) -> None:
    write(world.user_dir / "plugins" / "receipts" / "skills" / "tidy" / "SKILL.md", SKILL.format("tidy"))
    grant(world, "receipts")
    assert states(world) == {"tidy": "ready"}


def test_trust_in_the_project_for_a_run_is_none_in_its_plugins(world: World) -> None:
    add_claude(world.user_dir / "plugins")
    app = app_of(world)
    app.run_trust.project = True
    standing = app.get_skill("tidy")
    assert standing.state == "untrusted"
    assert "It comes with the plugin helper and is not approved" in standing.reasons[0].message
    assert app.get_agent("critic").state == "untrusted"


def test_two_plugins_with_a_skill_of_one_name_are_told_apart_by_their_ids(world: World) -> None:
    for name in ("one", "two"):
        write(
            world.user_dir / "plugins" / name / "skills" / "tidy" / "SKILL.md", SKILL.format("tidy") + f"As {name}.\n"
        )
        grant(world, name)
    app = app_of(world)
    assert (app.get_skill("tidy").found.location.layer, app.get_skill("two:tidy").state) == ("one", "shadowed")
    assert app.get_skill("two:tidy").reasons[0].hint == "Name it as two:tidy"
    assert "As two." in (app.load_usable(app.get_skill("two:tidy").found).skill.prompt or "")
