"""Bubblewrap: one program in namespaces of its own, from its start to the end of its last process."""

import os
import re
import resource
import select
import shutil
import signal
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache

import anyio
from anyio import Event
from msgspec import structs

from clawft.errors import ClawftError
from clawft.files import is_within_any
from clawft.sandbox.confinement import ResourceLimits
from clawft.sandbox.filter import INSIDE_NAMESPACE, build_filter
from clawft.sandbox.guard import FolderGuard
from clawft.sandbox.listener import open_listener
from clawft.sandbox.mounts import find_expected_mounts, find_mount_mismatch, is_mounted
from clawft.sandbox.pinned_path import make_changed_error
from clawft.sandbox.process import Finished, Launch
from clawft.sandbox.proxy import serve_proxy
from clawft.sandbox.room import SandboxRoom
from clawft.sandbox.session_tmp import tmp_flags
from clawft.sandbox.visible_files import ETC, FOLDERS, ConfinedProgram, VisibleFiles, signal_code
from clawft.sandbox.watch import list_namespace_processes, watch

_ALONE = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv",
)  # fmt: skip


def base_flags(home: str, limits: ResourceLimits, *, nested: bool, etc: Sequence[str] = ETC) -> list[str]:
    """Namespaces and the minimal root. `nested` keeps user namespaces usable, where they cannot be turned off."""
    flags = [*_ALONE, *(() if nested else ("--disable-userns",))]
    for folder in FOLDERS:
        if os.path.islink(folder):
            flags += "--symlink", os.readlink(folder), folder
        elif os.path.isdir(folder):
            flags += "--ro-bind", folder, folder
    for name in etc:
        if os.path.lexists(f"/etc/{name}"):
            flags += _show_setting(f"/etc/{name}")
    room = str(limits.tmp_bytes)
    # Root may write below /proc/sys and the like without any capability, since the files are root's.
    flags += "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", room, "--tmpfs", "/dev/shm"
    for folder in ("/tmp", "/var/tmp"):
        flags += "--perms", "1777", "--size", room, "--tmpfs", folder
    flags += "--dir", "/run"
    if home and home != "/" and not home.startswith(("/usr/", "/proc", "/dev")):
        flags += "--perms", "0700", "--size", room, "--tmpfs", home
    return flags


def _show_setting(path: str) -> Sequence[str]:
    """A link into the system's own folders stays one: it tells the name of the time zone, without which Deno and Node
    compare every zone that there is, for 12 ms."""
    real = os.path.realpath(path)
    if os.path.islink(path) and is_within_any(real, FOLDERS):
        return ("--symlink", real, path)
    return ("--ro-bind-try", path, path)


def visible_flags(visible: VisibleFiles, env: Mapping[str, str], cwd: str) -> list[str]:
    """Return the flags for what one program sees of the rest of the machine, and for its environment."""
    flags: list[str] = []
    for place, seen in visible.readable:
        flags += "--ro-bind-try", place.path, seen
    for root, guard in visible.writable:
        flags += _root_flags(root.path, guard)
    hidden = [path for _, guard in visible.writable for path in guard.hidden] + [*visible.hidden]
    inside = [seen for _, seen in (*visible.inside, *visible.mounts)]
    below = [path for path in hidden if is_within_any(path, inside)]
    for path in hidden:
        flags += () if path in below else _hide(path)
    for place, seen in visible.copies:
        flags += "--bind", place.path, seen
    for place, seen in (*visible.inside, *visible.mounts):  # these may lie in a place that is hidden as a whole
        flags += "--ro-bind", place.path, seen
    for path in below:
        flags += () if path in inside else _hide(path)
    flags += _bind("--bind", (place.path for place in visible.own))
    for target, link in visible.links:
        flags += "--symlink", target, link
    for path in (*filter(os.path.isdir, hidden), "/"):
        flags += "--remount-ro", path
    flags += "--chdir", cwd
    for name, value in env.items():
        flags += "--setenv", name, value
    return flags


def _root_flags(root: str, guard: FolderGuard) -> list[str]:
    flags = ["--bind" if guard.children is None else "--ro-bind", root, root]
    flags += _bind("--bind-try", (*(guard.children or ()), *guard.pinned))  # what is mounted cannot be moved
    flags += _bind("--ro-bind-try", guard.read_only)
    return flags + _bind("--ro-bind", guard.missing)


def _bind(flag: str, paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in (flag, path, path)]


def _hide(path: str) -> Sequence[str]:
    """A folder is empty and cannot be listed; a file is a device that cannot be opened where no device may be."""
    if os.path.isdir(path):
        return ("--perms", "0111", "--tmpfs", path)
    return ("--ro-bind-try", "/dev/null", path)


_SILENT = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
_JOINED = 3  # the descriptor of the namespace in the program that joins it
_LEAST = 400  # the kernel takes no less than 301


async def limit_numbers(pid: int, namespace: str, processes: int) -> None:
    """Limit the namespace that the process `pid` is in, where it can be done."""
    kernel = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if os.geteuid() != 0 or kernel < (6, 14) or not namespace:
        return
    nsenter = shutil.which("nsenter", path="/usr/bin:/bin")
    if nsenter is None:
        return
    script = f"echo {max(processes, _LEAST)} > /proc/sys/kernel/pid_max"
    words = (nsenter, f"--pid=/proc/self/fd/{_JOINED}", "/bin/sh", "-c", script)
    # By the quickest way there is, since every command waits for it; to its end, whatever happens: if it were killed,
    # nobody near would reap what it left in the namespace.
    with suppress(OSError), anyio.CancelScope(shield=True), open_namespace(pid) as joined:
        number = os.fstat(joined).st_ino
        if number != int(namespace) or number == os.stat("/proc/self/ns/pid").st_ino:
            return  # another's: the number of an ended process was given anew
        actions = [*_SILENT, (os.POSIX_SPAWN_DUP2, joined, _JOINED)]
        child = os.posix_spawn(nsenter, words, {"PATH": "/usr/bin:/bin"}, file_actions=actions, setsid=True)
        descriptor = os.pidfd_open(child)
        try:
            await anyio.wait_readable(descriptor)
        finally:
            os.close(descriptor)
            os.waitpid(child, 0)


@contextmanager
def open_namespace(pid: int) -> Iterator[int]:
    """Open the namespace of process numbers that a process is in. Raises: OSError."""
    descriptor = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_CHILD = re.compile(rb'"child-pid": (\d+)[^\d]')
_NAMESPACE = re.compile(rb'"pid-namespace": (\d+)')
_EXIT = re.compile(rb'"exit-code": (\d+)')
_END_S = 5.0
_MOUNT_S = 60.0
_POLL_S = 0.0005
FAILED = "sandbox-failed"
NOT_FOUND = 127  # as shells have it
# Before, the kernel counted all processes of the user, wherever they run.
_COUNTS_APART = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 14)


class BubblewrapRun:
    """Holds the descriptors that bubblewrap and we speak through, and the first process inside."""

    def __init__(
        self,
        bwrap: str,
        base: Sequence[str],
        job: ConfinedProgram,
        room: SandboxRoom | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        """`base` are the flags of every program, and `room` what it shares with others, where the proxy listens on
        `listener`. Raises: ClawftError; OSError."""
        base = tmp_flags(base, job.visible.tmp)
        flags = (*base, *visible_flags(job.visible, job.env, job.cwd))
        rest = _join(flags)
        self._job = job
        self._room = room
        self._listener = listener
        self._mounts = 0  # the number of its mount namespace
        self._expected = find_expected_mounts(job.visible, base)
        self._status_text = b""
        self._child = 0
        self._pidfd = -1
        self._exceeded = ""
        self._limited = Event()
        self._failure: ClawftError | None = None
        self._status, status = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        block, self._block = os.pipe2(os.O_CLOEXEC)
        self._passed = [status, block]
        own = [
            "--json-status-fd",
            str(status),
            "--block-fd",
            str(block),
            *give_files(self._passed, lone=room is not None),
        ]
        # Files first: the root that they stand in is made read-only by the last of the flags.
        args = _memory_file(_join(own) + rest)
        self._passed.append(args)
        line = (bwrap, "--args", str(args), "--", *job.words)
        self.launch = Launch(
            line,
            "/",
            {},
            tuple(self._passed),
            self._attend,
            self._kill,
            settle=self._settle,
            finish=self._finish,
            start=room.start if room else None,
        )

    def close(self) -> None:
        self._close_passed()
        if self._listener:
            self._listener.close()
        for descriptor in (self._status, self._block, self._pidfd):
            if descriptor >= 0:
                os.close(descriptor)

    def _finish(self, finished: Finished) -> Finished:
        """Return the result of the program itself, not of bubblewrap. Raises: ClawftError if it was never started."""
        self._read_status()
        if self._failure:
            raise self._failure
        ended = _EXIT.search(self._status_text)
        if ended is None and finished.code >= 0 and not self._exceeded:
            message = (finished.errors or finished.output).decode("utf-8", "replace").strip()
            if message.startswith("bwrap: execvp ") and message.endswith(": No such file or directory"):
                return structs.replace(finished, code=NOT_FOUND)
            raise ClawftError(FAILED, f"The sandbox could not be made: {message[-500:]}")
        return structs.replace(finished, code=signal_code(finished.code), exceeded=self._exceeded)

    async def _attend(self, pid: int) -> None:
        """Set limits on the first process inside, let it go, and watch what becomes of it."""
        self._close_passed()
        while not (child := _CHILD.search(self._status_text)):
            await anyio.wait_readable(self._status)
            if not self._read_status():
                return  # bubblewrap says itself why it gives up
        self._child = int(child[1])
        with suppress(OSError):
            self._pidfd = os.pidfd_open(self._child)
        with suppress(OSError):
            self._mounts = os.stat(f"/proc/{self._child}/ns/mnt").st_ino
        with suppress(ProcessLookupError):
            _set_limits(self._child, self._job.limits)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._limit_numbers)
            if self._job.access:
                try:
                    listener = self._listener.dup() if self._listener else await open_listener(self._child)
                except OSError as error:
                    message = f"The sandbox's network could not be reached: {error}"
                    self._failure = ClawftError("sandbox-network", message)
                    self._kill()
                    return
                tasks.start_soon(serve_proxy, listener, self._job.access, self._job.quiet_s)
            if wrong := await self._find_wrong():
                self._failure = make_changed_error(wrong)
                self._kill()
                tasks.cancel_scope.cancel()
                return
            await self._limited.wait()
            with suppress(BrokenPipeError):
                os.write(self._block, b"1")
            census = self._room.list_members(self._mounts) if self._room else list_namespace_processes(self._child)
            self._exceeded = await watch(census, self._job.limits, pid)
            self._kill()
            tasks.cancel_scope.cancel()

    async def _limit_numbers(self) -> None:
        """Have the kernel limit the processes before the first is let go: a fork bomb is faster than any watcher."""
        namespace = _NAMESPACE.search(self._status_text)
        await limit_numbers(self._child, namespace[1].decode() if namespace else "", self._job.limits.processes)
        self._limited.set()

    async def _find_wrong(self) -> str:
        """Find a mount that is not as it must be; '' if there is none, or if the program ends before all is mounted."""
        try:
            with anyio.fail_after(_MOUNT_S):
                while not is_mounted(self._child):
                    await anyio.sleep(_POLL_S)
            return find_mount_mismatch(self._child, self._expected)
        except (OSError, TimeoutError):
            ended = self._pidfd < 0 or bool(select.select([self._pidfd], [], [], 0)[0])
            return "" if ended else "/"

    def _read_status(self) -> bool:
        """Read what bubblewrap tells; False at the end of it."""
        try:
            chunk = os.read(self._status, 4096)
        except BlockingIOError:
            return True
        self._status_text += chunk
        return bool(chunk)

    def _kill(self) -> None:
        """End the first process, and with it all the others: it is their namespace's init, unless they share a
        room."""
        if self._pidfd >= 0:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if self._room and self._mounts:
            self._room.kill_members(self._mounts)

    async def _settle(self) -> None:
        self._kill()
        if self._room and self._mounts:
            await self._clear(self._room)
        if self._pidfd >= 0 and not select.select([self._pidfd], [], [], 0)[0]:
            with anyio.move_on_after(_END_S):
                await anyio.wait_readable(self._pidfd)

    async def _clear(self, room: SandboxRoom) -> None:
        """Kill until nothing is left; what makes processes faster than that loses the whole room."""
        with anyio.move_on_after(_END_S) as scope:
            while room.kill_members(self._mounts):
                await anyio.sleep(_POLL_S)
        if scope.cancelled_caught:
            room.close()

    def _close_passed(self) -> None:
        for descriptor in self._passed:
            os.close(descriptor)
        self._passed.clear()


def give_files(descriptors: list[int], *, lone: bool = False) -> list[str]:
    """The flags for files that bubblewrap reads from descriptors, which are added to `descriptors`. `lone`: no
    namespaces can be made inside. Raises: OSError."""
    flags: list[str] = []
    for path, content in _files().items():
        descriptors.append(_memory_file(content))
        flags += "--file", str(descriptors[-1]), path
    if filtered := _filter(namespaces=not lone):
        descriptors.append(_memory_file(filtered))
        flags += "--seccomp", str(descriptors[-1])
    return flags


@cache
def _filter(*, namespaces: bool) -> bytes | None:
    return build_filter(INSIDE_NAMESPACE, namespaces=namespaces)


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


def _set_limits(pid: int, limits: ResourceLimits) -> None:
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
