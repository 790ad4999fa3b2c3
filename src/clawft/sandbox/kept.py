"""A program that is kept and spoken with over its pipes, such as a server, and ended with all that it started."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process, TaskGroup
from msgspec import Struct

from clawft.sandbox.process import KILLED_S, Launch

__all__ = ["BROKEN", "Kept", "open_kept"]

BROKEN = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)  # it no longer listens, or is gone

_EXIT_S = 1.0  # for a program to end by itself once its stdin is closed, and again after SIGTERM
_POLL_S = 0.01


class Kept(Struct, frozen=True):
    """A program that runs. What `group` holds is cancelled once the program has ended."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream
    stderr: ByteReceiveStream
    group: TaskGroup


@asynccontextmanager
async def open_kept(launch: Launch, *, patient: bool = True) -> AsyncGenerator[Kept, None]:
    """Start a program; on leaving it is ended, and first asked to end if we are `patient`.

    Raises: OSError if it cannot be started.
    """
    process = await anyio.open_process(
        launch.words, env=launch.env, cwd=launch.cwd, start_new_session=True, pass_fds=launch.pass_fds
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    # No await until the task group: a cancellation in between would leave the process alive.
    async with anyio.create_task_group() as group:
        if launch.attend is not None:
            group.start_soon(launch.attend, process.pid)
        try:
            yield Kept(process, process.stdin, process.stdout, process.stderr, group)
        finally:
            with anyio.CancelScope(shield=True):  # every wait inside is bounded
                await _end(process, launch, patient=patient)
                if launch.settle is not None:
                    await launch.settle()
            group.cancel_scope.cancel()


async def _end(process: Process, launch: Launch, *, patient: bool) -> None:
    """Close its stdin, then SIGTERM, then SIGKILL to whatever is left of its group."""
    assert process.stdin is not None
    with suppress(*BROKEN):
        await process.stdin.aclose()
    if not patient and launch.kill is not None:
        launch.kill()
    elif not await _has_exited(process):
        _signal_group(process, signal.SIGTERM)
        await _has_exited(process)
    _signal_group(process, signal.SIGKILL)  # also children that outlive a program that ended well
    await _has_exited(process, KILLED_S)
    # A child that left the group may hold a pipe open for ever; nothing public closes our end of it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _has_exited(process: Process, seconds: float = _EXIT_S) -> bool:
    """Whether it ended in time. Not `process.wait()`, which also waits for pipes that its children hold open."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(_POLL_S)
    return process.returncode is not None


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)  # it leads a session of its own
