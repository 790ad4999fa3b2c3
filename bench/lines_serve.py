"""The lines of the daemon over its WebSocket: a large list, many clients at work, and an edit on its way to one."""

import asyncio
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.sync.client import ClientConnection as SyncConnection
from websockets.sync.client import connect as connect_sync

from make_skills import wait_until_settled, write_skills
from measure import Timed, best_ms
from report import Line
from serve_world import ServedDaemon, ServeWorld

TRIPS = 10
WORDS = 20
_LIMIT_LIST = 1.5
_LIMIT_KB = 200
_LIMIT_EDIT_MS = 400
_WAIT_S = 120.0
_OPEN = """
[serve.limits]
reads_per_minute = 10000000
writes_per_minute = 10000000
connections = 2000
executions = 500
"""
_LIST = '{"type":"list_skills","id":"1"}'


def measure_serve(folder: Path, *, quick: bool) -> list[Line]:
    """All of them, each with a `weft serve` of its own."""
    return [
        _measure_list(folder / "list", 10 if quick else 1_000, 2 if quick else 10),
        *_measure_clients(folder / "clients", 10 if quick else 500),
        _measure_edits(folder / "edits", 50 if quick else 5_000, 2 if quick else 40),
    ]


def _measure_list(folder: Path, skills: int, rounds: int) -> Line:
    world = _make_world(folder, skills)
    with world.serve("--quiet") as served, _open_sync(served.socket_url, served.token) as ours:
        text = _ask(ours)
        assert len(msgspec.json.decode(text)["skills"]) >= skills
        (folder / "list.json").write_text(text, "utf-8")
        with _bare(folder / "list.json") as url, _open_sync(url) as bare:

            def trips(connection: SyncConnection) -> None:
                for _ in range(TRIPS):
                    assert len(_ask(connection)) == len(text)

            for one in (ours, bare):  # so that both are warm
                trips(one)
            took, took_bare = best_ms(
                rounds, Timed(lambda: trips(ours), per=TRIPS), Timed(lambda: trips(bare), per=TRIPS)
            )
    what = f"`list_skills` over the daemon's WebSocket and back, {skills} skills ({len(text) // 1024} KB)"
    baseline = "a server of the same stack that sends the same bytes"
    return Line("serve-list", what, baseline, took, took_bare, "ms", _LIMIT_LIST)


def _ask(connection: SyncConnection) -> str:
    connection.send(_LIST)
    return str(connection.recv(_WAIT_S))


def _open_sync(url: str, token: str = "") -> SyncConnection:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return connect_sync(url, additional_headers=headers, proxy=None, compression=None, max_size=None)


@contextmanager
def _bare(file: Path) -> Iterator[str]:
    words = [sys.executable, str(Path(__file__).with_name("serve_bare.py")), str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"ws://127.0.0.1:{int(process.stdout.readline() if process.stdout else '')}/ws"
        finally:
            process.terminate()


def _measure_clients(folder: Path, clients: int) -> list[Line]:
    world = _make_world(folder, 5)
    world.add_skill("bench", "Count to $ARGUMENTS.")
    world.say([{"text": " ".join(map(str, range(WORDS)))}])
    with world.serve("--quiet") as served:
        missed, each_kb = anyio.run(_run_clients, served, clients)
    lost = f"events lost by {clients} WebSocket clients at once, each executing a skill (counted from 1)"
    memory = f"memory of the daemon for each of {clients} clients that are connected and have executed a skill"
    return [
        Line("serve-500", lost, "none", missed + 1, 1, "", 1),
        Line("serve-memory", memory, "what it may be", each_kb, _LIMIT_KB, "KB", 1),
    ]


async def _run_clients(served: ServedDaemon, clients: int) -> tuple[int, float]:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(_open(served))
        for number in range(5):
            await _execute(first, f"warm-{number}")
        before = served.rss_kb
        opened = [await stack.enter_async_context(_open(served)) for _ in range(clients)]
        missed = await asyncio.gather(*(_execute(one, str(number)) for number, one in enumerate(opened)))
        return sum(missed), (served.rss_kb - before) / clients


async def _execute(socket: ClientConnection, name: str) -> int:
    """How many events did not come, or not in their place."""
    await socket.send(f'{{"type":"execute_skill","id":"{name}","name":"bench","arguments":"{WORDS}"}}')
    heard: list[dict[str, Any]] = []
    with anyio.fail_after(_WAIT_S):
        while not heard or heard[-1]["type"] == "event":
            heard.append(msgspec.json.decode(await socket.recv()))
    *events, result = heard
    if result["type"] != "skill_result" or result["status"] != "done":
        raise RuntimeError(f"It was not executed: {result}")
    places: list[int] = [one["sequence"] for one in events]
    told: int = result["events"]
    return sum(at != place for at, place in enumerate(places, 1)) + abs(told - len(places))


def _measure_edits(folder: Path, skills: int, edits: int) -> Line:
    world = _make_world(folder, 0)
    for number in range(skills):
        world.add_skill(f"skill-{number}", description=f"Does thing {number}, when thing {number} is asked for.")
    wait_until_settled()
    world.write_config()
    words = [sys.executable, "-m", "clawft", "skills", "list"]  # so that each is scanned
    subprocess.run(words, cwd=world.project, env=world.environ, check=True, capture_output=True, timeout=600)
    with world.serve("--quiet") as served:
        took = anyio.run(_run_edits, served, world, edits)
    took_ms = sorted(took)[math.ceil(0.95 * len(took)) - 1]
    what = f"an edit on disk until a WebSocket client knows of it, {skills} skills, 95th percentile of {edits}"
    return Line("serve-edit", what, "what it may take", took_ms, _LIMIT_EDIT_MS, "ms", 1)


async def _run_edits(served: ServedDaemon, world: ServeWorld, edits: int) -> list[float]:
    files = sorted(world.user_dir.glob("skills/*/SKILL.md"))
    took = []
    async with _open(served) as socket:
        await socket.send('{"type":"subscribe","id":"1","topics":["skills"]}')
        await socket.recv()
        for number in range(edits):
            file = files[number * len(files) // edits]
            text = file.read_text("utf-8") + f"\nEdit {number}.\n"
            began = time.perf_counter()
            file.write_text(text, "utf-8")
            with anyio.fail_after(_WAIT_S):
                change = msgspec.json.decode(await socket.recv())
            took.append((time.perf_counter() - began) * 1000)
            if [one["path"] for one in change["changed"]] != [str(file)]:
                raise RuntimeError(f"{file} was changed, and this was told: {change}")
    return took


def _open(served: ServedDaemon) -> connect:
    headers = {"Authorization": f"Bearer {served.token}"}
    return connect(served.socket_url, additional_headers=headers, proxy=None, compression=None, max_size=None)


def _make_world(folder: Path, skills: int) -> ServeWorld:
    world = ServeWorld(folder)
    world.config = _OPEN
    write_skills(world.user_dir / "skills", skills)
    wait_until_settled()
    return world
