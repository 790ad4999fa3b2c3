"""What is done beside a block ends with it, and hides nothing."""

import anyio
import pytest

from clawft.errors import ClawftError
from clawft.server.daemon import run_in_background

pytestmark = pytest.mark.anyio


async def test_what_goes_wrong_in_the_block_is_raised_as_it_is_and_the_work_ends() -> None:
    ended: list[bool] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    async def fail() -> None:
        async with run_in_background(work):
            await anyio.sleep(0)
            raise ClawftError("x", "no good")

    with pytest.raises(ClawftError, match="no good"):
        await fail()
    assert ended == [True]


async def test_a_fault_of_the_work_itself_ends_the_block() -> None:
    async def work() -> None:
        raise ValueError("a bug")

    async def wait() -> None:
        with anyio.fail_after(60):
            async with run_in_background(work):
                await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        await wait()
