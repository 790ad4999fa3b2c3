"""Messages on disk: each once, one of a conversation at a time, in order. On a file and on PostgreSQL."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawft.agent.run_request import RunRequest
from clawft.jobs.channels.inbox import Inbox, render_channel_answer
from clawft.jobs.channels.store import INBOX, OUTBOX, ChannelOutbox
from gateway_desk import Desk, message
from postgres import Postgres

REQUEST = RunRequest(kind="gateway", cwd="/")


@pytest.fixture(params=["file", "postgres"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    url = ""
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.url()
    desk = Desk(tmp_path, url)
    yield desk
    desk.runs.close()


def started(inbox: Inbox) -> list[str]:
    return [one.message for one in inbox.start(lambda one: RunRequest(kind="gateway", cwd="/", text=one.text), "q")]


def test_a_message_is_accepted_once_and_answered_once_in_the_order_of_its_conversation(both: Desk) -> None:
    inbox, outbox = Inbox(both.store, ["line"]), ChannelOutbox(both.runs.database)
    taken = [inbox.accept("line", message(number, "ab"[number % 2]), 100) for number in range(4)]
    assert taken == ["new"] * 4
    assert inbox.accept("line", message(0, "elsewhere", text="other"), 100) == "known"
    assert started(inbox) == ["m0", "m1"]
    assert started(inbox) == []  # one of a conversation at a time
    assert inbox.ended() == []
    first, second = both.open()
    both.finish(second)
    (ended,) = inbox.ended()
    assert (ended.message.message, ended.status, ended.result) == ("m1", "done", "re: text 1")
    answer = render_channel_answer(ended)
    inbox.settle([answer])
    inbox.settle([answer])  # as one who died before he heard that it was written
    assert both.count(OUTBOX) == 1
    assert inbox.ended() == []
    assert started(inbox) == ["m3"]
    assert inbox.counts() == {("line", "accepted"): 1, ("line", "running"): 2, ("line", "answered"): 1}
    (outgoing,) = outbox.claim("line", (), 8, 0)
    assert (outgoing.message.reply_to, outgoing.message.text) == ("m1", "re: text 1")
    assert first.queue == "q"


def test_what_was_being_sent_when_it_ended_is_in_doubt(both: Desk) -> None:
    inbox, outbox = Inbox(both.store, ["line"]), ChannelOutbox(both.runs.database)
    for number in range(3):
        inbox.accept("line", message(number, "ab"[number // 2]), 100)
    for _ in range(2):
        started(inbox)
        for run in both.open():
            both.finish(run)
        inbox.settle([render_channel_answer(one) for one in inbox.ended()])
    keys = [one.message.reply_to for one in outbox.claim("line", (), 8, 0)]
    assert keys == ["m0", "m2"]
    assert outbox.claim("line", (), 8, 0) == []  # the next of a conversation waits for the one before
    assert outbox.doubt("line") == 2
    again = outbox.claim("line", ("b",), 8, 0)
    assert [(one.message.reply_to, one.message.is_repeat, one.attempts) for one in again] == [("m0", True, 2)]
    outbox.sent(again[0].seq)
    (last,) = outbox.claim("line", ("b",), 8, 0)
    assert (last.message.reply_to, last.message.is_repeat) == ("m1", False)


def test_no_more_than_so_many_wait(both: Desk) -> None:
    inbox = Inbox(both.store, ["line"])
    assert [inbox.accept("line", message(number), 2) for number in range(3)] == ["new", "new", "full"]
    assert [inbox.look("line", message(number), 2) for number in (1, 2)] == ["known", "full"]
    assert inbox.look("line", message(2), 3) == "new"


def test_a_run_that_was_started_before_a_crash_is_not_started_again(desk: Desk) -> None:
    inbox = Inbox(desk.store, ["line"])
    inbox.accept("line", message(0), 9)
    (one,) = inbox.start(lambda _: REQUEST, "q")
    with desk.runs.database.begin() as connection:  # as if it had died in between, which one transaction rules out
        connection.execute(INBOX.update().values(state="accepted"))
    inbox.start(lambda _: REQUEST, "q")
    assert [run.id for run in desk.store.list()] == [one.run]


def test_many_that_hand_in_the_same_message_at_once_make_one(desk: Desk) -> None:
    inbox = Inbox(desk.store, ["line"])
    taken: list[str] = []
    threads = [threading.Thread(target=lambda: taken.append(inbox.accept("line", message(0), 100))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(taken) == ["known"] * 7 + ["new"]
    assert desk.count(INBOX) == 1


def test_what_was_answered_long_ago_is_forgotten_and_what_waits_is_not(desk: Desk) -> None:
    inbox, outbox = Inbox(desk.store, ["line"]), ChannelOutbox(desk.runs.database)
    inbox.accept("line", message(0), 9)
    inbox.accept("line", message(1), 9)
    started(inbox)
    desk.finish(desk.open()[0])
    inbox.settle([render_channel_answer(one) for one in inbox.ended()])
    inbox.forget(-1)
    assert inbox.counts() == {("line", "accepted"): 1}
    assert outbox.counts() == {("line", "pending"): 1}
    outbox.sent(outbox.claim("line", (), 1, 0)[0].seq)
    inbox.forget(-1)
    assert outbox.counts() == {}


def test_what_one_sender_has_of_the_room_and_of_the_work_is_bounded(both: Desk) -> None:
    inbox = Inbox(both.store, ["line"])
    taken = [inbox.accept("line", message(number, str(number), sender="eve"), 9, 3) for number in range(4)]
    assert taken == ["new", "new", "new", "enough"]
    assert inbox.look("line", message(4, sender="eve"), 9, 3) == "enough"
    assert inbox.accept("line", message(5), 9, 3) == "new"
    assert inbox.look("line", message(6, sender="bob"), 4, 3) == "full"
    assert [one.message for one in inbox.start(lambda _: REQUEST, "q", 1)] == ["m0", "m5"]
    assert inbox.start(lambda _: REQUEST, "q", 1) == []
    assert inbox.list_waiting_senders() == {("line", "eve")}
    assert inbox.drop("line", "eve") == 2
    assert inbox.counts() == {("line", "running"): 2, ("line", "failed"): 2}
    assert inbox.ended() == []
