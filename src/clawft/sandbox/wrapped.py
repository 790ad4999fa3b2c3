"""One program in bubblewrap, from its start to the end of the last process it left."""

import os
import re
import resource
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from types import TracebackType

import anyio
from msgspec import structs

from clawft.errors import ClawftError, Refused
from clawft.sandbox.bubblewrap import view_flags
from clawft.sandbox.confinement import Limits
from clawft.sandbox.filter import INSIDE_NAMESPACE, build_filter
from clawft.sandbox.job import Job, signal_code
from clawft.sandbox.listener import open_listener
from clawft.sandbox.mounted import expect, find_wrong, is_mounted
from clawft.sandbox.numbers import limit_numbers
from clawft.sandbox.process import Finished, Launch
from clawft.sandbox.proxy import serve_proxy
from clawft.sandbox.watch import of_namespace, watch

__all__ = ["CHANGED", "FAILED", "Wrapped", "give_files"]

_CHILD = re.compile(rb'"child-pid": (\d+)[^\d]')
_NAMESPACE = re.compile(rb'"pid-namespace": (\d+)')
_EXIT = re.compile(rb'"exit-code": (\d+)')
_END_S = 5.0
_MOUNT_S = 60.0
_POLL_S = 0.0005
CHANGED, FAILED = "sandbox-changed", "sandbox-failed"
NOT_FOUND = 127  # as shells have it
# Before, the kernel counted all processes of the user, wherever they run.
_COUNTS_APART = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 14)


class Wrapped:
    """Holds the descriptors that bubblewrap and we speak through, and the first process inside."""

    def __init__(self, bwrap: str, base: Sequence[str], job: Job) -> None:
        """`base` are the flags of every program. Raises: ClawftError; OSError."""
        flags = (*base, *view_flags(job.view, job.env, job.cwd))
        rest = _join(flags)
        self._job = job
        try:
            self._expected = expect(job.view, base)
        except OSError as error:
            raise changed_meanwhile(error.filename) from error
        self._said = b""
        self._child = 0
        self._pidfd = -1
        self._exceeded = ""
        self._failure: ClawftError | None = None
        self._status, status = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        block, self._block = os.pipe2(os.O_CLOEXEC)
        self._given = [status, block]
        own = ["--json-status-fd", str(status), "--block-fd", str(block), *give_files(self._given)]
        # Files first: the root that they stand in is made read-only by the last of the flags.
        args = _memory_file(_join(own) + rest)
        self._given.append(args)
        line = (bwrap, "--args", str(args), "--", *job.words)
        self.launch = Launch(
            line, "/", {}, tuple(self._given), self._attend, self._kill, settle=self._settle, finish=self.finish
        )

    def __enter__(self) -> "Wrapped":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_given()
        for descriptor in (self._status, self._block, self._pidfd):
            if descriptor >= 0:
                os.close(descriptor)

    def finish(self, finished: Finished) -> Finished:
        """How the program itself ended, not bubblewrap. Raises: ClawftError if it was never started."""
        self._read_status()
        if self._failure:
            raise self._failure
        ended = _EXIT.search(self._said)
        if ended is None and finished.code >= 0 and not self._exceeded:
            said = (finished.errors or finished.output).decode("utf-8", "replace").strip()
            if said.startswith("bwrap: execvp ") and said.endswith(": No such file or directory"):
                return structs.replace(finished, code=NOT_FOUND)
            raise ClawftError(FAILED, f"The sandbox could not be made: {said[-500:]}")
        return structs.replace(finished, code=signal_code(finished.code), exceeded=self._exceeded)

    async def _attend(self, _: int) -> None:
        """Set limits on the first process inside, let it go, and watch what becomes of it."""
        self._close_given()
        while not (child := _CHILD.search(self._said)):
            await anyio.wait_readable(self._status)
            if not self._read_status():
                return  # bubblewrap says itself why it gives up
        self._child = int(child[1])
        with suppress(OSError):
            self._pidfd = os.pidfd_open(self._child)
        with suppress(ProcessLookupError):
            _set_limits(self._child, self._job.limits)
        async with anyio.create_task_group() as tasks:
            if self._job.gate:
                try:
                    listener = await open_listener(self._child)
                except OSError as error:
                    message = f"The sandbox's network could not be reached: {error}"
                    self._failure = ClawftError("sandbox-network", message)
                    self._kill()
                    return
                tasks.start_soon(serve_proxy, listener, self._job.gate, self._job.quiet_s)
            if wrong := await self._find_wrong():
                self._failure = changed_meanwhile(wrong)
                self._kill()
                tasks.cancel_scope.cancel()
                return
            with suppress(BrokenPipeError):
                os.write(self._block, b"1")
            namespace = _NAMESPACE.search(self._said)
            name, most = namespace[1].decode() if namespace else "", self._job.limits.processes
            limit = partial(tasks.start_soon, limit_numbers, self._child, name, most)
            self._exceeded = await watch(of_namespace(self._child), self._job.limits, limit)
            self._kill()
            tasks.cancel_scope.cancel()

    async def _find_wrong(self) -> str:
        """What is mounted otherwise than it must be; '' also where the program ends before all is mounted."""
        try:
            with anyio.fail_after(_MOUNT_S):
                while not is_mounted(self._child):
                    await anyio.sleep(_POLL_S)
            return find_wrong(self._child, self._expected)
        except (OSError, TimeoutError):
            ended = self._pidfd < 0 or bool(select.select([self._pidfd], [], [], 0)[0])
            return "" if ended else "/"

    def _read_status(self) -> bool:
        """Read what bubblewrap tells; False at the end of it."""
        try:
            said = os.read(self._status, 4096)
        except BlockingIOError:
            return True
        self._said += said
        return bool(said)

    def _kill(self) -> None:
        """End the first process, and with it all the others: it is their namespace's init."""
        if self._pidfd >= 0:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def _settle(self) -> None:
        self._kill()
        if self._pidfd >= 0 and not select.select([self._pidfd], [], [], 0)[0]:
            with anyio.move_on_after(_END_S):
                await anyio.wait_readable(self._pidfd)

    def _close_given(self) -> None:
        for descriptor in self._given:
            os.close(descriptor)
        self._given.clear()


def changed_meanwhile(path: str | None) -> Refused:
    """The error for a place that became another one while the sandbox was made."""
    message = "Files were exchanged for others while the sandbox was made, so nothing was run in it"
    return Refused(CHANGED, message, path=path or "", hint="End the program that does that, and try again")


def give_files(given: list[int]) -> list[str]:
    """The flags for files that bubblewrap reads from descriptors, which are added to `given`. Raises: OSError."""
    flags: list[str] = []
    for path, content in _files().items():
        given.append(_memory_file(content))
        flags += "--file", str(given[-1]), path
    if filtered := _filter():
        given.append(_memory_file(filtered))
        flags += "--seccomp", str(given[-1])
    return flags


@cache
def _filter() -> bytes | None:
    return build_filter(INSIDE_NAMESPACE, namespaces=True)


@cache
def _files() -> dict[str, bytes]:
    """Small files that programs look for; the machine's own tell more than they need."""
    user, group = os.getuid(), os.getgid()
    line = f"user:x:{user}:{group}::/:/bin/sh\n" if user else ""
    nobody = "nobody:x:65534:65534::/:/bin/false\n"
    return {
        "/etc/passwd": f"root:x:0:0::/root:/bin/sh\n{line}{nobody}".encode(),
        "/etc/group": f"root:x:0:\n{f'user:x:{group}:' if group else ''}\nnogroup:x:65534:\n".replace(
            "\n\n", "\n"
        ).encode(),
        "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
    }


def _join(words: Sequence[str]) -> bytes:
    """Words as bubblewrap reads them. One with a NUL in it would be several, and could grant what nobody granted.

    Raises: ClawftError.
    """
    text = "\0".join(words)
    if text.count("\0") != len(words) - 1:
        raise ClawftError("sandbox-failed", "A path or variable for a confined program has a NUL character")
    return os.fsencode(text) + b"\0"


def _memory_file(content: bytes) -> int:
    """A file in memory, to be read from its start."""
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _set_limits(pid: int, limits: Limits) -> None:
    """Raises: ProcessLookupError if it has ended."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: limits.data_bytes or limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
    }
    if _COUNTS_APART:
        wanted[resource.RLIMIT_NPROC] = limits.processes
    for what, value in wanted.items():
        _, hard = resource.prlimit(pid, what)
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, what, (lower, lower))
