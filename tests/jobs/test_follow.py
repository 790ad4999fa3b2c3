"""Who watches a run sees each event once, in order, however it comes and whenever they join."""

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import sqlalchemy as sa

from clawft.agent.run_request import RunRequest
from clawft.errors import NotFound
from clawft.jobs import events as following
from clawft.jobs.database import open_engine
from clawft.jobs.events import FollowedItem, decode_event, follow
from clawft.jobs.run_state import PendingQuestion, Run, now_text
from clawft.jobs.store import EventRow, RunStore
from clawft.messages import ApprovalNeeded, Event, Noticed, TextDelta, TurnFinished
from postgres import Postgres

pytestmark = pytest.mark.anyio
QUESTION = ApprovalNeeded(call="c1", tool="exec_shell", question="Run: x")


class Written:
    """A run that is done by hand."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.last = 0
        store.add([("r", RunRequest(kind="agent", cwd="/", text="t"))], "default")
        assert store.begin("r", 1, "w")

    def say(self, *events: Event, step: str = "") -> None:
        rows = []
        for event in events:
            self.last += 1
            rows.append(EventRow("r", self.last, step, msgspec.json.encode(event).decode()))
        self.store.write(rows, (), "w")

    def ask(self, key: str = "1.0?1") -> PendingQuestion:
        return self.store.ask(PendingQuestion("r", key, "approval", QUESTION, now_text()))

    def end(self, status: Any = "done") -> None:
        assert self.store.finish("r", 1, status)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    engine = open_engine(sa.URL.create("sqlite", database=str(tmp_path / "runs.sqlite")))
    yield Written(RunStore(engine, lambda *_due: None))
    engine.dispose()


def word(number: int) -> TextDelta:
    return TextDelta(text=f"{number} ")


def texts(told: list[FollowedItem]) -> str:
    return "".join(one.text for one in told if isinstance(one, TextDelta))


async def watch(store: RunStore) -> list[FollowedItem]:
    with anyio.fail_after(60):
        async with aclosing(follow(store, "r")) as told:
            return [one async for one in told]


async def test_a_run_that_is_over_is_told_from_its_beginning(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_PAGE", 7)
    written.say(*map(word, range(21)), TurnFinished(text="x"))
    written.end()
    told = await watch(written.store)
    assert texts(told) == "".join(f"{one} " for one in range(21))
    assert isinstance(told[-2], TurnFinished)
    assert isinstance(told[-1], Run)
    assert told[-1].status == "done"


async def test_nothing_is_missed_or_doubled_while_it_is_written(written: Written) -> None:
    watchers: list[list[FollowedItem]] = []

    async def keep() -> None:
        watchers.append(await watch(written.store))

    async with anyio.create_task_group() as group:
        for number in range(60):
            if number % 20 == 0:
                group.start_soon(keep)
            await anyio.to_thread.run_sync(written.say, word(number))
        await anyio.to_thread.run_sync(written.end)
    assert [texts(one) for one in watchers] == ["".join(f"{one} " for one in range(60))] * 3


async def test_a_question_comes_after_what_was_said_before_it_and_again_when_answered(written: Written) -> None:
    written.ask()
    with anyio.fail_after(60):
        async with aclosing(follow(written.store, "r")) as told:
            written.say(word(1), QUESTION, step="1.0@vm-1~ab12")
            first = [await anext(told) for _ in range(3)]
            written.store.answer("r", "1.0?1", "once", "me")
            answered = await anext(told)
    assert [type(one) for one in first] == [TextDelta, ApprovalNeeded, PendingQuestion]
    assert isinstance(answered, PendingQuestion)
    assert (answered.answer, answered.by) == ("once", "me")


async def test_an_answer_is_told_before_what_follows_it(written: Written) -> None:
    written.ask()
    written.say(QUESTION, step="1.0@vm-1~ab12")
    with anyio.fail_after(60):
        async with aclosing(follow(written.store, "r")) as told:
            assert [type(await anext(told)) for _ in range(2)] == [ApprovalNeeded, PendingQuestion]
            written.store.answer("r", "1.0?1", "once", "me")
            written.say(word(1))
            assert [type(await anext(told)) for _ in range(2)] == [PendingQuestion, TextDelta]


async def test_a_question_whose_event_never_comes_is_put_all_the_same(written: Written) -> None:
    written.ask()
    with anyio.fail_after(60):
        async with aclosing(follow(written.store, "r")) as told:
            assert isinstance(await anext(told), PendingQuestion)


async def test_an_answered_question_stands_where_it_was_asked(written: Written) -> None:
    written.ask()
    written.store.answer("r", "1.0?1", "no", "me")
    written.say(word(1), QUESTION, step="1.0@vm-1~ab12")
    written.say(word(2))
    written.end("failed")
    told = await watch(written.store)
    assert [type(one) for one in told] == [TextDelta, ApprovalNeeded, PendingQuestion, TextDelta, Run]


async def test_questions_of_a_run_that_was_cancelled_are_not_put(written: Written) -> None:
    written.ask()
    written.end("cancelled")
    assert [type(one) for one in await watch(written.store)] == [Run]


async def test_a_run_that_is_tried_again_from_its_start_is_told_anew(written: Written) -> None:
    written.say(word(1), word(2), word(3))
    with anyio.fail_after(60):
        async with aclosing(follow(written.store, "r")) as told:
            before: list[FollowedItem] = [await anext(told) for _ in range(3)]
            written.end("failed")
            assert written.store.requeue("r", only=("failed",), discard=lambda *_: None) == 2
            assert written.store.begin("r", 2, "w")
            written.last = 0
            written.say(word(4), word(5))
            after: list[FollowedItem] = [await anext(told) for _ in range(2)]
    assert (texts(before), texts(after)) == ("1 2 3 ", "4 5 ")


async def test_a_postgres_that_is_started_again_is_waited_for(postgres: Postgres) -> None:
    engine = open_engine(sa.make_url(postgres.url()).set(drivername="postgresql+psycopg"))
    written = Written(RunStore(engine, lambda *_due: None))
    try:
        with anyio.fail_after(60):
            async with aclosing(follow(written.store, "r")) as told:
                written.say(word(1))
                assert texts([await anext(told)]) == "1 "
                postgres.stop()
                noticed = await anext(told)
                assert isinstance(noticed, Noticed)
                assert noticed.code == "runs-unreachable"
                postgres.start()
                written.say(word(2))
                assert texts([await anext(told)]) == "2 "
    finally:
        engine.dispose()


async def test_a_run_that_is_removed_meanwhile_is_said(written: Written) -> None:
    async with aclosing(follow(written.store, "r")) as told:
        written.say(word(1))
        await anext(told)
        written.end()
        written.store.remove(["r"], lambda *_: None)
        with pytest.raises(NotFound):
            await anext(told)


def test_an_event_of_a_later_version_is_passed_over() -> None:
    assert decode_event('{"event":"Dreamt","of":"sheep"}') is None
    assert decode_event('{"event":"Noticed","code":"x","message":"y"}') == Noticed(code="x", message="y")
