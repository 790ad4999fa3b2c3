"""`weft gateway` as a user has it: the real command, a plugin in its sandbox, and another side on loopback."""

import json
import signal
from pathlib import Path

from chaos import until
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from gateway_remote import Remote
from gateway_world import GatewayWorld
from world import World

COMMAND = {"name": "exec_shell", "arguments": {"command": "touch made"}}
STEPS = (
    {"expect": "^make", "tool_calls": [COMMAND]},
    {"expect": "^make", "text": "It is made."},
    {"expect": "^fail", "error": {"code": "provider-failed", "message": "http://10.0.0.1 said no"}},
    {"expect": "^hello", "text": "re: {asked}"},
)
TELL = "if (event.type === 'message') event.messages.push(JSON.stringify([event.action, context]));"


def test_people_elsewhere_are_answered_by_the_gateway(tmp_path: Path) -> None:
    own = World(tmp_path)
    own.add_hook("ears", "message:received message:sent gateway", TELL)
    with (
        Remote() as remote,
        GatewayWorld(tmp_path, remote, steps=STEPS, channel='allow = ["ann", "*@home"]') as world,
    ):
        process = world.start("--format", "json")
        remote.write("hello", "c1", "eve", "m-eve")
        remote.write("hello there", "c1", "ann", "m-ann")
        remote.write("make it", "c2", "bob@home", "m-bob")
        remote.write("fail", "c3", "ann", "m-fail")
        until(lambda: {"m-ann", "m-bob", "m-fail"} <= set(remote.answers()), 30, world.said)
        (waiting,) = remote.answers()["m-bob"]
        assert waiting.text.startswith("This waits for a yes of the agent's owner")
        assert not (world.project / "made").exists()
        runs = open_app_runs(open_app(world.env, str(world.project)))
        try:
            (question,) = runs.store.questions()
            assert f"(weft runs answer {question.run})" in waiting.text
            runs.answer(question, "once")
            until(lambda: len(remote.answers()["m-bob"]) == 2, 30, world.said)
            kinds = {one.request.source.message: one.kind for one in runs.store.list() if one.request.source}
            heard = [event for one in runs.store.list() for *_, event in runs.store.events(one.id) if "ears" in event]
        finally:
            runs.close()
        assert kinds == dict.fromkeys(("m-ann", "m-bob", "m-fail"), "gateway")
        assert remote.answers()["m-bob"][1].text == "It is made."
        assert (world.project / "made").exists()
        assert remote.answers()["m-ann"][0].text == "re: hello there"
        assert "This could not be answered (provider-failed)" in remote.answers()["m-fail"][0].text
        assert "10.0.0.1" not in remote.answers()["m-fail"][0].text
        assert remote.refused == ["m-eve"]
        assert "m-eve" not in remote.answers()
        check_hooks(heard)
        second = world.start()
        assert second.wait(60) == 1
        assert f"error[gateway-running]: A gateway runs already, as process {process.pid}" in second.said
        check_taken_back(world)
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0
        lines = [json.loads(line) for line in process.said.splitlines()]
    assert {one["schema"] for one in lines} == {"clawft.gateway.v1"}
    assert lines[-1]["text"] == "stopped"
    assert any("refused  eve, who is not in gateway.channels.line.allow" in one["text"] for one in lines)
    of_eve, of_bob = ([one for one in lines if one.get("sender") == name] for name in ("eve", "bob@home"))
    assert [(one["channel"], one["event"]) for one in of_eve] == [("line", "refused")]
    assert [(one["channel"], one["event"], one["run"]) for one in of_bob] == [("line", "starts", question.run)]
    assert [one["event"] for one in lines if one.get("run") == question.run] == ["starts", "waiting", "answer"]


def check_taken_back(world: GatewayWorld) -> None:
    """Who is taken out of the config may not write any more, while the gateway runs."""
    config = world.user_dir / "config.toml"
    config.write_text(config.read_text().replace('"ann", ', ""))
    remote = world.remote

    def is_refused() -> bool:
        name = remote.write("hello", "c4", "ann")
        until(lambda: remote.is_taken, 20, world.said)
        return name in remote.refused

    until(is_refused, 20, world.said)


def check_hooks(events: list[str]) -> None:
    """Hooks hear who wrote, and where."""
    told = [json.loads(json.loads(one)["text"]) for one in events]
    (received,) = [context for action, context in told if action == "received" and context["messageId"] == "m-ann"]
    assert (received["from"], received["channelId"], received["conversationId"]) == ("ann", "line", "c1")
    (sent,) = [context for action, context in told if action == "sent" and context["messageId"] == "m-ann"]
    assert (sent["to"], sent["channelId"], sent["content"]) == ("ann", "line", "re: hello there")
