"""The gateway with a channel in this process: what it takes, what it answers, and what it does when something fails."""

from typing import Any

import anyio
import msgspec
import pytest
from msgspec import structs

from clawft.config.jobs import ChannelSettings, GatewaySettings
from clawft.config.tools import RateLimit, RateLimitStrategy
from clawft.contracts import Binary, ChannelError, Unsupported
from clawft.jobs.channels import gateway as sender
from clawft.jobs.channels.gateway import Gateway
from clawft.jobs.channels.inbox import REPEAT
from clawft.jobs.channels.store import CHANNEL, INBOX, METADATA
from clawft.jobs.run_state import PendingQuestion, RunProblem, WorkerRow
from clawft.jobs.store import EventRow
from clawft.messages import ApprovalNeeded
from gateway_desk import EVERYBODY, Adapter, Desk, message, until

pytestmark = pytest.mark.anyio


def settings(**given: Any) -> GatewaySettings:
    return structs.replace(EVERYBODY, **given)


async def ready(adapter: Adapter) -> Any:
    """The host that the channel got."""
    await until(lambda: adapter.host)
    return adapter.host


async def finish_all(desk: Desk, count: int) -> None:
    """Do runs as they come, so many."""
    for _ in range(count):
        await until(desk.open)
        desk.finish(desk.open()[0])


async def test_messages_are_answered_in_order_one_at_a_time_in_each_conversation(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        for number in range(4):
            assert await host.deliver_inbound(message(number, "ab"[number % 2]))
        await until(lambda: len(desk.open()) == 2)
        first, second = desk.open()
        assert (first.session, second.session) == ("line:a", "line:b")
        assert (first.kind, first.request.mode, first.queue) == ("gateway", "ask", "gateway")
        desk.finish(second)
        await until(lambda: len(adapter.sent) == 1)
        await until(lambda: [one.request.text for one in desk.open()] == ["text 0", "text 3"])
        await finish_all(desk, 3)
        await until(lambda: len(adapter.sent) == 4)
    by_conversation = {one: [sent.text for sent in adapter.sent if sent.conversation == one] for one in "ab"}
    assert by_conversation == {"a": ["re: text 0", "re: text 2"], "b": ["re: text 1", "re: text 3"]}
    assert {one.reply_to for one in adapter.sent} == {"m0", "m1", "m2", "m3"}


async def test_a_message_that_comes_again_is_taken_as_such_and_answered_once(desk: Desk) -> None:
    adapter = Adapter()
    limited = settings(rate_limit=RateLimit(max_requests=1, window_s=3600))
    async with desk.gateway(adapter, settings=limited).running():
        host = await ready(adapter)
        assert await host.deliver_inbound(message(0))
        assert await host.deliver_inbound(message(0))  # and is no new message to whoever counts
        await finish_all(desk, 1)
        await until(lambda: adapter.sent)
        assert await host.deliver_inbound(message(0))
        await anyio.sleep(0.05)
    assert len(adapter.sent) == 1
    assert desk.count(INBOX) == 1


async def test_whoever_is_not_allowed_gets_no_answer_and_one_line_in_the_logs(desk: Desk) -> None:
    adapter = Adapter()
    chosen = GatewaySettings(channels={"line": ChannelSettings(allow=("ann",))})
    async with desk.gateway(adapter, settings=chosen).running():
        host = await ready(adapter)
        for number in range(3):
            assert not await host.deliver_inbound(message(number, sender="eve\x1b[2J"))
        assert not await host.deliver_payload("eve\x1b[2J", "c", Binary("image/png", b""))
    assert desk.count(INBOX) == 0
    assert len([one for one in desk.lines if "refused" in one]) == 1
    logged = (desk.folder / "audit.jsonl").read_text()
    assert logged.count('"denied"') == 1
    assert "gateway.channels.line.allow" in logged
    assert desk.means(chosen).board.rows()["line"].refused == 4


async def test_nobody_is_allowed_by_default(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter, settings=GatewaySettings(channels={"line": ChannelSettings()})).running():
        host = await ready(adapter)
        assert not await host.deliver_inbound(message(0))


async def test_what_is_no_text_or_too_long_is_refused_for_good(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter, settings=settings(max_message_chars=10)).running():
        host = await ready(adapter)
        assert not await host.deliver_inbound(message(0, text="x" * 11))
        assert not await host.deliver_payload("ann", "c", Binary("image/png", b"x"))
        assert await host.deliver_inbound(message(1))
    assert "line  refused  a message of ann: it has 11 characters; gateway.max_message_chars is 10" in desk.lines
    assert "line  refused  what ann sent is binary; only text is answered" in desk.lines


async def test_who_writes_too_fast_is_asked_to_hand_it_in_again(desk: Desk) -> None:
    adapter = Adapter()
    limited = settings(rate_limit=RateLimit(RateLimitStrategy.SLIDING_WINDOW, 2, 3600))
    async with desk.gateway(adapter, settings=limited).running():
        host = await ready(adapter)
        for number in range(2):
            assert await host.deliver_inbound(message(number))
        with pytest.raises(ChannelError, match="ann writes too fast") as caught:
            await host.deliver_inbound(message(2))
        assert caught.value.code == "gateway-rate"
        assert await host.deliver_inbound(message(3, sender="bob"))


async def test_when_too_many_wait_none_is_taken_until_some_are_answered(desk: Desk) -> None:
    adapter = Adapter()
    few = settings(max_pending=2, rate_limit=RateLimit(max_requests=3, window_s=3600))
    async with desk.gateway(adapter, settings=few).running():
        host = await ready(adapter)
        for number in range(2):
            assert await host.deliver_inbound(message(number))
        for _ in range(3):  # which counts as nothing that its sender wrote
            with pytest.raises(ChannelError, match="2 messages wait") as caught:
                await host.deliver_inbound(message(2))
            assert caught.value.code == "gateway-full"
        assert await host.deliver_inbound(message(1))  # it is known
        await finish_all(desk, 1)
        await until(lambda: adapter.sent)
        assert await host.deliver_inbound(message(2))


async def test_what_fails_or_says_nothing_is_told_honestly_and_without_details(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        for number, conversation in enumerate("abc"):
            await host.deliver_inbound(message(number, conversation))
        await until(lambda: len(desk.open()) == 3)
        failed, silent, cancelled = desk.open()
        problem = msgspec.json.encode(RunProblem("provider-failed", "https://10.0.0.1/secret said no")).decode()
        desk.finish(failed, "", status="failed", error=problem)
        desk.finish(silent, " ")
        desk.runs.cancel(cancelled.id)
        await until(lambda: len(adapter.sent) == 3)
    assert sorted(one.text for one in adapter.sent) == [
        f"This could not be answered (provider-failed). Its owner sees it with: weft runs show {failed.id}",
        f"This was cancelled, and is not answered. Its owner sees it with: weft runs show {cancelled.id}",
        f"This was done, and there is no text to answer with. Its owner sees it with: weft runs show {silent.id}",
    ]


async def test_a_failed_one_that_its_owner_tries_again_is_answered_then(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        await host.deliver_inbound(message(0))
        await until(desk.open)
        desk.finish(desk.open()[0], "", status="failed")
        await until(lambda: len(adapter.sent) == 1)
        run = desk.store.list()[0]
        desk.runs.retry(run.id)
        desk.finish(desk.store.get(run.id))
        await until(lambda: len(adapter.sent) == 2)
    assert adapter.sent[1].text == "re: text 0"


async def test_who_wrote_is_told_once_that_it_waits_for_the_owner(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        await host.deliver_inbound(message(0))
        await host.deliver_inbound(message(1))
        await until(desk.open)
        run = desk.open()[0]
        desk.store.begin(run.id, 1, "w")
        event = ApprovalNeeded(call="1", tool="exec_shell", question="May I?")
        question = desk.store.ask(PendingQuestion(run.id, "1", "approval", event, "now"))
        desk.store.park(run.id, 1, ["1"])
        await until(lambda: adapter.sent)
        await anyio.sleep(0.05)
        assert [one.text.splitlines()[0] for one in adapter.sent] == [
            "This waits for a yes of the agent's owner, and is answered after that."
        ]
        assert not desk.open()  # the next of the conversation waits, too
        desk.runs.answer(question, "once")
        await finish_all(desk, 2)
        await until(lambda: len(adapter.sent) == 3)
    assert [one.text for one in adapter.sent[1:]] == ["re: text 0", "re: text 1"]
    assert len({one.key for one in adapter.sent}) == 3


async def test_what_the_agent_said_meanwhile_comes_with_the_answer(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        await host.deliver_inbound(message(0))
        await until(desk.open)
        run = desk.open()[0]
        desk.store.begin(run.id, 1, "w")
        said = ['{"event":"MessageSent","text":"Nearly."}', '{"event":"MessageSent","text":"x","hook":"h"}']
        desk.store.write([EventRow(run.id, at, "", one) for at, one in enumerate(said, 1)], [], "w")
        desk.finish(run)
        await until(lambda: adapter.sent)
    assert adapter.sent[0].text == "Nearly.\n\nre: text 0"


@pytest.mark.parametrize("deduplicates", [True, False])
async def test_what_may_have_been_sent_is_marked_unless_the_other_side_can_tell(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, deduplicates: bool
) -> None:
    monkeypatch.setattr(sender, "_AGAIN_S", (0.01,))
    adapter = Adapter(deduplicates=deduplicates)
    adapter.failing = [ChannelError("not now"), RuntimeError("it hung")]
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        await host.deliver_inbound(message(0))
        await finish_all(desk, 1)
        await until(lambda: adapter.sent)
    (sent,) = adapter.sent
    assert sent.is_repeat is not deduplicates
    assert sent.text == ("re: text 0" if deduplicates else f"{REPEAT}\nre: text 0")


async def test_what_surely_was_not_sent_is_no_repeat(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_AGAIN_S", (0.01,))
    adapter = Adapter()
    adapter.failing = [ChannelError("not now"), ChannelError("not yet")]
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        await host.deliver_inbound(message(0))
        await finish_all(desk, 1)
        await until(lambda: adapter.sent)
    assert (adapter.sent[0].text, adapter.sent[0].is_repeat) == ("re: text 0", False)


async def test_what_cannot_be_sent_is_given_up_and_holds_up_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "_AGAIN_S", (0.01,))
    monkeypatch.setattr(sender, "_MAX_ATTEMPTS", 3)
    adapter = Adapter()
    adapter.failing = [Unsupported("never"), ChannelError("no 1"), ChannelError("no 2"), ChannelError("no 3")]
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        for number in range(3):
            await host.deliver_inbound(message(number))
        await finish_all(desk, 3)
        await until(lambda: adapter.sent)
    assert [one.text for one in adapter.sent] == ["re: text 2"]
    failures = desk.means().outbox.failures(9)
    assert sorted(error for *_, error in failures) == ["never", "no 3"]


async def test_a_channel_that_fails_is_started_again_and_stops_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.jobs.channels.gateway._KEEPER_AGAIN_S", (0.01,))
    good, bad = Adapter("good"), Adapter("bad")
    bad.ending = [RuntimeError("oh dear"), ChannelError("not connected")]
    both = GatewaySettings(channels={name: ChannelSettings(allow=("*",)) for name in ("good", "bad")})
    async with desk.gateway(good, bad, settings=both).running():
        await ready(bad)
        assert (bad.lives, good.lives) == (3, 1)
        for one in (good, bad):
            await (await ready(one)).deliver_inbound(message(0))
        await finish_all(desk, 2)
        await until(lambda: good.sent and bad.sent)
        row = desk.means(both).board.rows()["bad"]
        assert (row.state, row.error) == ("running", "not connected")
    assert "bad  failed  again in 0.01 s: it raised RuntimeError: oh dear" in desk.lines
    assert {one.state for one in desk.means(both).board.rows().values()} == {"stopped"}


async def test_while_it_ends_nothing_is_taken_and_what_was_accepted_goes_on_at_the_next_start(desk: Desk) -> None:
    adapter = Adapter()
    gateway = desk.gateway(adapter)
    async with gateway.running():
        host = await ready(adapter)
        await host.deliver_inbound(message(0))
        await host.deliver_inbound(message(1))
        await until(desk.open)
        gateway.stop()
        with pytest.raises(ChannelError, match="Nothing is taken in now"):
            await host.deliver_inbound(message(2))
        desk.finish(desk.open()[0])  # as it comes to its end
    assert [one.text for one in adapter.sent] == ["re: text 0"]  # what was ready in time was sent
    assert not desk.open()
    again = Adapter()
    async with desk.gateway(again).running():
        await finish_all(desk, 1)
        await until(lambda: again.sent)
    assert [one.text for one in again.sent] == ["re: text 1"]


async def test_what_was_answered_while_no_gateway_ran_is_sent_when_one_does(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        await (await ready(adapter)).deliver_inbound(message(0))
        await until(desk.open)
    desk.finish(desk.open()[0])
    async with desk.gateway(adapter).running():
        await until(lambda: adapter.sent)
    assert [one.text for one in adapter.sent] == ["re: text 0"]


async def test_messages_of_a_channel_that_is_not_run_any_more_are_told_of(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        await (await ready(adapter)).deliver_inbound(message(0))
    other = GatewaySettings(channels={"other": ChannelSettings()})
    async with Gateway(desk.means(other), []).running():
        pass
    assert "line  waits  1 messages, for a gateway that runs this channel" in desk.lines


async def test_a_channel_has_one_gateway_as_long_as_that_lives(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.jobs.channels.gateway._KEEPER_AGAIN_S", (0.01,))
    monkeypatch.setattr("clawft.jobs.channels.gateway._KEEP_S", 0.01)
    row = WorkerRow("other", "elsewhere", 1, "", "gateway", 1, "", 0, "", stopping=False)
    desk.store.roster.register_worker(row)
    desk.means().board.claim("line", "test.line", "other")
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        told = "line  failed  again in 0.01 s: another gateway runs it, with the worker other"
        await until(lambda: told in desk.lines)
        assert adapter.lives == 0
        desk.store.roster.remove_if_silent("other", None)  # as when it died
        await ready(adapter)
        with desk.runs.database.begin() as connection:  # as if this one had been silent for too long
            connection.execute(CHANNEL.update().values(owner="third"))
        desk.store.roster.register_worker(structs.replace(row, id="third"))
        await until(lambda: not adapter.host)
        assert desk.means().board.rows()["line"].owner == "third"
    assert any("another gateway took it over" in one for one in desk.lines)


async def test_what_cannot_be_written_down_is_not_accepted_and_all_goes_on_when_it_can(desk: Desk) -> None:
    adapter = Adapter()
    async with desk.gateway(adapter).running():
        host = await ready(adapter)
        METADATA.drop_all(desk.runs.database)
        with pytest.raises(ChannelError, match="It cannot be written down now") as caught:
            await host.deliver_inbound(message(0))
        assert caught.value.code == "gateway-unwritten"
        await until(lambda: len(desk.warnings) > 3)  # the others find out, too
        METADATA.create_all(desk.runs.database)
        assert await host.deliver_inbound(message(0))
        await finish_all(desk, 1)
        await until(lambda: adapter.sent)
    assert {one.code for one in desk.warnings} == {"runs-database"}
    assert [one.text for one in adapter.sent] == ["re: text 0"]
