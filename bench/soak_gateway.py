"""`make soak`, fourth part: kill the gateway again and again while messages come in; each is answered once.

The other side of the channel lives through it all, and counts. Where it tells repeats by their key, each message has
exactly one answer; where it cannot, one that comes again says of itself that it may be a repeat.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from chaos import Process
from clawft.agent.sessions import SessionStore
from clawft.jobs.channels.admission import make_session_key
from clawft.jobs.channels.inbox import REPEAT
from gateway_remote import Remote
from gateway_world import GatewayWorld
from postgres import Postgres

STALL_S = 60.0


def main(messages: int = 1000, kills: int = 10, seed: int | None = None, *, server: bool = False) -> int:
    """Once with a remote side that tells repeats, once with one that cannot. How many things were not as they must."""
    seed = random.randrange(1 << 32) if seed is None else seed
    wrong: list[str] = []
    for deduplicates in (True, False):
        kind = "tells repeats" if deduplicates else "cannot tell repeats"
        print(f"soak of the gateway: {messages} messages, {kills} kills, a remote side that {kind}, seed {seed}")
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clawft-soak-")))
            runs = f'database = "{stack.enter_context(Postgres()).url()}"' if server else ""
            remote = stack.enter_context(Remote(deduplicates))
            room = "max_pending = 300\nmax_pending_of_one = 300"
            world = stack.enter_context(GatewayWorld(folder, remote, gateway=room, runs=runs))
            soak = GatewaySoak(world, random.Random(seed))
            soak.run(messages, kills, stops=kills // 3)
            wrong += soak.check()
            print(f"soak of the gateway: {soak.summary()}", flush=True)
    for line in wrong:
        print(f"WRONG  {line}")
    return len(wrong)


class GatewaySoak:
    """A gateway that is killed and started again, and people who write in several conversations."""

    def __init__(self, world: GatewayWorld, chance: random.Random) -> None:
        self.world = world
        self.remote = world.remote
        self.chance = chance
        self.kills = self.stops = 0
        self.written: dict[str, list[str]] = {}  # texts by conversation, in order
        self.ids: dict[str, tuple[str, str]] = {}

    def run(self, messages: int, kills: int, *, stops: int = 0) -> None:
        """Write messages, and kill or stop the gateway after parts of them were answered, at random moments."""
        begun = time.monotonic()
        conversations = max(4, min(50, messages // 8))
        for number in range(messages):
            conversation = f"c{self.chance.randrange(conversations)}"
            text = f"message {number}"
            name = self.remote.write(text, conversation, sender=f"p{number % 7}")
            self.written.setdefault(conversation, []).append(text)
            self.ids[name] = (conversation, text)
        process = self.world.start()
        for number in range(1, kills + stops + 1):
            self._wait(process, messages * number // (kills + stops + 1))
            time.sleep(self.chance.uniform(0, 0.2))
            if self.chance.randrange(kills + stops - number + 1) < kills - self.kills:
                process.kill()
                self.kills += 1
            else:
                self._stop(process)
                self.stops += 1
            process = self.world.start()
        self._wait(process, messages)
        self._stop(process)
        self.seconds = time.monotonic() - begun

    def _stop(self, process: Process) -> None:
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0, self.world.said[-4000:]

    def _wait(self, process: Process, goal: int) -> None:
        """Until so many were answered. Raises: AssertionError when nothing moves any more."""
        moved, last = time.monotonic(), -1
        while len(self.remote.answers()) < goal:
            now = len(self.remote.sent)
            moved, last = (moved, last) if now == last else (time.monotonic(), now)
            assert process.popen.poll() is None, f"the gateway ended: {self.world.said[-4000:]}"
            assert time.monotonic() - moved < STALL_S, f"nothing moves at {now}: {self.world.said[-6000:]}"
            time.sleep(0.02)

    def check(self) -> list[str]:
        """What is not as it must be."""
        wrong = [f"the gateway says: {one.said[-2000:]}" for one in self.world.processes if "Traceback" in one.said]
        answers = self.remote.answers()
        for name, (conversation, text) in self.ids.items():
            wrong += [f"{name}: {one}" for one in self._check_message(name, conversation, text)]
        strange = [one for one in answers if one not in self.ids]
        wrong += [f"answers to what nobody wrote: {strange[:5]}"] if strange else []
        wrong += [f"{len(self.remote.refused)} messages were refused"] if self.remote.refused else []
        store = SessionStore(str(self.world.user_dir / "sessions"))
        for conversation, texts in self.written.items():
            wrong += [f"{conversation}: {one}" for one in self._check_conversation(store, conversation, texts)]
        wanted, found = len(self.written), len(store.list())
        return wrong + ([f"{found} sessions for {wanted} conversations"] if wanted != found else [])

    def _check_message(self, name: str, conversation: str, text: str) -> list[str]:
        sent = self.remote.answers().get(name, [])
        plain = [one for one in sent if not one.text.startswith(REPEAT)]
        wrong = [] if sent else ["never answered"]
        if len(plain) > 1 or (self.remote.deduplicates and len(sent) != 1):
            wrong.append(f"answered {len(sent)} times, {len(plain)} without a mark")
        wrong += [f"marked without a word: {one}" for one in plain if one.is_repeat]
        for one in sent:
            if one.conversation != conversation or not one.text.endswith(f"re: {text}"):
                wrong.append(f"answered with {one}")
        return wrong

    def _check_conversation(self, store: SessionStore, conversation: str, texts: list[str]) -> list[str]:
        first: dict[str, None] = {}
        for one in self.remote.sent:
            if one.conversation == conversation:
                first.setdefault(one.text.removeprefix(f"{REPEAT}\n"))
        wrong = [] if list(first) == [f"re: {text}" for text in texts] else ["answered in another order"]
        session = store.read(make_session_key("line", conversation))
        said = [one.content for one in session.messages if one.role == "user"]
        if said != texts:
            twice = [text for text, count in Counter(said).items() if count > 1]
            wrong.append(f"its session has {len(said)} messages for {len(texts)}, twice: {twice[:5]}")
        return wrong

    def summary(self) -> str:
        answers = self.remote.answers()
        repeats = sum(len(one) - 1 for one in answers.values())
        return (
            f"{len(self.ids)} messages in {len(self.written)} conversations, {self.kills} kills, {self.stops} stops,"
            f" {len(answers)} answered, {repeats} repeats that say so, {self.remote.dropped} dropped,"
            f" {self.remote.given} times handed in, in {self.seconds:.0f} s"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--postgres", action="store_true", help="on a server")
    given = parser.parse_args()
    sys.exit(1 if main(given.messages, given.kills, given.seed, server=given.postgres) else 0)
