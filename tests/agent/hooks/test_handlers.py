"""Hooks in TypeScript as a turn calls them: what each is given, what is written down, and what nobody sees."""

import os

import pytest

from clawft.agent.hooks.handlers import HookLaunch, make_hook_launch
from clawft.app.app import open_app
from clawft.app.hooks import load_hook_statuses
from clawft.errors import ClawftError
from clawft.messages import MessageSent, Noticed
from clawft.skills.discovery.digest import compute_digest
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio

KEY = "sk-hook-0123456789abcdef"


def _job(world: World, name: str = "it") -> HookLaunch:
    """What would be started for a hook. Raises: ClawftError."""
    (world.user_dir / "config.toml").write_text(world.config)
    app = open_app(world.environ, str(world.project))
    (standing,) = [one for one in load_hook_statuses(app, []) if one.name == name]
    return make_hook_launch(standing, app.own_config.hooks, app.workspace, app.environ)


async def test_every_call_of_a_hook_is_written_down_before_it_is_made(world: World) -> None:
    folder = world.add_hook("it", "agent:bootstrap", "event.messages.push('heard');")
    world.replies = [say("done")]
    (told,) = only(await world.run(), MessageSent)
    assert (told.hook, told.text) == ("it", "heard")
    (line,) = world.audit("hook")
    assert (line["subject"], line["decision"], line["digest"], line["session"]) == ("it", "allowed", "", "test")
    assert line["detail"] == {"event": "agent:bootstrap", "place": str(folder)}


async def test_a_strangers_hook_is_written_down_with_the_digest_that_was_approved(world: World) -> None:
    folder = world.add_hook("it", "agent:bootstrap", "event.messages.push('heard');", strangers=True)
    digest = compute_digest(str(folder)).value
    app = open_app(world.environ, str(world.project))
    (standing,) = load_hook_statuses(app, [])
    app.reviewer.approve([app.reviewer.review_hook(standing.found)])
    world.replies = [say("done")]
    await world.run()
    assert [one["digest"] for one in world.audit("hook")] == [digest]


async def test_a_hook_that_failed_is_written_down_and_told(world: World) -> None:
    world.add_hook("it", "agent:bootstrap", "throw new Error('broken');")
    world.replies = [say("done")]
    (told,) = [one for one in only(await world.run(), Noticed) if one.code == "hook-failed"]
    assert told.message == "The hook 'it' failed at agent:bootstrap: broken (handler.js:3)"
    assert [(one["decision"], one["rule"]) for one in world.audit("hook")] == [
        ("allowed", "one's own"),
        ("failed", "hook-failed"),
    ]


async def test_a_hook_that_is_given_what_cannot_be_given_is_told_by_its_name(world: World) -> None:
    world.add_hook("it", "agent:bootstrap", "")
    world.config = "[hooks.entries.it.permissions]\nnet = ['http://x/y']\n"
    world.replies = [say("done")]
    (told,) = [one for one in only(await world.run(), Noticed) if one.code == "host-invalid"]
    assert told.message == "The hook 'it' cannot run: 'http://x/y' is no host"


@pytest.mark.parametrize("kept", [False, True])
async def test_a_secret_of_a_hook_is_for_the_hook_alone(world: World, kept: bool) -> None:
    world.environ["HOOK_SECRET"] = KEY
    world.config = f"""
[hooks]
persistent = {str(kept).lower()}

[hooks.entries.it]
env = {{ API_KEY = {{ env = "HOOK_SECRET" }}, PLAIN = "plain" }}
"""
    (world.project / "note.txt").write_text("x")
    body = """const key = Deno.env.get("API_KEY");
  if (context.toolName) {
    event.messages.push(`${key} ${Deno.env.get("PLAIN")} ${key.length}`);
    return {block: true, blockReason: `not with ${key}`};
  }
  context.bootstrapFiles.push({path: "KEY.md", content: `The key is ${key}.`, virtual: true});
  throw new Error(`${key} is thrown`);"""
    world.add_hook(
        "it", "agent:bootstrap tool:before", body.replace("throw new", "if (event.sessionKey === '') throw new")
    )
    world.replies = [call("read_file", {"path": "note.txt"}), say("done")]
    events = await world.run()
    told = [one.text for one in only(events, MessageSent) if one.hook]
    assert told == [f"<secret> plain {len(KEY)}"]
    assert "The key is <secret>." in str(world.sent(0))
    assert "not with <secret>" in str(world.sent(1))
    assert KEY not in str(events) + str([one.body for one in world.server.asked])
    used = world.audit("secret", "used")
    assert {(one["subject"], one["rule"], one["detail"]["hook"]) for one in used} == {
        ("API_KEY", "hooks.entries.it", "it")
    }
    assert KEY not in (world.user_dir / "audit.jsonl").read_text()


async def test_a_secret_in_what_a_hook_throws_is_not_told(world: World) -> None:
    world.environ["HOOK_SECRET"] = KEY
    world.config = '[hooks.entries.it]\nenv = { API_KEY = { env = "HOOK_SECRET" } }\n'
    world.add_hook("it", "agent:bootstrap", 'throw new Error("with " + Deno.env.get("API_KEY"));')
    world.replies = [say("done")]
    events = await world.run()
    (told,) = [one for one in only(events, Noticed) if one.code == "hook-failed"]
    assert told.message == "The hook 'it' failed at agent:bootstrap: with <secret> (handler.js:3)"
    assert KEY not in str(events)


@pytest.mark.parametrize(("granted", "decision"), [("127.0.0.1:{}", "allowed"), ("*", "denied")])
async def test_a_host_that_a_hook_reaches_or_may_not_reach_is_written_down(
    world: World, granted: str, decision: str
) -> None:
    world.config = "[tools.web]\nblock_private_ips = false\n"
    world.replies = [say("done")]
    async with world.talk() as conversation:
        port = world.server.url.rpartition(":")[2].partition("/")[0]
        body = f"event.messages.push(`${{(await fetch('http://127.0.0.1:{port}/')).status}}`);"
        world.add_hook("it", "agent:bootstrap", body)
        own = f'[hooks.entries.it.permissions]\nnet = ["{granted.format(port)}"]\n'
        with (world.user_dir / "config.toml").open("a") as config:
            config.write(own)
        await collect(conversation, "hello")
    (line,) = world.audit("url")
    assert (line["subject"], line["decision"], line["detail"]) == (f"127.0.0.1:{port}", decision, {"hook": "it"})


def test_variables_of_the_user_reach_only_their_own_hooks(world: World) -> None:
    world.environ["MINE"] = "1"
    world.config = '[hooks.entries.it.permissions]\nenv = ["MINE", "NOT_SET"]\n'
    world.add_hook("it", "agent:bootstrap", "")
    assert _job(world).grants.env == {"MINE": "1"}


@pytest.mark.parametrize("place", ["~/.clawft", "~/.clawft/hooks", "~/.clawft/keystore", "{it}", "{it}/handler.js"])
def test_the_folder_of_this_program_is_never_granted(world: World, place: str) -> None:
    folder = world.add_hook("it", "agent:bootstrap", "")
    world.config = f'[hooks.entries.it.permissions]\nwrite = ["{place.format(it=folder)}"]\n'
    with pytest.raises(ClawftError) as refused:
        _job(world)
    assert refused.value.code == "hook-permissions"


def test_a_hook_of_ones_own_may_keep_files_in_its_folder(world: World) -> None:
    folder = world.add_hook("it", "agent:bootstrap", "")
    world.config = f'[hooks.entries.it.permissions]\nwrite = ["{folder}/state"]\n'
    assert _job(world).grants.write == (f"{folder}/state",)


def test_the_version_of_a_kept_hook_changes_with_its_files(world: World) -> None:
    folder = world.add_hook("it", "tool:before", "")
    world.config = "[hooks]\npersistent = true\n"
    before = _job(world)
    assert before == _job(world)
    os.utime(folder / "handler.js", (1, 1))
    assert before.version != _job(world).version
    assert before.persistent


def test_nothing_is_looked_up_for_a_hook_that_is_not_kept(world: World) -> None:
    world.add_hook("it", "tool:before", "")
    assert _job(world).version == ""
