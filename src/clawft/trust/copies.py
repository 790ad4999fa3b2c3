"""Copies of skills for their programs to run on: sure to be what was approved, and gone afterwards."""

import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from anyio import CancelScope, to_thread

from clawft.discovery.snapshot import open_copy

__all__ = ["open_skill_copy"]

_LEFT_S = 2 * 86_400  # longer than any program may run


@asynccontextmanager
async def open_skill_copy(user_dir: str, folder: str, digest: str) -> AsyncIterator[str]:
    """A copy of a skill's folder, made and removed beside the loop, and removed whatever happens.

    Raises: Refused if the skill is not, or no longer, what has this digest; OSError.
    """
    below = os.path.join(user_dir, "cache", "programs")
    await to_thread.run_sync(_sweep, below)
    copying = open_copy(folder, digest, below)
    with CancelScope(shield=True):
        copy = await to_thread.run_sync(copying.__enter__)
    try:
        yield copy
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(copying.__exit__, None, None, None)


def _sweep(below: str) -> None:
    """Remove the copies of processes that were killed."""
    with suppress(FileNotFoundError), os.scandir(below) as entries:
        for one in entries:
            if time.time() - one.stat(follow_symlinks=False).st_mtime > _LEFT_S:
                shutil.rmtree(one.path, ignore_errors=True)
