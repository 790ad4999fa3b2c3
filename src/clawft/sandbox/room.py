"""The room of a session: the namespaces of users, network, processes and IPC that its commands share under bubblewrap.

Each command still has a view of the files and a user namespace of its own: it can see, signal and connect to the others
of its session, and read nothing of what they hold. A command is known by its mount namespace, which nothing inside
can leave. The room ends with weft, also when that is killed.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import anyio

from clawft.sandbox.confinement import ResourceLimits
from clawft.sandbox.process import Launch, Streams
from clawft.sandbox.room_server import PROC
from clawft.sandbox.watch import Census

_SERVER = os.path.join(os.path.dirname(__file__), "room_server.py")
_ANSWER_S = 30.0
_SESSION_SHARE = 4  # as root the kernel limits the processes of a room, which holds several commands
_LEAST = 400  # the kernel takes no lower limit than 301
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# The flags of bubblewrap for what a room shares, and what it shows of the processes instead.
_SHARED = frozenset({"--unshare-ipc", "--unshare-pid", "--unshare-net"})
_OWN_PROC = ("--proc", "/proc")
_ROOM_PROC = ("--ro-bind", PROC, "/proc")


def share_flags(base: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of every program, for one that is started in a room."""
    flags = [flag for flag in base if flag not in _SHARED]
    at = next(index for index in range(len(flags)) if tuple(flags[index : index + 2]) == _OWN_PROC)
    return (*flags[:at], *_ROOM_PROC, *flags[at + 2 :])


class SandboxRoom:
    """One room, from its first command to its end. Used in one thread."""

    def __init__(self, limits: ResourceLimits) -> None:
        self._processes = max(limits.processes, _LEAST) * _SESSION_SHARE
        self._server: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._shown = -1
        self._opening = anyio.Lock()
        self.problem = ""  # why there is none

    @property
    def is_open(self) -> bool:
        return self._requests is not None

    async def open(self) -> bool:
        """Make it, unless it is there; whether it is there now."""
        async with self._opening:
            if self.is_open and not _has_ended(self._server):
                return True
            self.close()
            if not self.problem:
                try:
                    await self._open()
                except OSError as error:
                    self.problem = f"no shared namespaces could be made: {error}"
                    self.close()
            return self.is_open

    async def _open(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests = ours
        with theirs:
            ours.settimeout(_ANSWER_S)
            words = (sys.executable, "-I", "-S", _SERVER, str(theirs.fileno()), str(self._processes))
            self._server = subprocess.Popen(
                words,
                cwd="/",
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        with anyio.move_on_after(_ANSWER_S):
            await anyio.wait_readable(ours)
        _, (self._shown,) = self._receive()

    def close(self) -> None:
        """End everything in it."""
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._shown >= 0:
            os.close(self._shown)
            self._shown = -1
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    def listen(self) -> socket.socket:
        """A socket that listens on a free port of the room's loopback. Raises: OSError."""
        return socket.socket(fileno=self._ask("listen", [])[1][0])

    def start(self, launch: Launch, streams: Streams) -> "RoomProcess":
        """Start a launch of bubblewrap in it. Raises: OSError."""
        with _opened_pipes(has_input=bool(streams.stdin), merged=streams.merged) as (theirs, ours):
            control, its = socket.socketpair()
            task = os.memfd_create("task", os.MFD_CLOEXEC)
            try:
                os.write(task, json.dumps([os.fsdecode(word) for word in launch.words]).encode())
                os.lseek(task, 0, os.SEEK_SET)
                numbers = [0, 1, 2, *launch.pass_fds]
                answer, _ = self._ask(numbers, [task, its.fileno(), *theirs, *launch.pass_fds])
            except BaseException:
                control.close()
                raise
            finally:
                os.close(task)
                its.close()
            return RoomProcess(answer["pid"], control, [os.dup(number) if number >= 0 else -1 for number in ours])

    def list_members(self, mounts: int) -> Census:
        """The processes of the command whose mount namespace has this number."""

        def census(most: int) -> list[str]:
            found = []
            for name in self._list():
                with suppress(OSError):
                    if _is_member(f"/proc/self/fd/{self._shown}/{name}", mounts):
                        found.append(f"/proc/self/fd/{self._shown}/{name}")
                        if len(found) == most:
                            break
            return found

        return census

    def kill_members(self, mounts: int) -> bool:
        """Kill all processes of a command; whether there were any."""
        found = False
        for name in self._list():
            with suppress(OSError):
                folder = os.open(name, _FOLDER, dir_fd=self._shown)
                try:
                    if _is_member(f"/proc/self/fd/{folder}", mounts):
                        found = True
                        signal.pidfd_send_signal(folder, signal.SIGKILL)
                finally:
                    os.close(folder)
        return found

    def _list(self) -> list[str]:
        if self._shown < 0:
            return []
        try:
            return [name for name in os.listdir(self._shown) if name.isdecimal() and name != "1"]
        except OSError:
            return []

    def _ask(self, what: object, descriptors: list[int]) -> tuple[dict[str, Any], list[int]]:
        if self._requests is None:
            raise OSError("the session's namespaces have ended")
        socket.send_fds(self._requests, [json.dumps(what).encode()], descriptors)
        return self._receive()

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        assert self._requests is not None
        text, descriptors, _, _ = socket.recv_fds(self._requests, 4096, 4)
        answer: dict[str, Any] = (
            json.loads(text) if text else {"error": "the server of the session's namespaces has ended"}
        )
        if "error" in answer:
            raise OSError(answer["error"])
        return answer, descriptors


class RoomProcess:
    """A program that a room's server started; what `run_launch` needs of a process."""

    def __init__(self, pid: int, control: socket.socket, pipes: list[int]) -> None:
        """`control` tells its end; until it is closed, nothing else gets its number."""
        self.pid = pid
        self._control = control
        stdin, stdout, stderr = pipes
        self.stdin: IO[bytes] | None = os.fdopen(stdin, "wb", 0) if stdin >= 0 else None
        self.stdout: IO[bytes] | None = os.fdopen(stdout, "rb", 0)
        self.stderr: IO[bytes] | None = os.fdopen(stderr, "rb", 0) if stderr >= 0 else None
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, None while it runs. Once that is known the number is free for others."""
        if self.returncode is None and select.select([self._control], [], [], 0)[0]:
            code = self._control.recv(64)
            self.returncode = int(code) if code else -signal.SIGKILL
            self._control.close()
        return self.returncode

    def wait(self) -> int:
        """Wait for its end; in a thread."""
        while self.poll() is None:
            select.select([self._control], [], [], 1.0)
        return self.returncode or 0


def _has_ended(server: "subprocess.Popen[bytes] | None") -> bool:
    return server is None or server.poll() is not None


def _is_member(folder: str, mounts: int) -> bool:
    return os.readlink(f"{folder}/ns/mnt") == f"mnt:[{mounts}]"


@contextmanager
def _opened_pipes(*, has_input: bool, merged: bool) -> Iterator[tuple[list[int], list[int]]]:
    """Their ends of stdin, stdout and stderr, and ours, -1 where there is none; all are closed in the end."""
    opened: list[int] = []

    def keep(*descriptors: int) -> tuple[int, ...]:
        opened.extend(descriptors)
        return descriptors

    try:
        if has_input:
            stdin, our_stdin = keep(*os.pipe2(os.O_CLOEXEC))
        else:
            (stdin,), our_stdin = keep(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)), -1
        our_stdout, stdout = keep(*os.pipe2(os.O_CLOEXEC))
        our_stderr, stderr = (-1, stdout) if merged else keep(*os.pipe2(os.O_CLOEXEC))
        yield [stdin, stdout, stderr], [our_stdin, our_stdout, our_stderr]
    finally:
        for descriptor in opened:
            os.close(descriptor)
