"""The supervisor of child processes that are kept, with real programs."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from clawft.sandbox.child import ChildProcess, LineTooLong
from clawft.sandbox.process import Launch

pytestmark = pytest.mark.anyio


def make_child(*words: str, hear: Callable[[bytes], None] = lambda _: None) -> ChildProcess:
    @asynccontextmanager
    async def prepare() -> AsyncIterator[Launch]:
        yield Launch(words, "/", {"PATH": os.defpath})

    return ChildProcess(prepare, hear)


async def test_its_lines_come_whole_and_what_has_no_end_is_none() -> None:
    child = make_child("/bin/sh", "-c", "printf 'one\\ntw'; sleep 0.05; printf 'o\\nrest'")
    async with child.open():
        assert [line async for line in child.read_lines(100)] == [b"one", b"two"]


async def test_a_line_without_an_end_is_too_long() -> None:
    child = make_child("/bin/sh", "-c", "yes | tr -d '\\n'")
    async with child.open():
        with pytest.raises(LineTooLong):
            async for _ in child.read_lines(1000):
                pass


async def test_how_it_ended_by_itself_is_known_with_its_last_words() -> None:
    printed: list[bytes] = []
    child = make_child("/bin/sh", "-c", "echo why >&2; exit 3", hear=printed.append)
    async with anyio.create_task_group() as group:
        group.start_soon(child.live)
        await child.started.wait()
        await child.leave(30)
        await child.over.wait()
    assert child.ended is not None
    assert (child.ended.code, child.words, b"".join(printed)) == (3, b"why\n", b"why\n")
    assert not child.usable


async def test_what_nobody_wants_is_ended_with_all_that_it_started() -> None:
    child = make_child("/bin/sh", "-c", "sleep 98765 & echo $!; wait")
    async with anyio.create_task_group() as group:
        group.start_soon(child.live)
        await child.started.wait()
        assert child.usable
        started = int(await anext(child.read_lines(100)))
        await child.bury()
    status = Path(f"/proc/{started}/stat")
    with anyio.fail_after(30):
        while status.exists() and ") Z " not in status.read_text():
            await anyio.sleep(0.01)


async def test_what_cannot_be_started_is_its_failure() -> None:
    child = make_child("/no/such/program")
    await child.live()
    assert isinstance(child.failure, FileNotFoundError)
    assert child.started.is_set()
    assert child.over.is_set()
    assert child.ended is None
