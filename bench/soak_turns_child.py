"""The process that `soak_turns.py` kills: turns of a real runtime until the session has so many.

Prints the number of each turn when it is over.
"""

import sys
from contextlib import aclosing
from pathlib import Path

import anyio

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.app.app import open_app
from clawft.messages import TurnFinished


async def main(folder: Path, key: str, turns: int) -> None:
    app = open_app({"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}, str(folder / "project"))
    async with (
        app.open_runtime() as runtime,
        open_conversation(runtime, app.choose_agent(), key=key) as conversation,
    ):
        print("ready", flush=True)
        while conversation.session.turns < turns:
            number = conversation.session.next_turn
            async with aclosing(run_turn(conversation, TurnRequest(f"turn {number}"))) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        print(number, flush=True)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
