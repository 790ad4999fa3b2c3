"""The namespaces that the commands of one session share: what they reach of each other, and what they do not."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished, Streams
from clawft.sandbox.room import SandboxRoom

pytestmark = pytest.mark.anyio
Box = Any
_SERVER = "exec python3 -m http.server -b 127.0.0.1 3000"
_FETCH = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:3000/\", timeout=5).status)'"


@pytest.fixture
def rooms(wrapped: Box) -> Iterator[list[SandboxRoom]]:
    made = [SandboxRoom(wrapped.sandbox.limits) for _ in range(2)]
    yield made
    for room in made:
        room.close()


async def run(box: Box, room: SandboxRoom, command: str, timeout_s: float = 60, **env: str) -> Finished:
    done: Finished = await box.sandbox.run(
        command,
        cwd=str(box.project),
        env={**box.env, **env},
        timeout_s=timeout_s,
        max_bytes=20_000,
        streams=Streams(),
        confinement=Confinement(writable=(str(box.project),)),
        room=room,
    )
    return done


async def say(box: Box, room: SandboxRoom, command: str) -> str:
    return (await run(box, room, command)).output.decode()


async def wait_until_it_answers(box: Box, room: SandboxRoom) -> None:
    with anyio.fail_after(60):
        while (await run(box, room, _FETCH)).code:
            await anyio.sleep(0.05)


async def test_later_command_reaches_a_server_and_ends_it(wrapped: Box, rooms: list[SandboxRoom]) -> None:
    ended: list[Finished] = []

    async def serve() -> None:
        ended.append(await run(wrapped, rooms[0], _SERVER, 600))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        await wait_until_it_answers(wrapped, rooms[0])
        assert "http.server" in await say(wrapped, rooms[0], "ps ax")
        assert (await run(wrapped, rooms[1], _FETCH)).code != 0
        assert "http.server" not in await say(wrapped, rooms[1], "ps ax")
        await run(wrapped, rooms[0], "pkill -f http.server")
    assert ended[0].code == -15


async def test_command_reads_nothing_of_another(wrapped: Box, rooms: list[SandboxRoom]) -> None:
    look = """
        for pid in $(ls /proc | grep '^[0-9]*$'); do
            [ $pid = $$ ] && continue
            for what in environ root cwd/ fd/0 mem ns/mnt; do cat /proc/$pid/$what; ls /proc/$pid/$what; done
        done; echo looked"""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: run(wrapped, rooms[0], "exec sleep 3217", MARK="s3cret-marker"))
        with anyio.fail_after(60):
            while "3217" not in await say(wrapped, rooms[0], "ps ax | grep '[s]leep'"):
                await anyio.sleep(0.05)
        told = await say(wrapped, rooms[0], look)
        assert "s3cret-marker" not in told
        assert told.splitlines()[-1] == "looked"
        trace = "import ctypes; print(ctypes.CDLL(None).ptrace(16, int(input()), 0, 0))"  # PTRACE_ATTACH
        assert await say(wrapped, rooms[0], f"pgrep -f 'sleep 3217' | head -1 | python3 -c '{trace}'") == "-1\n"
        tasks.cancel_scope.cancel()


async def test_all_that_a_command_started_ends_with_it(wrapped: Box, rooms: list[SandboxRoom]) -> None:
    done = await run(wrapped, rooms[0], "(setsid nohup sleep 3218 >/dev/null 2>&1 &); sleep 0.2; echo left")
    assert done.output == b"left\n"
    assert wrapped.find_running("sleep 3218".replace(" ", "\0")) == []
    done = await run(wrapped, rooms[0], "(setsid sleep 3219 &); sleep 3219", timeout_s=1)
    assert done.timed_out
    assert wrapped.find_running("3219") == []


async def test_room_that_ended_is_made_anew(wrapped: Box, rooms: list[SandboxRoom]) -> None:
    assert await say(wrapped, rooms[0], "echo 1") == "1\n"
    rooms[0].close()
    assert await say(wrapped, rooms[0], "echo 2") == "2\n"


async def test_first_process_and_limits_of_the_room_cannot_be_changed(wrapped: Box, rooms: list[SandboxRoom]) -> None:
    told = await say(wrapped, rooms[0], "kill -9 1; kill 1; echo 9 > /proc/sys/kernel/pid_max; unshare -Um true; ps 1")
    assert "room_server" in told
    assert "Operation not permitted" in told or "No space left" in told
    assert await say(wrapped, rooms[0], "echo still") == "still\n"


async def test_many_commands_run_beside_each_other(wrapped: Box, rooms: list[SandboxRoom]) -> None:
    told: list[str] = []

    async def work(number: int) -> None:
        told.append(await say(wrapped, rooms[0], f"sleep 0.1; echo {number}"))

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(work, number)
    assert sorted(told) == [f"{number}\n" for number in range(8)]


_KILLED = """
import sys, anyio
from clawft.config.tools import SandboxSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Streams
from clawft.sandbox.room import SandboxRoom
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

home, project = sys.argv[1:]
async def main():
    box = Sandbox(SandboxSettings(), Workspace(home, home + "/.clawft", project, project), {})
    await box.run("(setsid sleep 3220 &); exec sleep 3220", cwd=project, env={"PATH": "/usr/bin:/bin", "HOME": home},
        timeout_s=600, max_bytes=100, streams=Streams(), confinement=Confinement(writable=(project,)),
        room=SandboxRoom(box.limits))
anyio.run(main)
"""


def test_everything_ends_when_weft_is_killed(wrapped: Box, tmp_path: Path) -> None:
    weft = subprocess.Popen([sys.executable, "-c", _KILLED, str(wrapped.home), str(wrapped.project)])
    try:
        wait_for(lambda: len(wrapped.find_running("sleep\x003220")) >= 2)
    finally:
        weft.kill()
        weft.wait()
    wait_for(lambda: not wrapped.find_running("3220") and not _servers_of(weft.pid))


def _servers_of(pid: int) -> list[int]:
    """Servers of rooms that a process started and that outlived it."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes()
            if b"room_server" in line and f"PPid:\t{pid}\n" in Path(f"/proc/{name}/status").read_text():
                found.append(int(name))
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
