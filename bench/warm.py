"""`weft` as a process of its own, without waiting for Python to import it each time.

Most of a short `weft` is imports, and tests start hundreds. So one process imports what a command needs, and forks for
each `weft` that is asked for: what is forked has its own environment, folder, files and signals, and ends as any other
process. Only on Linux, and only after `WarmPopen.is_on = True`; else, and where a command asks for more than that (a
clock of its own, a library loaded before), it is started as ever. Tests of the start itself use subprocess.
"""

import atexit
import fcntl
import gc
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import sysconfig
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, AnyStr, TextIO, cast

__all__ = ["WarmPopen", "run_warm", "take_terminal"]

SOURCE = Path(__file__).resolve().parents[1] / "src"
_LENGTH = struct.Struct("!I")
_HARMLESS = ("PYTHONPATH", "PYTHON_KEYRING_BACKEND")  # the one is looked at; the other is read when it is needed
_ALWAYS = (
    "clawft.cli.root",
    "clawft.cli.output",
    "clawft.app.jobs",
    "clawft.skills.discovery.skill_files",
    "clawft.scanner.gate",
)
_TURN = ("anyio._backends._asyncio", "clawft.cli.turn", "clawft.cli.agent", "clawft.app.runtime")
_RUNS = ("clawft.jobs.runs", "sqlalchemy.dialects.sqlite")
_DURABLE = (*_TURN, *_RUNS, "dbos._sys_db_sqlite", "clawft.jobs.scan_task", "clawft.cli.worker")
_INSTALL = ("clawft.cli.skills", "clawft.app.install", "clawft.scanner.engine", "clawft.scanner.processes", "tarfile")
_DOCTOR = ("clawft.cli.doctor.checks", "clawft.server.client", "keyring", "email.parser")
_MCP = ("clawft.agent.mcp.transports", "clawft.agent.mcp.conversion", "clawft.cli.mcp", "clawft.cli.mcp_server")
# What a command imports before it does anything, by its first word.
_IMPORTS = {
    "": (*_TURN, "clawft.cli.repl.repl"),
    "config": ("clawft.cli.config", "tomlkit"),
    "doctor": (*_INSTALL, *_TURN, *_RUNS, *_DOCTOR),
    "hub": (*_INSTALL, "clawft.cli.hub_server", "clawft.server.http.server", "clawft.server.hub.application"),
    "mcp": (*_INSTALL, *_TURN, *_MCP, "clawft.server.mcp.server"),
    "onboard": (*_TURN, "clawft.cli.onboard", "tomlkit", "keyring"),
    "skills": _INSTALL,
    "agent": _TURN,
    "worker": _DURABLE,
    "runs": (*_RUNS, "clawft.server.client"),
    "fleet": _DURABLE,
    "cron": _DURABLE,
    "gateway": (*_DURABLE, "clawft.cli.gateway", "clawft.jobs.channels.gateway"),
    "serve": (
        *_DURABLE,
        "clawft.cli.serve.daemon",
        "clawft.server.client",
        "clawft.server.application",
        "clawft.server.mcp.server",
    ),
}


# the side of who asks


class WarmPopen(subprocess.Popen[AnyStr]):
    """A `subprocess.Popen` that forks `weft` from a process that imported it, where that is the same."""

    is_on = False
    _told: socket.socket | None = None  # who forked it says here how it ended

    def _execute_child(self, args: Any, *rest: Any) -> None:
        words, (_, preexec_fn, _, pass_fds, cwd, env) = list(map(os.fspath, args)), rest[:6]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = rest[9:15]
        env = dict(os.environ if env is None else env)
        how = _read_command(words, env) if WarmPopen.is_on and not pass_fds else None
        if how is None or preexec_fn not in (None, take_terminal):
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        task = {**how, "cwd": os.path.abspath(cwd or "."), "env": env, "session": bool(rest[-2])}
        task["terminal"] = preexec_fn is take_terminal
        files = [0 if p2cread == -1 else p2cread, 1 if c2pwrite == -1 else c2pwrite, 2 if errwrite == -1 else errwrite]
        self._told = _ask(task, files)
        self.pid = int(_receive(self._told, _LENGTH.size, _LENGTH))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._told is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        if not select.select([self._told], [], [], 0 if wait_flags & os.WNOHANG else None)[0]:
            return 0, 0
        try:
            status = int(_receive(self._told, _LENGTH.size, _LENGTH))
        except EOFError:  # who forked it was killed
            status = signal.SIGKILL
        self._told.close()
        return self.pid, status

    def _internal_poll(self, _deadstate: int | None = None, **more: Any) -> int | None:
        if self._told is None:
            return super()._internal_poll(_deadstate, **more)  # type: ignore[misc, no-any-return]
        lock: threading.Lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid == self.pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            except (OSError, ValueError):
                self.returncode = _deadstate or 0
            finally:
                lock.release()
        return self.returncode


def take_terminal() -> None:
    """Begin a session at the terminal that is the standard input: the one `preexec_fn` with which it is forked, too."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def run_warm(
    words: Sequence[str], *, check: bool = False, timeout: float = 60, **how: Any
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run(words, capture_output=True, text=True)` on it."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    with WarmPopen[str](words, text=True, **how) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _read_command(words: list[str], env: Mapping[str, str]) -> dict[str, Any] | None:
    """The arguments of `weft`, if a command is nothing but that."""
    if any(name.startswith(("LD_", "FAKETIME", "PYTHON")) and name not in _HARMLESS for name in env):
        return None
    if env.get("PYTHONPATH", str(SOURCE)) != str(SOURCE):
        return None
    if words[:3] == [sys.executable, "-m", "clawft"]:
        return {"words": words[3:], "is_module": True}
    own = os.path.join(sysconfig.get_path("scripts"), "weft")
    if words[0] in ("weft", own) and shutil.which(words[0], path=env.get("PATH", os.defpath)) == own:
        return {"words": words[1:], "is_module": False}
    return None


_lock = threading.Lock()
_asking: socket.socket | None = None


def _ask(task: dict[str, Any], files: list[int]) -> socket.socket:
    global _asking
    mine, theirs = socket.socketpair()
    body = json.dumps(task).encode("utf-8", "surrogatepass")
    with _lock, theirs:
        if _asking is None:
            _asking = _start()
        socket.send_fds(_asking, [_LENGTH.pack(len(body))], [theirs.fileno(), *files])
        _asking.sendall(body)
    return mine


def _start() -> socket.socket:
    mine, theirs = socket.socketpair()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    words = [sys.executable, "-P", __file__, str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=plain)
    atexit.register(_end, process, mine)
    return mine


def _end(process: "subprocess.Popen[bytes]", asking: socket.socket) -> None:
    asking.close()
    process.wait(60)


def _receive(source: socket.socket, count: int, form: struct.Struct | None = None) -> Any:
    got = b""
    while len(got) < count:
        if not (more := source.recv(count - len(got))):
            raise EOFError
        got += more
    return form.unpack(got)[0] if form else got


# the side that forks


def _serve(asked: socket.socket) -> dict[str, Any]:
    """Fork for whoever asks, and tell how it ended. Comes back in what is forked."""
    living: dict[int, tuple[int, socket.socket]] = {}  # by descriptor of the process
    while True:
        for ready in select.select([asked.fileno(), *living], [], [])[0]:
            if ready in living:
                pid, tell = living.pop(ready)
                os.close(ready)
                with suppress(OSError), tell:
                    tell.sendall(_LENGTH.pack(os.waitpid(pid, 0)[1]))
                continue
            head, files, _, _ = socket.recv_fds(asked, _LENGTH.size, 4)
            if not head:
                os._exit(0)  # who asks is gone
            task = json.loads(_receive(asked, _LENGTH.unpack(head)[0]))
            for name in _IMPORTS.get(task["words"][0] if task["words"] else "", ()):
                import_module(name)
            gc.freeze()  # what is shared is not written to
            if not (pid := os.fork()):
                return {**task, "files": files[1:]}
            for file in files[1:]:
                os.close(file)
            tell = socket.socket(fileno=files[0])
            living[os.pidfd_open(pid)] = pid, tell
            tell.sendall(_LENGTH.pack(pid))


def _become(task: dict[str, Any]) -> None:
    """Make this process what a new one would be."""
    if task["session"]:
        os.setsid()
    for place, file in enumerate(task["files"]):
        os.dup2(file, place)
    if task["terminal"]:
        take_terminal()
    os.closerange(3, 1024)
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["env"])
    time.tzset()
    sys.argv = ["weft", *task["words"]]
    if task["is_module"]:
        sys.path.insert(0, task["cwd"])
    sys.stdin = _open(0, "r", "surrogateescape")
    sys.stdout = _open(1, "w", "surrogateescape")
    sys.stderr = _open(2, "w", "backslashreplace")
    if any(name.startswith("COVERAGE_PROCESS_") for name in task["env"]):
        import coverage

        coverage.process_startup(force=True)


def _open(file: int, mode: str, errors: str) -> TextIO:
    lines = 1 if file == 2 or os.isatty(file) else -1
    return cast("TextIO", open(file, mode, lines, "utf-8", errors, closefd=False))


def main(asked: int) -> None:
    for name in _ALWAYS:
        import_module(name)
    _become(_serve(socket.socket(fileno=asked)))
    from clawft.cli import main as weft

    weft()


if __name__ == "__main__":
    main(int(sys.argv[1]))
