"""Something that is done beside a block of code, for as long as that lasts."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio

__all__ = ["beside"]


@asynccontextmanager
async def beside(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Do the work until the block ends. What goes wrong in the block is raised as it is, not as a part of a group."""
    wrong: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        try:
            yield
        except Exception as error:
            wrong = error
        finally:
            group.cancel_scope.cancel()
    if wrong is not None:
        raise wrong
