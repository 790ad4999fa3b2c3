"""Runs in the background without an engine: each is kept as the text that a database would hold, and done on demand."""

from uuid import uuid4

import msgspec

from clawft.agent.conversation import open_conversation
from clawft.agent.fork import prepare_background_fork
from clawft.agent.loop import work_turn
from clawft.agent.run_request import RunRequest
from clawft.agent.runtime import Approve
from clawft.app.app import open_app
from clawft.messages import Event
from world import World

__all__ = ["Kept"]


class Kept:
    """The runs of a world, as `Runtime.start_run` starts them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.texts: dict[str, bytes] = {}

    async def start(self, request: RunRequest) -> str:
        run = uuid4().hex[:8]
        self.texts[run] = msgspec.json.encode(request)
        return run

    def request(self, run: str = "") -> RunRequest:
        """What one was asked to do; the only one if none is named."""
        if not run:
            (run,) = self.texts
        return msgspec.json.decode(self.texts[run], type=RunRequest)

    async def work(self, run: str = "", approve: Approve | None = None) -> list[Event]:
        """Do one as a worker does: from its text, with everything as it is on disk now. Raises: ClawftError."""
        request, events = self.request(run), list[Event]()
        async with open_app(self._world.environ, request.cwd).open_runtime() as runtime:
            runtime.start_run = self.start
            agent = runtime.skills.find_agent(request.agent)
            opened = open_conversation(runtime, agent, key=request.session, approve=approve, lineage=request.lineage)
            async with opened as conversation:
                await work_turn(conversation, prepare_background_fork(conversation, request), events.append)
        return events
