"""What a confined program can open for writing: what it was given, and nothing of the machine."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio
Box = Any
# Nothing is written, and nothing that would wait is waited for.
WALK = """
import os
tops = ["/proc", "/dev", "/etc", "/run", "/var", "/opt", "/srv", "/sys", "/tmp", "/home", "/root", "."]
for top in tops:
    for folder, folders, names in os.walk(top):
        if folder == "/proc":
            folders[:] = [one for one in folders if not one.isdecimal()]
        for name in names:
            path = os.path.join(folder, name)
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY))
            except OSError:
                continue
            print(path)
"""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/")


async def test_only_the_project_and_harmless_devices_can_be_opened_for_writing(box: Box) -> None:
    (box.project / "walk.py").write_text(WALK)
    (box.project / "notes.txt").touch()
    done = await box.run("/usr/bin/python3 walk.py")
    opened = set(done.output.decode().splitlines())
    assert done.code == 0, done
    assert {"./walk.py", "./notes.txt"} <= opened
    given = ("./", str(box.project), *(f"/dev/{name}" for name in DEVICES))
    assert [path for path in sorted(opened) if not path.startswith(given)] == []


async def test_settings_of_the_kernel_can_be_read_and_not_changed(box: Box) -> None:
    said = await box.say("cat /proc/sys/kernel/ostype; : > /proc/sys/kernel/core_pattern; echo $?")
    assert said.startswith("Linux\n")
    assert not said.endswith("\n0\n")
