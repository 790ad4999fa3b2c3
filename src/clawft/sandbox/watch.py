"""Watches how many processes a program has and what memory they take together: limits that the kernel does not keep.

For root the kernel counts no processes, and its limit of memory is for each process alone.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

import anyio

from clawft.sandbox.confinement import ResourceLimits

Census = Callable[[int], list[str]]  # the folders of so many processes at most, as /proc has them

_QUICK_S = 0.02  # a fork bomb makes some hundred processes in that time
_MANY = 16
_MANY_NICE = 19
_THOROUGH = 5  # every so many times threads and memory are looked at, too
_SHARE = 20  # of the time, one part at most is spent on watching
_PAGE = os.sysconf("SC_PAGE_SIZE")


async def watch(census: Census, limits: ResourceLimits, group: int) -> str:
    """Wait until the processes have too much of something, and return what. When there are many, those of the process
    group yield to others, since the watcher must get its turn."""
    rounds, pause, is_many = 0, _QUICK_S, False
    while True:
        await anyio.sleep(pause)
        started = time.perf_counter()
        folders = census(limits.processes + 1)
        if len(folders) > limits.processes:
            return "processes"
        if not is_many and len(folders) > _MANY:
            is_many = True
            with suppress(OSError):
                os.setpriority(os.PRIO_PGRP, group, _MANY_NICE)
        rounds += 1
        if rounds % _THOROUGH == 0 and (exceeded := _look(folders, limits)):
            return exceeded
        pause = max(_QUICK_S, _SHARE * (time.perf_counter() - started) / _THOROUGH)


def list_namespace_processes(pid: int) -> Census:
    """All processes of a namespace, as the process `pid` sees them on its own /proc.

    Until it has one it sees ours, with all processes of this machine: then there are none to be counted.
    """
    root, ours = f"/proc/{pid}/root/proc", os.stat("/proc").st_dev

    def census(most: int) -> list[str]:
        try:
            if os.stat(root).st_dev == ours:
                return []
            with os.scandir(root) as entries:  # not all at once: a fork bomb adds faster than can be listed
                return [entry.path for entry in islice((entry for entry in entries if entry.name.isdecimal()), most)]
        except OSError:  # it has ended
            return []

    return census


def list_descendants(pid: int) -> Census:
    """A process and all that descend from it."""
    return lambda most: [f"/proc/{child}" for child in islice(_descend(str(pid)), most)]


def _descend(pid: str) -> Iterator[str]:
    left = [pid]
    while left:
        one = left.pop()
        yield one
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                left += _read(f"/proc/{one}/task/{thread}/children").split()


def _look(folders: list[str], limits: ResourceLimits) -> str:
    threads = resident = 0
    for folder in folders:
        with suppress(OSError, IndexError):  # it has just ended
            threads += os.stat(f"{folder}/task").st_nlink - 2
            resident += int(_read(f"{folder}/statm").split()[1]) * _PAGE
    if threads > limits.processes:
        return "processes"
    if resident > limits.memory_bytes and sum(map(_share, folders)) > limits.memory_bytes:
        return "memory"
    return ""


def _share(folder: str) -> int:
    """A process's memory, with what it shares divided among those who share it."""
    try:
        lines = _read(f"{folder}/smaps_rollup").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()
