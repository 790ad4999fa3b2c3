"""Hooks around tool calls: asked before, told after, and never in the way of a turn."""

import json
from typing import Any

import pytest

from clawft.agent.hooks.events import HookEvent, HookReply
from clawft.agent.hooks.registry import Hooks
from clawft.messages import ApprovalNeeded, Event, MessageSent, Noticed, ToolFinished, TurnFinished
from clawft.trust.modes import Mode
from wire import Reply, call, say
from world import Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio

TELL = "event.messages.push(JSON.stringify(event));"


def heard(events: list[Event]) -> list[dict[str, Any]]:
    """The events that hooks got, as they told them."""
    return [json.loads(one.text) for one in only(events, MessageSent) if one.hook]


async def test_hooks_hear_of_a_call_and_of_what_came_of_it(world: World) -> None:
    (world.project / "note.txt").write_text("forty-two\n")
    world.add_hook("ears", "tool", TELL)
    world.replies = [call("read_file", {"path": "note.txt"}), say("done")]
    before, after = heard(await world.run())
    assert (before["type"], before["action"], before["sessionKey"]) == ("tool", "before", "test")
    told = {"toolName": "read_file", "params": {"path": "note.txt"}, "toolCallId": "call_1"}
    shared = {"workspaceDir": str(world.project), "agentId": "default", "cfg": {}}
    assert before["context"] == shared | told
    took = after["context"].pop("durationMs")
    assert after["action"] == "after"
    assert "forty-two" in after["context"].pop("result")
    assert after["context"] == shared | told | {"isError": False}
    assert took >= 0


async def test_a_hook_refuses_a_call_and_everybody_reads_why(world: World) -> None:
    world.add_hook("no-notes", "tool:before", 'context.block = true; context.blockReason = "notes are private";')
    world.replies = [call("write_file", {"path": "note.txt", "content": "x"}), say("sorry")]
    events = await world.run()
    (finished,) = only(events, ToolFinished)
    assert error_of(finished) == "PERMISSION_DENIED: Not allowed: the hook 'no-notes': notes are private"
    assert not (world.project / "note.txt").exists()
    assert "notes are private" in str(world.sent()["messages"][-1])
    (denial,) = world.audit("denial")
    assert denial["rule"] == "Not allowed: the hook 'no-notes': notes are private"
    assert only(events, TurnFinished)[0].refused == 1


async def test_nobody_is_asked_about_what_a_hook_refuses_and_no_hook_about_what_a_rule_does(world: World) -> None:
    world.config = '[permissions]\ndeny = ["read_file"]\nask = ["write_file"]\n'
    world.add_hook("no", "tool:before", f"{TELL} return {{ block: true }};")
    world.replies = [
        Reply(calls=(("a", "read_file", '{"path": "x"}'), ("b", "write_file", '{"path": "x", "content": ""}'))),
        say("sorry"),
    ]
    person = Person()
    events = await world.run(approve=person)
    assert [one["context"]["toolName"] for one in heard(events)] == ["write_file"]
    assert person.asked == []
    assert [error_of(one).partition(": ")[2][:21] for one in only(events, ToolFinished)][1] == "Not allowed: the hook"


async def test_no_hook_can_allow_what_a_person_is_asked(world: World) -> None:
    world.config = '[permissions]\nask = ["write_file"]\n'
    world.add_hook("yes", "tool:before", 'return { block: false, allow: true, permissionDecision: "allow" };')
    world.replies = [call("write_file", {"path": "x", "content": ""}), say("sorry")]
    events = await world.run(approve=Person("no"))
    assert len(only(events, ApprovalNeeded)) == 1
    assert not (world.project / "x").exists()


async def test_the_hooks_of_calls_run_beside_each_other(world: World) -> None:
    """Each of the four waits for the other three."""
    (world.project / "met").mkdir()
    world.config = "".join(f'[hooks.entries.{name}.permissions]\nwrite = ["met"]\n' for name in ("one", "two"))
    meet = """const folder = context.workspaceDir + "/met";
    Deno.writeTextFileSync(`${folder}/NAME-${context.toolCallId}`, "");
    while ([...Deno.readDirSync(folder)].length < 4) await new Promise((done) => setTimeout(done, 10));"""
    for name in ("one", "two"):
        world.add_hook(name, "tool:before", meet.replace("NAME", name))
    calls = tuple((f"c{n}", "list_directory", '{"path": "."}') for n in range(2))
    world.replies = [Reply(calls=calls), say("done")]
    events = await world.run()
    assert [one.code for one in only(events, Noticed) if one.code.startswith("hook")] == []
    assert len(list((world.project / "met").iterdir())) == 4


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('throw new Error("oh dear");', "hook-failed"),
        ("while (true) {}", "hook-timeout"),
        ("Deno.exit(0);", "hook-ended"),
        ("context.block = 17;", "hook-result"),
        ('console.log("x".repeat(2000000));', "hook-flooded"),
    ],
)
async def test_a_hook_that_fails_is_told_and_the_call_is_made(world: World, body: str, code: str) -> None:
    world.config = "[hooks]\ntimeout_s = 0.7\n" if code == "hook-timeout" else ""
    world.add_hook("bad", "tool:before", body)
    world.replies = [call("write_file", {"path": "x", "content": "done"}), say("done")]
    events = await world.run()
    assert [one.code for one in only(events, Noticed) if one.code.startswith("hook")] == [code]
    assert (world.project / "x").read_text() == "done"


async def test_a_hook_that_is_set_to_refuse_when_it_fails_does(world: World) -> None:
    world.config = '[hooks.entries.guard]\non_failure = "deny"\n'
    world.add_hook("guard", "tool message", 'throw new Error("oh dear");')
    world.replies = [call("write_file", {"path": "x", "content": "done"}), say("done")]
    events = await world.run()
    assert error_of(only(events, ToolFinished)[0]).startswith(
        "PERMISSION_DENIED: Not allowed: the hook 'guard': it failed"
    )
    assert not (world.project / "x").exists()


class Asking:
    """A handler of another kind than Deno's: it wants the person asked."""

    name = "careful"
    events = frozenset({"tool:before"})
    strict = False
    hosts = None

    def matches_event(self, event: HookEvent) -> bool:
        return True

    async def call(self, event: HookEvent) -> HookReply:
        return HookReply(asks="look twice")


@pytest.mark.parametrize("mode", [Mode.AUTO_EDIT, Mode.FULL])
@pytest.mark.parametrize(
    ("tool", "arguments"), [("write_file", {"path": "x", "content": ""}), ("exec_shell", {"command": "echo hi > x"})]
)
async def test_a_hook_has_the_person_asked_about_what_would_be_done_unasked(
    world: World, tool: str, arguments: dict[str, str], mode: Mode
) -> None:
    world.replies = [call(tool, arguments), say("sorry")]
    person = Person("no")
    async with world.talk(approve=person) as conversation:
        conversation.set_mode(mode, "test")
        conversation.runtime.hooks = Hooks(lambda _: ((Asking(),), ()))
        events = await collect(conversation, "go")
    assert len(person.asked) == 1
    assert "PERMISSION_DENIED" in error_of(only(events, ToolFinished)[0])
    assert "the hook 'careful': look twice" in person.asked[0].reason
    assert not (world.project / "x").exists()
