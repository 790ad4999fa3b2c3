"""Runtimes that are shared, and end when nobody uses them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from clawft.app.shared_runtime import SharedRuntime

pytestmark = pytest.mark.anyio


async def test_one_that_ends_is_forgotten_before_it_is_closed_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.app.shared_runtime._KEEP_S", 0.01)
    happened: list[str] = []
    closing = asyncio.Event()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Any]:
        yield "a runtime"
        await closing.wait()
        happened.append("closed")

    def forget() -> None:
        happened.append("forgotten")
        closing.set()

    held = SharedRuntime(opening(), forget)
    async with held.use():
        pass
    with anyio.fail_after(10):
        while "closed" not in happened:
            await anyio.sleep(0.01)
    await held.close()
    assert happened == ["forgotten", "closed"]
