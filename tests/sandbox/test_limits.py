"""Bombs of all kinds end with the run, and the machine does not notice. Each is small enough to be harmless itself."""

import os
from pathlib import Path
from typing import Any

import pytest

from clawft.sandbox.process import FLOOD_BYTES
from clawft.sandbox.watch import list_namespace_processes

pytestmark = pytest.mark.anyio
Box = Any
# Forks until the limit or some hundred processes are reached, which then wait.
FORKS = """
import os, sys, time
made = 0
for _ in range(400):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    except OSError:
        break
    made += 1
print(made, flush=True)
time.sleep(float(sys.argv[1]))
"""
SHARED = """
import mmap
block = mmap.mmap(-1, 2 << 30)
for _ in range(128):
    block.write(bytes(16 << 20))
print("took all", flush=True)
"""


async def test_a_fork_bomb_is_bounded(box: Box) -> None:
    (box.project / "forks.py").write_text(FORKS)
    done = await box.run("/usr/bin/python3 forks.py 20", sandbox=box.open(max_processes=50), timeout_s=15)
    assert done.exceeded == "processes" or int(done.output or 0) < 60
    assert box.find_running("forks.py") == []


async def test_memory_is_bounded_for_each_process_and_for_all(box: Box) -> None:
    sandbox = box.open(memory_mb=200)
    done = await box.run("/usr/bin/python3 -c 'bytearray(1 << 30)'", sandbox=sandbox)
    assert b"MemoryError" in done.output
    (box.project / "shared.py").write_text(SHARED)
    done = await box.run("/usr/bin/python3 shared.py", sandbox=sandbox)
    assert (done.exceeded, done.code, done.output) == ("memory", -9, b"")


async def test_files_are_bounded(box: Box) -> None:
    (box.project / "src").mkdir()
    done = await box.run("head -c 40000000 /dev/zero > src/big", sandbox=box.open(max_file_mb=16))
    assert done.code != 0
    assert (box.project / "src/big").stat().st_size == 16 << 20


async def test_temporary_files_are_bounded(wrapped: Box) -> None:
    line = "for n in 1 2 3; do head -c 10000000 /dev/zero > /tmp/$n || exit 9; done"
    for place in ("/tmp", "$HOME", "/dev/shm"):
        done = await wrapped.run(line.replace("/tmp", place), sandbox=wrapped.open(tmp_mb=16))
        assert (done.code, b"No space left" in done.output) == (9, True), place


async def test_output_without_end_is_stopped(box: Box, tmp_path: Path) -> None:
    done = await box.run("head -c 10G /dev/zero", spill_path=str(tmp_path / "spill"))
    assert done.flooded
    assert (tmp_path / "spill").stat().st_size < 2 * FLOOD_BYTES


async def test_no_core_is_written(box: Box) -> None:
    assert await box.say("ulimit -c") == "0\n"


def test_processes_of_the_machine_are_not_counted_before_a_program_has_its_own() -> None:
    assert list_namespace_processes(os.getpid())(10) == []
