"""`make soak`: a daemon under mixed load, with clients that are killed and skills that come, break and go.

Nothing may be lost for who stays, memory must be flat once it is warm, and the log may hold no error that is not
documented.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx2
from websockets.asyncio.client import ClientConnection, connect

from serve_world import ServedDaemon, ServeWorld

WARM_SHARE = 0.35  # of the time: what is built up until then is not a leak
GROWTH = 1.10  # how much more memory there may be in the end than when it was warm
GROWTH_KB = 12_000
ANSWER_S = 60.0
SKILLS = 40
CODES = re.compile(r"`([a-z][a-z0-9-]+)`")


def main(seconds: float = 1_800.0, seed: int | None = None, pace: float = 1.0, *, memory: bool = True) -> int:
    """Return how many things went wrong. `pace` 0.3 asks at a third of the speed; `memory` also looks for leaks, which
    needs minutes."""
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"soak of the daemon: {seconds:.0f} s of mixed load, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="clawft-soak-") as folder:
        soak = ServeSoak(ServeWorld(Path(folder)), random.Random(seed), pace)
        with soak.world.serve() as served:
            soak.served = served
            anyio.run(soak.run, seconds)
            code = served.stop()
        wrong = [*soak.wrong, *soak.check(code), *(soak.check_memory() if memory else ())]
    print(f"soak of the daemon: {soak.summary()}", flush=True)
    for line, count in Counter(wrong).most_common(50):
        print(f"WRONG  {count} times: {line}")
    return len(wrong)


class ServeSoak:
    """Clients of several kinds, and somebody who edits skills."""

    served: ServedDaemon

    def __init__(self, world: ServeWorld, chance: random.Random, pace: float) -> None:
        self.world = world
        self.chance = chance
        self.pace = pace
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.memory: list[tuple[float, int]] = []
        world.config = "[serve.limits]\nreads_per_minute = 1000000\nwrites_per_minute = 1000000\n"
        text = "Here is a long answer, word by word, so that there are many events to tell. " * 4
        world.say([{"text": text, "delay_ms": 5}])
        for number in range(SKILLS):
            world.add_skill(f"skill-{number}", f"Do number {number} with $ARGUMENTS.\n")

    async def run(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        talking = (self._list, self._execute, self._chat, self._cancel, self._die, self._babble)
        with anyio.move_on_after(seconds + ANSWER_S):
            async with anyio.create_task_group() as group:
                group.start_soon(self._measure, until)
                group.start_soon(self._edit, until)
                group.start_soon(self._watch, until)
                for one in (*talking, self._stream, self._mcp):
                    for _ in range(2):
                        group.start_soon(self._again, one, until)
            await self._settle()

    async def _again(self, one: Any, until: float) -> None:
        while time.monotonic() < until:
            try:
                with anyio.fail_after(ANSWER_S):
                    await one()
                self.done[one.__name__.strip("_")] += 1
            except Exception as error:  # whatever it is, it is told
                self.wrong.append(f"{one.__name__}: {type(error).__name__}: {error}")
            await anyio.sleep(self.chance.uniform(0.02, 0.2) / self.pace)

    def _connect(self) -> connect:
        token = f"clawft.bearer.{self.served.token}"
        return connect(self.served.socket_url, subprotocols=["clawft.v1", token], max_size=None)  # type: ignore[list-item]

    async def _list(self) -> None:
        async with self._connect() as socket:
            for _ in range(5):
                answer, _events = await self._ask(socket, type="list_skills")
                self._expect(answer["type"] == "skills_list" and len(answer["skills"]) >= SKILLS // 2, "list", answer)

    async def _execute(self) -> None:
        async with self._connect() as socket:
            name = f"skill-{self.chance.randrange(SKILLS)}"
            answer, events = await self._ask(socket, type="execute_skill", name=name, arguments="all of it")
            if answer["type"] == "error":  # it is broken or gone just now
                self._expect(answer["error"]["code"] == "skill-not-found", "execute", answer)
                self.done["execute refused"] += 1
                return
            self._expect(answer["events"] == len(events), "events lost", answer)
            self._expect([one["sequence"] for one in events] == [*range(1, len(events) + 1)], "order", answer)
            fine = answer["status"] == "done" or (answer["error"] or {}).get("code", "").startswith("skill-")
            self._expect(fine, "execute", answer)

    async def _chat(self) -> None:
        async with self._connect() as socket:
            first, _ = await self._ask(socket, type="chat", text="hello")
            again, _ = await self._ask(socket, type="chat", text="and again", session=first["session"])
            self._expect(again["status"] == "done" and again["session"] == first["session"], "chat", again)

    async def _cancel(self) -> None:
        async with self._connect() as socket:
            await socket.send(json.dumps({"type": "chat", "id": "c", "text": "long"}))
            execution = json.loads(await socket.recv())["execution"]
            await socket.send(json.dumps({"type": "cancel", "id": "x", "execution": execution}))
            seen: set[str] = set()
            while not {"c", "x"} <= seen:
                told = json.loads(await socket.recv())
                if told["type"] != "event":
                    seen.add(told["id"])

    async def _die(self) -> None:
        """A client that is killed in the middle: its connection is gone without a word."""
        async with self._connect() as socket:
            await socket.send(json.dumps({"type": "execute_skill", "id": "d", "name": "skill-0", "arguments": "x"}))
            await socket.recv()
            socket.transport.abort()

    async def _babble(self) -> None:
        async with self._connect() as socket:
            for text in ("{", "[]", '{"type":"nothing"}', '{"type":"get_skill"}', '{"type":"chat","text":5}'):
                await socket.send(text)
                told = json.loads(await socket.recv())
                self._expect(told["type"] == "error" and bool(told["error"]["code"]), "babble", told)

    async def _stream(self) -> None:
        async with self._http() as client:
            path = f"/api/v1/skills/skill-{self.chance.randrange(SKILLS)}/execute"
            head = {"Accept": "text/event-stream"}
            async with client.stream("POST", path, json={"arguments": "x"}, headers=head) as response:
                body = "".join([part async for part in response.aiter_text()])
            self._expect(response.status_code in (200, 404), "stream", response.status_code)
            ended = "event: skill_result" in body or "error" in body
            self._expect(ended, "stream without an end", body[-200:])

    async def _mcp(self) -> None:
        head = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        async with self._http() as client:
            params = {"name": "skill-search", "arguments": {"query": "number"}}
            response = await client.post("/mcp", json={**call, "params": params}, headers=head)
            self._expect(response.status_code in (200, 400), "mcp", response.text[:200])

    def _http(self) -> httpx2.AsyncClient:
        head = {"Authorization": f"Bearer {self.served.token}"}
        return httpx2.AsyncClient(base_url=self.served.url, headers=head, timeout=ANSWER_S, trust_env=False)

    async def _ask(self, socket: ClientConnection, **request: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        await socket.send(json.dumps({"id": "1", **request}))
        events: list[dict[str, Any]] = []
        while True:
            told = json.loads(await socket.recv())
            if told["type"] == "event":
                events.append(told)
            elif told.get("id") == "1" and not told["type"].startswith("question"):
                return told, events

    async def _watch(self, until: float) -> None:
        """One who only listens: generations never go back."""
        async with self._connect() as socket:
            await socket.send(json.dumps({"type": "subscribe", "id": "s", "topics": ["skills", "executions"]}))
            last = 0
            while time.monotonic() < until:
                with anyio.move_on_after(1):
                    told = json.loads(await socket.recv())
                    if told["type"] == "skills_changed":
                        self._expect(told["generation"] >= last, "generation", told)
                        last = told["generation"]
                        self.done["changes heard"] += 1

    async def _edit(self, until: float) -> None:
        """Skills that are edited, broken, mended, removed and put back; now and then many at once."""
        folder = self.world.user_dir / "skills"
        while time.monotonic() < until:
            many = self.chance.random() < 0.1
            for number in self.chance.sample(range(SKILLS), SKILLS // 2 if many else 1):
                await asyncio.to_thread(self._edit_one, folder / f"skill-{number}", self.chance.random())
            self.done["edits"] += 1
            await anyio.sleep(self.chance.uniform(0.2, 1.5) / self.pace)

    def _edit_one(self, folder: Path, chance: float) -> None:
        file = folder / "SKILL.md"
        text = f"---\nname: {folder.name}\ndescription: Does {folder.name}, {chance}.\n---\n\nDo $ARGUMENTS.\n"
        if chance < 0.15 and folder.exists():
            file.unlink(missing_ok=True)
            folder.rmdir()
        elif chance < 0.3:
            folder.mkdir(exist_ok=True)
            file.write_text("---\nname: [broken\n---\n")
        else:
            folder.mkdir(exist_ok=True)
            fresh = folder / "SKILL.md.new"
            fresh.write_text(text)
            fresh.replace(file)  # as editors do

    async def _measure(self, until: float) -> None:
        started = time.monotonic()
        pause = max(0.2, (until - started) / 400)
        while time.monotonic() < until:
            self.memory.append((time.monotonic() - started, self.served.rss_kb))
            await anyio.sleep(pause)

    async def _settle(self) -> None:
        """When all have gone, nothing of theirs may go on."""
        async with self._http() as client:
            for _ in range(100):
                status = (await client.get("/api/v1/status")).json()
                if not status["executions"] and not status["waiting"]:
                    return
                await anyio.sleep(0.1)
        self.wrong.append(f"work goes on without a client: {status}")

    def _expect(self, fine: bool, what: str, told: object) -> None:
        if not fine:
            self.wrong.append(f"{what}: {str(told)[:300]}")

    def check(self, code: int) -> list[str]:
        """What is wrong with the daemon itself."""
        wrong = [f"it ended with {code}"] if code else []
        wrong += [f"on stderr: {line}" for line in self.served.errors]
        known = set(CODES.findall((Path(__file__).parents[1] / "docs" / "diagnostics.md").read_text()))
        for line in self.served.log:
            status = line["status"] if line.get("event") == "request" else 0  # work has one, too: a word
            found = line.get("code", "")
            if status >= 500 or (found and found not in known):
                wrong.append(f"in the log: {line}")
        return wrong

    def check_memory(self) -> list[str]:
        """Return what is wrong with how much memory the daemon takes."""
        warm, end = self.warm_and_end()
        if end > max(warm * GROWTH, warm + GROWTH_KB):
            return [f"memory grew from {warm} kB when it was warm to {end} kB"]
        return []

    def warm_and_end(self) -> tuple[int, int]:
        """The memory when it was warm, and in the end: of a tenth of the time each, the middle value."""
        whole = self.memory[-1][0]
        warm = sorted(size for at, size in self.memory if WARM_SHARE * whole <= at <= (WARM_SHARE + 0.15) * whole)
        end = sorted(size for at, size in self.memory if at >= 0.85 * whole)
        warm = warm or end  # a few seconds on a busy machine may have no sample in between
        return warm[len(warm) // 2], end[len(end) // 2]

    def summary(self) -> str:
        warm, end = self.warm_and_end()
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.done.items()))
        return f"{counts}; memory {warm / 1024:.0f} MB when warm, {end / 1024:.0f} MB in the end"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    sys.exit(1 if main(given.minutes * 60, given.seed) else 0)
