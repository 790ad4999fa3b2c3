"""Work of many callers at a time, shared fairly."""

import anyio
import pytest

from clawft.server.executions import FairSemaphore

pytestmark = pytest.mark.anyio


async def test_whoever_has_least_at_work_is_next() -> None:
    slots, done = FairSemaphore(2), anyio.Event()
    begun: list[str] = []

    async def work(name: str) -> None:
        async with slots.hold(name.split()[0]):
            begun.append(name)
            if name in ("ann 1", "ann 2"):
                await done.wait()

    async with anyio.create_task_group() as group:
        for name in ("ann 1", "ann 2", "ann 3", "ann 4", "bob 1", "eve 1", "bob 2"):
            group.start_soon(work, name)
            await anyio.wait_all_tasks_blocked()
        assert begun == ["ann 1", "ann 2"]
        done.set()
    assert begun[2:4] == ["bob 1", "eve 1"]
    assert begun.index("ann 3") < begun.index("ann 4")


async def test_one_that_does_not_wait_any_more_takes_nobodys_place() -> None:
    slots, done = FairSemaphore(1), anyio.Event()
    begun: list[str] = []

    async def work(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with slots.hold(name):
                begun.append(name)
                await done.wait()

    async with anyio.create_task_group() as group:
        scopes = {name: anyio.CancelScope() for name in ("ann", "bob", "eve", "joe")}
        for name, scope in scopes.items():
            group.start_soon(work, name, scope)
            await anyio.wait_all_tasks_blocked()
        scopes["bob"].cancel()
        await anyio.wait_all_tasks_blocked()
        scopes["ann"].cancel()
        scopes["eve"].cancel()  # in the moment that it is its turn
        await anyio.wait_all_tasks_blocked()
        assert begun == ["ann", "joe"]
        done.set()
    async with slots.hold("last"):
        pass
