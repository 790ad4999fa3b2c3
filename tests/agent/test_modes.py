"""Modes and lasting rules: what is done, asked and refused, with what came of it on disk and in the audit log."""

from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from clawft.app.app import open_app
from clawft.messages import Noticed, ToolFinished
from clawft.trust.modes import Mode
from wire import call, say
from world import ASKING, Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio


async def use(world: World, person: Person, *calls: tuple[str, dict[str, Any]]) -> list[ToolFinished]:
    """A turn in which a model makes these calls; how each ended."""
    world.replies = [*(call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)), say("done")]
    return only(await world.run(approve=person), ToolFinished)


MODES: list[tuple[Mode, str, str, str]] = [
    # mode, what a write, a command off the list and a memory come to
    (Mode.PLAN, "refused", "refused", "refused"),
    (Mode.ASK, "asked", "asked", "asked"),
    (Mode.AUTO_EDIT, "done", "done", "done"),
    (Mode.FULL, "done", "done", "done"),
]


@pytest.mark.parametrize(("mode", "write", "command", "memory"), MODES)
async def test_modes(world: World, mode: Mode, write: str, command: str, memory: str) -> None:
    person = Person("no")
    world.replies = [
        call("write_file", {"path": "made", "content": "x"}, "a"),
        call("exec_shell", {"command": "touch touched"}, "b"),
        call("memory_write", {"key": "k", "content": "v"}, "c"),
        call("read_file", {"path": "there"}, "d"),
        call("exec_shell", {"command": "cat there"}, "e"),
        say("done"),
    ]
    (world.project / "there").write_text("x\n")
    async with world.talk(approve=person) as conversation:
        conversation.set_mode(mode, "a test")
        ended = only(await collect(conversation, "go"), ToolFinished)

    asked = [one.tool for one in person.asked]
    names = ("write_file", "exec_shell", "memory_write")
    came = [
        "done" if one.status == "success" else "asked" if name in asked else "refused"
        for name, one in zip(names, ended, strict=False)
    ]
    assert came == [write, command, memory]
    assert (world.project / "made").exists() is (write == "done")
    assert (world.project / "touched").exists() is (command == "done")
    assert [one.status for one in ended[3:]] == ["success", "success"]
    if mode is Mode.PLAN:
        assert all("mode plan" in error_of(one) for one in (ended[0], ended[2]))
        assert "Read-only file system" in ended[1].result["text"]
    (line,) = world.audit("mode")
    assert (line["subject"], line["detail"]) == (mode, {"from": "auto-edit", "by": "a test"})


async def test_in_plan_a_command_changes_nothing_but_its_own_tmp_whatever_the_policy(world: World) -> None:
    world.config = '[tools.exec]\nmode = "disabled"\nalso_allowed = ["touch"]\n'
    world.replies = [call("exec_shell", {"command": "touch /tmp/own && echo own; touch touched"}), say("done")]
    async with world.talk(approve=Person()) as conversation:
        conversation.set_mode(Mode.PLAN, "a test")
        (ended,) = only(await collect(conversation, "go"), ToolFinished)
    assert ended.result["text"].startswith("own\n")
    assert ended.result["data"]["exit_code"] == 1
    assert not (world.project / "touched").exists()
    assert "The session is in mode plan: you may only look." in world.sent(0)["messages"][0]["content"]


async def test_full_asks_nothing_but_keeps_rules_and_policies(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Bash(touch:*)"]\nask = ["Bash(mkdir:*)"]\n'
    person = Person("no")
    world.replies = [
        call("exec_shell", {"command": "touch pwned"}, "a"),
        call("exec_shell", {"command": "echo $(touch pwned)"}, "b"),
        call("exec_shell", {"command": "mkdir made"}, "c"),
        call("exec_shell", {"command": "touch pwned", "outside_sandbox": True}, "d"),
        call("exec_shell", {"command": "mkdir outside", "outside_sandbox": True}, "e"),
        say("done"),
    ]
    async with world.talk(approve=person) as conversation:
        conversation.set_mode(Mode.FULL, "a test")
        ended = only(await collect(conversation, "go"), ToolFinished)
    assert [one.status for one in ended] == ["error", "error", "success", "error", "error"]
    assert "rule deny Bash(touch:*) in [permissions]" in error_of(ended[0])
    assert [(one.dangerous, "outside" in one.question) for one in person.asked] == [(True, True)]
    assert not (world.project / "pwned").exists()
    assert not (world.project / "outside").exists()


async def test_a_yes_for_one_host_is_no_yes_for_where_it_leads(world: World, site: ThreadingHTTPServer) -> None:
    port = site.server_port
    world.config = (
        "[tools.web]\nblock_private_ips = false\n"
        f'[permissions]\nallow = ["WebFetch(domain:127.0.0.1:{port})"]\nask = ["WebFetch(domain:localhost:{port})"]\n'
    )
    person = Person("no")
    plain, leads = await use(
        world,
        person,
        ("web_fetch", {"url": f"http://127.0.0.1:{port}/plain"}),
        ("web_fetch", {"url": f"http://127.0.0.1:{port}/go"}),
    )
    assert "hello" in plain.result["text"]
    assert "A redirect to 'localhost' was not followed" in error_of(leads)
    assert [one.question for one in person.asked] == [
        f"Follow a redirect from 127.0.0.1:{port} to http://localhost:{port}/there"
    ]


async def test_an_allow_rule_answers_what_would_be_asked(world: World) -> None:
    world.environ |= ASKING
    world.config = '[permissions]\nallow = ["Bash(touch:*)"]\n'
    person = Person("no")
    ended = await use(
        world,
        person,
        ("exec_shell", {"command": "touch one"}),
        ("exec_shell", {"command": "touch two && mkdir three"}),
        ("exec_shell", {"command": "touch $(echo four)"}),
        ("exec_shell", {"command": "touch $(mkdir five)"}),
    )
    assert [one.status for one in ended] == ["success", "error", "success", "error"]
    assert [one.question for one in person.asked] == [
        "Run: touch two && mkdir three",
        "Run: touch $(mkdir five)",
    ]
    assert sorted(one.name for one in world.project.iterdir() if not one.name.startswith(".")) == ["four", "one"]
    allowed = next(line for line in world.audit("approval") if line["decision"] == "allowed")
    assert allowed["detail"]["by"] == "rule allow Bash(touch:*) in [permissions]"


async def test_deny_beats_ask_and_ask_beats_allow(world: World) -> None:
    world.config = (
        '[permissions]\nallow = ["Bash", "Edit(**)"]\nask = ["Bash(touch:*)"]\ndeny = ["Bash(touch secret*)"]\n'
    )
    person = Person("once")
    ended = await use(
        world,
        person,
        ("exec_shell", {"command": "touch secret.txt"}),
        ("exec_shell", {"command": "touch plain"}),
        ("exec_shell", {"command": "mkdir folder"}),
    )
    assert [one.status for one in ended] == ["error", "success", "success"]
    assert [one.question for one in person.asked] == ["Run: touch plain"]


async def test_a_denied_path_is_read_by_no_tool(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Read(vault/**)"]\n'
    (world.project / "vault").mkdir()
    (world.project / "vault" / "key").write_text("the secret\n")
    (world.project / "link").symlink_to("vault/key")
    ended = await use(
        world,
        Person(),
        ("read_file", {"path": "vault/key"}),
        ("read_file", {"path": "link"}),
        ("grep", {"pattern": "secret"}),
        ("glob", {"pattern": "**/*"}),
        ("exec_shell", {"command": "cat vault/key"}),
        ("exec_shell", {"command": "sort < link"}),
    )
    assert "the secret" not in str([one.result for one in ended])
    assert "vault/key" not in ended[3].result["text"]
    assert len(world.audit("denial")) >= 4


async def test_a_projects_rules_and_mode_only_take_away(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Bash(touch:*)"]\n'
    config = world.project / ".clawft" / "config.toml"
    config.write_text('[agents.defaults]\nmode = "full"\n[permissions]\nallow = ["Bash(touch:*)"]\ndeny = ["Write"]\n')
    open_app(world.environ, str(world.project)).approve_config()
    person = Person("no")
    async with world.talk(approve=person) as conversation:
        assert conversation.mode is Mode.AUTO_EDIT
    world.replies = lambda asked: say("x")
    told = [one for one in only(await world.run(), Noticed) if one.code == "mode-ignored"]
    assert [one.hint for one in told] == ["To choose it: --mode full"]
    ended = await use(
        world, person, ("exec_shell", {"command": "touch x"}), ("write_file", {"path": "y", "content": ""})
    )
    assert [one.status for one in ended] == ["error", "error"]
    config.write_text('[agents.defaults]\nmode = "plan"\n')
    open_app(world.environ, str(world.project)).approve_config()
    async with world.talk(approve=person) as conversation:
        assert conversation.mode is Mode.PLAN
    world.environ["CLAWFT_AGENTS__DEFAULTS__MODE"] = "ask"  # a variable is the person's own
    async with world.talk(approve=person) as conversation:
        assert conversation.mode is Mode.ASK


async def test_an_agent_may_lower_the_mode_and_not_raise_it(world: World) -> None:
    agents = world.user_dir / "agents"
    agents.mkdir()
    for name, mode in (("looker", "plan"), ("bold", "bypassPermissions")):
        (agents / f"{name}.md").write_text(f"---\ndescription: D\npermissionMode: {mode}\n---\nWork.\n")
    async with world.talk(agent="looker") as conversation:
        conversation.set_mode(Mode.FULL, "a test")
        assert conversation.effective_mode is Mode.PLAN
    async with world.talk(agent="bold") as conversation:
        assert conversation.effective_mode is Mode.AUTO_EDIT


async def test_a_flag_says_yes_but_not_to_what_is_grave(world: World) -> None:
    world.environ |= ASKING
    person = Person("flag")
    ended = await use(world, person, ("exec_shell", {"command": "touch made"}))
    assert ended[0].status == "success"
    (line,) = world.audit("approval")
    assert line["detail"]["by"] == "--yes"


async def test_a_rule_that_is_not_understood_is_said_and_denies_the_whole_tool(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Write([a-z]/**)"]\n'
    world.replies = [call("write_file", {"path": "made", "content": "x"}), say("done")]
    events = await world.run()
    assert "tool-pattern" in [one.code for one in only(events, Noticed)]
    assert "rule deny Write([a-z]/**) in [permissions]" in error_of(only(events, ToolFinished)[0])
    assert not (world.project / "made").exists()
