"""The threads in which the channel waits for Telegram; none is left when it is shut down."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["Threads"]

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    def __init__(self, count: int = 5) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="telegram")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something that blocks. Raises: whatever it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*args, **kwargs))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
