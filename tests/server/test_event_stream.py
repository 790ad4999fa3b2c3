"""What waits for a connection, and for all of a token, is bounded."""

import anyio
import pytest

from clawft.server.event_stream import ClientOutbox, TokenBacklog

pytestmark = pytest.mark.anyio


async def test_all_connections_of_a_token_have_one_bound_for_what_they_do_not_read() -> None:
    held = TokenBacklog(1_000)
    silent, reading = ClientOutbox(1_000_000, held), ClientOutbox(1_000_000, held)
    for _ in range(3):
        silent.put(b"x" * 500)
    assert held.is_full
    told: list[str] = []

    async def answer(name: str) -> None:
        await reading.wait_for_all()
        reading.put(b"x" * 600)
        told.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(answer, "first")
        group.start_soon(answer, "second")
        await silent.take_one()
        await anyio.wait_all_tasks_blocked()
        assert told == []  # it is on its way, and not taken yet
        await silent.take_one()
        await anyio.wait_all_tasks_blocked()
        assert told == ["first"]  # no more than there is room for
        silent.close()
    assert told == ["first", "second"]


async def test_what_nobody_takes_any_more_is_not_counted() -> None:
    held = TokenBacklog(1_000)
    one, other = ClientOutbox(2_000, held), ClientOutbox(2_000, held)
    for outbox in (one, other):
        outbox.put(b"x" * 900)
        outbox.put(b"x" * 900)
    await one.take()
    one.close()
    other.put(b"x" * 900)  # more than may wait: it is cut short
    assert other.is_slow
    assert not held.is_full
    with anyio.fail_after(60):
        await held.wait_for_room()
