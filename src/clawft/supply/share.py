"""One job for many things, shared between the processors by forked processes, which see all that this one sees.

Threads would not do: looking at thousands of small files is mostly Python's own work.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

__all__ = ["share"]

T = TypeVar("T")
R = TypeVar("R")
_WORTH = 100  # fewer things are done sooner than a process is started
_MAX_PROCESSES = 4


def share(things: Sequence[T], job: Callable[[T], R | None], kind: type[R]) -> dict[int, R]:
    """What the job gives for each thing, by its place; nothing for None. Results must be such as msgspec can encode."""
    processes = min(_count_processors(), _MAX_PROCESSES) if len(things) >= _WORTH and _may_fork() else 1
    parts = [range(number, len(things), processes) for number in range(processes)]
    others = [(part, *_start(things, job, part)) for part in parts[1:]]
    found = _do(things, job, parts[0])
    decode = msgspec.msgpack.Decoder(dict[int, kind]).decode  # type: ignore[valid-type]
    for part, process, results in others:
        with open(results, "rb") as file:
            data = file.read()
        _, status = os.waitpid(process, 0)
        found |= decode(data) if status == 0 else _do(things, job, part)  # what another could not do is done here
    return found


def _do(things: Sequence[T], job: Callable[[T], R | None], part: range) -> dict[int, R]:
    return {at: found for at in part if (found := job(things[at])) is not None}


def _start(things: Sequence[T], job: Callable[[T], R | None], part: range) -> tuple[int, int]:
    """A process that does a part, and where it writes what came of it."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:  # whatever happens, the child must not go on as if it were the parent
        os.close(reading)
        with open(writing, "wb") as file:
            file.write(msgspec.msgpack.encode(_do(things, job, part)))
        code = 0
    finally:
        os._exit(code)


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _may_fork() -> bool:
    """Not where threads run: one that holds a lock would not be there to let go of it."""
    threading = sys.modules.get("threading")
    return hasattr(os, "fork") and (threading is None or threading.active_count() == 1)
