"""Try known holes from inside a sandbox: `weft doctor` says which of them it holds.

A small project, home and outside folder are made for it, and a program in the sandbox tries each hole against them and
against this machine. It opens files of the machine without reading or writing anything in them.
"""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio import to_thread
from msgspec import Struct

from clawft.config.tools import SandboxSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.probe import SandboxMode
from clawft.sandbox.process import Streams
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.programs import HostPrograms
from clawft.workspace import Workspace

HOLES = {
    "outside-read": "files outside the project can be read",
    "outside-write": "files outside the project can be written",
    "home": "your home folder can be read",
    "link": "a link in the project leads out of it",
    "secret": "a .env file of the project can be read",
    "git": "git's settings of the project can be written",
    "agents": "AGENTS.md of the project can be written",
    "kernel": "settings of the kernel can be opened for writing",
    "devices": "devices of the machine can be opened for writing",
    "signal": "processes outside can be signalled",
    "environment": "the environment of processes outside can be read",
    "memory": "the memory of processes outside can be opened",
    "loopback": "services on this machine's loopback can be reached",
    "unix": "Unix sockets of this machine can be reached",
    "abstract": "abstract sockets of this machine can be reached",
    "namespaces": "new user namespaces can be made",
}
_TIMEOUT_S = 20
_PROGRAM = r"""
import ctypes, os, signal, socket, sys
outside, home, project, pid, started, port, name = sys.argv[1:]
NONE, WRITE = os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC, os.O_WRONLY
def opens(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags | NONE))
def connects(family, address):
    with socket.socket(family) as client:
        client.settimeout(2)
        client.connect(address)
def any_of(paths):
    for path in paths:
        try:
            opens(path, WRITE)
        except OSError:
            continue
        return
    raise OSError
def unshare():
    if ctypes.CDLL(None).unshare(0x10000000):
        raise OSError
KERNEL = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger",
          "/proc/sys/net/ipv4/ip_forward", "/sys/kernel/uevent_helper", "/sys/power/state"]
DEVICES = ["/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm", "/dev/net/tun"]
TRIES = {
    "outside-read": lambda: opens(f"{outside}/canary"),
    "outside-write": lambda: opens(f"{outside}/written", WRITE | os.O_CREAT),
    "home": lambda: opens(f"{home}/canary"),
    "link": lambda: opens(f"{project}/link/canary"),
    "secret": lambda: opens(f"{project}/.env"),
    "git": lambda: opens(f"{project}/.git/config", WRITE),
    "agents": lambda: opens(f"{project}/AGENTS.md", WRITE),
    "kernel": lambda: any_of(KERNEL),
    "devices": lambda: any_of(DEVICES),
    "signal": lambda: os.kill(int(pid), 0),
    "environment": lambda: opens(f"/proc/{pid}/environ"),
    "memory": lambda: opens(f"/proc/{pid}/mem", os.O_RDWR),
    "loopback": lambda: connects(socket.AF_INET, ("127.0.0.1", int(port))),
    "unix": lambda: connects(socket.AF_UNIX, f"{outside}/socket"),
    "abstract": lambda: connects(socket.AF_UNIX, "\0" + name),
    "namespaces": unshare,
}
def is_another():  # with a PID namespace of its own, the number may be that of a process in here
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19] != started
    except OSError:
        return False
for hole, attempt in TRIES.items():
    if hole in ("signal", "environment", "memory") and is_another():
        continue
    try:
        attempt()
    except (OSError, ValueError):
        continue
    print("open", hole)
print("done")
"""


class SelfTest(Struct, frozen=True):
    """The result of testing one kind of sandbox. `reason` says why it could not be tried; '' if it was."""

    kind: SandboxMode
    reason: str = ""
    open: tuple[str, ...] = ()  # names of HOLES


async def run_self_test(kind: SandboxMode, host_programs: HostPrograms) -> SelfTest:
    """Try every known hole in a sandbox of one kind. Raises: ClawftError; OSError."""
    with _make_world() as world:
        project = str(world / "project")
        workspace = Workspace(str(world / "home"), str(world / "home/.clawft"), project, project)
        sandbox = Sandbox(SandboxSettings(mode=kind), workspace, {}, host_programs=host_programs)
        status = await to_thread.run_sync(sandbox.status)
        if status.kind != kind:
            return SelfTest(kind, status.reason)
        python = tuple({sys.prefix, sys.base_prefix} - {"/usr"})
        with _listen(world) as arguments:
            done = await sandbox.run(
                (sys.executable, "-I", "-S", "-c", _PROGRAM, *arguments),
                cwd=project,
                env={"PATH": os.defpath, "HOME": workspace.home},
                timeout_s=_TIMEOUT_S,
                max_bytes=10_000,
                streams=Streams(),
                confinement=Confinement(writable=(project,), whole={"program": python}),
            )
    lines = done.output.decode("utf-8", "replace").splitlines()
    if lines[-1:] != ["done"]:
        return SelfTest(kind, f"the program inside ended with {done.code}: {' '.join(lines)[-300:]}")
    tried = [line.removeprefix("open ") for line in lines[:-1]]
    return SelfTest(kind, "", tuple(hole for hole in tried if hole in HOLES))


@contextmanager
def _make_world() -> Iterator[Path]:
    """A project with a secret, a home and a folder outside, for as long as the test takes."""
    with tempfile.TemporaryDirectory(prefix="weft-doctor-", dir="/var/tmp") as folder:
        world = Path(os.path.realpath(folder))
        for name in ("home/.clawft", "project/.git", "outside"):
            (world / name).mkdir(parents=True)
        for name in ("home/canary", "outside/canary", "project/.env", "project/.git/config", "project/AGENTS.md"):
            (world / name).touch()
        (world / "project/link").symlink_to(world / "outside")
        yield world


@contextmanager
def _listen(world: Path) -> Iterator[tuple[str, ...]]:
    """Listen where the program must not reach; what it needs to know to try."""
    name = f"weft-doctor-{os.getpid()}"
    with (
        socket.socket() as loopback,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        loopback.bind(("127.0.0.1", 0))
        unix.bind(str(world / "outside/socket"))
        abstract.bind("\0" + name)
        for listener in (loopback, unix, abstract):
            listener.listen()
        port = str(loopback.getsockname()[1])
        started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        folders = [str(world / folder_name) for folder_name in ("outside", "home", "project")]
        yield *folders, str(os.getpid()), started, port, name
