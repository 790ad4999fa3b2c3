"""The line about sessions: how long it takes to go on with a long one."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clawft.agent.sessions import SessionStore
from clawft.messages import Message, ToolCall, Usage
from lines import Sizes
from make_skills import make_body
from measure import Timed, best_ms
from report import Line

KEY = "bench:long"
TURN_MESSAGES = 4
COMPACT_EVERY = 125  # turns: about 500 messages fill a window


@dataclass(frozen=True)
class Texts:
    question: str
    result: str
    answer: str


def measure_open_session(folder: Path, sizes: Sizes) -> Line:
    """Opening means: ready to write, with the messages that the model should see, skills, turns and usage."""
    store = SessionStore(str(folder))
    path = write_session(store, sizes.many)

    def open_session() -> None:
        with store.open(KEY) as session:
            _ = (session.messages, session.activated, session.turns, session.usage)

    opened, read = best_ms(sizes.rounds, Timed(open_session), Timed(lambda: _read(path)))
    megabytes = os.path.getsize(path) / 1e6
    what = f"opening a session of {sizes.many} messages ({megabytes:.1f} MB), last compacted half a window ago"
    return Line("session", what, "reading the bytes of its file", opened, read, "ms", 3)


def write_session(store: SessionStore, count: int) -> str:
    """A session of so many messages, as agents write them; compacted now and then, as no window holds it all."""
    skill, summary = make_body(4_000), make_body(2_000)
    texts = Texts(make_body(200), make_body(2_000), make_body(1_000))
    with store.open(KEY, cwd="/work") as session:
        session.activate("research", skill, 1, scope="user")
        for turn in range(1, count // TURN_MESSAGES + 1):
            for message in _messages(turn, texts):
                session.append(message, turn)
            if turn % COMPACT_EVERY == COMPACT_EVERY // 2:
                session.compact(summary, 2 * TURN_MESSAGES)
            session.finish_turn(turn, usage=Usage(1_000, 100), model="local/some-model")
        return session.path


def _messages(turn: int, texts: Texts) -> Iterator[Message]:
    call = ToolCall(f"call_{turn}", "exec_shell", {"command": "ls -la", "timeout_s": 30})
    yield Message("user", texts.question)
    yield Message("assistant", None, (call,))
    yield Message("tool", texts.result, tool_call_id=call.id, name=call.name)
    yield Message("assistant", texts.answer)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
