"""The parts that the commands of one session share: a `/tmp`, namespaces, the folder they start in, and processes in
the background."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Thread

import anyio
from anyio.abc import TaskGroup

from clawft.files import real_path
from clawft.sandbox.background import BackgroundProcesses
from clawft.sandbox.child import close_tasks
from clawft.sandbox.room import SandboxRoom
from clawft.sandbox.sandbox import Sandbox
from clawft.sandbox.session_tmp import prune_session_tmps

_TMP = "tmp"  # in the folder of a session's output, with which it is removed


class CommandSession:
    """The commands of one session, with those of its forks. `tmp` is the folder that they see as /tmp."""

    def __init__(self, sandbox: Sandbox, output_dir: str, tasks: TaskGroup) -> None:
        self.tmp = os.path.join(real_path(output_dir), _TMP)
        self.room = SandboxRoom(sandbox.limits)
        self.processes = BackgroundProcesses(tasks)
        self.users = 0  # conversations that are open
        self.cwd = ""  # where commands start that name no folder, if the model chose one

    async def close(self) -> None:
        """End all that runs in it."""
        await self.processes.close()
        self.room.close()


class CommandSessions:
    """Those of one process, by the key of the session."""

    def __init__(self, sandbox: Sandbox, output_dir: Callable[[str], str], tasks: TaskGroup) -> None:
        """`output_dir` tells the folder of a session, and `tasks` hold the processes in the background."""
        self._sandbox = sandbox
        self._output_dir = output_dir
        self._tasks = tasks
        self._sessions: dict[str, CommandSession] = {}

    def get(self, key: str) -> CommandSession:
        if not self._sessions:  # nobody has to wait until what older ones left is removed
            folder = os.path.dirname(self._output_dir(key))
            Thread(target=prune_session_tmps, args=(folder, _TMP), daemon=True).start()
        if key not in self._sessions:
            self._sessions[key] = CommandSession(self._sandbox, self._output_dir(key), self._tasks)
        return self._sessions[key]

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Keep the session's namespaces for a conversation; after the last of them only for what runs in the
        background."""
        session = self.get(key)
        session.users += 1
        try:
            yield
        finally:
            session.users -= 1
            if not session.users and not session.processes.running:
                with anyio.CancelScope(shield=True):  # every wait inside is bounded
                    await self.end(key)

    async def end(self, key: str) -> None:
        """End what a session has running."""
        if session := self._sessions.pop(key, None):
            await session.close()

    async def close(self) -> None:
        for key in list(self._sessions):
            await self.end(key)


@asynccontextmanager
async def open_command_sessions(sandbox: Sandbox, output_dir: Callable[[str], str]) -> AsyncIterator[CommandSessions]:
    """Open those of a process; on leaving, end all that runs in them."""
    tasks = await anyio.create_task_group().__aenter__()
    sessions = CommandSessions(sandbox, output_dir, tasks)
    try:
        yield sessions
    finally:
        with anyio.CancelScope(shield=True):  # every wait inside is bounded
            await sessions.close()
        await close_tasks(tasks)
