"""The process that `soak_sessions.py` kills: goes on with a session until it has so many finished turns.

Prints the number of each turn once it is safe on disk.
"""

import random
import sys

from clawft.agent.sessions import Session, SessionStore
from clawft.messages import Message, ToolCall, Usage

COMPACT_EVERY = 20


def make_messages(turn: int) -> list[Message]:
    """The messages of a turn: the same whenever they are made. Some are long, to be cut in the middle."""
    chance = random.Random(turn)
    calls = [ToolCall(f"{turn}-{number}", "read_file", {"path": "é" * chance.randrange(40)}) for number in range(3)]
    results = [
        Message("tool", f"{call.id} " + "x" * chance.choice((10, 3_000, 400_000)), tool_call_id=call.id)
        for call in calls
    ]
    return [Message("user", f"turn {turn}"), Message("assistant", None, tuple(calls)), *results, answer(turn)]


def answer(turn: int) -> Message:
    return Message("assistant", f"turn {turn} is done")


def run(session: Session, turns: int) -> None:
    while session.turns < turns:
        turn = session.next_turn
        for message in make_messages(turn):
            session.append(message, turn)
        if turn % COMPACT_EVERY == 0:
            session.compact(f"up to {turn}", 4)
        session.finish_turn(turn, usage=Usage(1, 1))
        print(turn, flush=True)


if __name__ == "__main__":
    with SessionStore(sys.argv[1]).open(sys.argv[2]) as opened:
        run(opened, int(sys.argv[3]))
