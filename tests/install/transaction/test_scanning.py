"""Scanners beside the downloads: several from one, and what is said where one dies."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from clawft.install.transaction.scanning import ScanProcesses


@pytest.fixture
def skills(tmp_path: Path) -> list[str]:
    for number in range(6):
        folder = tmp_path / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        text = f"---\nname: skill-{number}\ndescription: Says {number} when asked to.\n---\nSay {number}.\n"
        (folder / "SKILL.md").write_text(text)
    return sorted(map(str, (tmp_path / "skills").iterdir()))


def test_many_are_scanned_at_once_and_each_gets_its_own_report(skills: list[str]) -> None:
    """In a process of its own: one that has threads does not fork."""
    code = (
        "import sys, anyio\n"
        "from clawft.install.transaction.scanning import ScanProcesses\n"
        "async def one(path, found):\n"
        "    found[path] = await scans.scan(path)\n"
        "async def every():\n"
        "    found = {}\n"
        "    async with anyio.create_task_group() as group:\n"
        "        for path in sys.argv[1:]:\n"
        "            group.start_soon(one, path, found)\n"
        "    print(*(f'{found[path].name} {found[path].verdict}' for path in sys.argv[1:]), sep='\\n')\n"
        "with ScanProcesses(6, None) as scans:\n"
        "    anyio.run(every)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code, *skills], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [f"skill-{number} clean" for number in range(6)], done.stderr


def test_a_scanner_that_dies_costs_one_report_which_says_so(skills: list[str]) -> None:
    async def scan() -> None:
        with ScanProcesses(2, None) as scans:
            first = await scans.scan(skills[0])
            assert first.verdict == "clean"
            for worker in scans._all:
                process = worker._process
                if process is not None and process.pid:
                    os.kill(process.pid, signal.SIGKILL)
            reports = [await scans.scan(path) for path in skills[1:4]]
            assert any(one.failed for one in reports)
            assert not reports[-1].failed

    anyio.run(scan)
