"""A context that a task of its own holds open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from clawft.cli.repl.context import TaskContext

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def scope(said: list[str], *, stuck: bool = False) -> AsyncIterator[str]:
    """What may be left only by the task that entered it."""
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        try:
            if stuck:
                await anyio.sleep_forever()
            yield "value"
        finally:
            said.append("left")
            group.cancel_scope.cancel()


async def test_one_task_opens_and_another_closes() -> None:
    said: list[str] = []
    held = TaskContext(scope(said))
    assert await asyncio.create_task(held.open()) == "value"
    assert await held.open() == "value"
    await asyncio.create_task(held.close())
    assert said == ["left"]


async def test_cancelled_opening_leaves_nothing_open() -> None:
    said: list[str] = []
    opening = asyncio.create_task(TaskContext(scope(said, stuck=True)).open())
    await asyncio.wait({opening}, timeout=0.05)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert said == ["left"]


async def test_failed_opening_is_raised_to_who_opens() -> None:
    @asynccontextmanager
    async def broken(folders: list[str]) -> AsyncIterator[str]:
        yield folders.pop()

    with pytest.raises(IndexError, match="empty list"):
        await TaskContext(broken([])).open()


async def test_failed_leaving_is_raised_to_who_closes() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        yield
        raise OSError("cannot end")

    held = TaskContext(broken())
    await held.open()
    with pytest.raises(OSError, match="cannot end"):
        await held.close()
