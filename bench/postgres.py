"""A PostgreSQL server of its own, for tests and measurements: made in a temporary folder, gone afterwards.

It is the one of the system (Debian's, or whatever is in PATH), with the settings that it comes with: what is committed
is on disk. Whoever started it may be killed: a small guard then ends the server and removes its folder.
"""

import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

__all__ = ["Postgres", "find_postgres"]

Mode = Literal["smart", "fast", "immediate"]

_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_WAIT_S = 30.0
_USER = "weft"
_MAX_CONNECTIONS = 200  # each worker keeps a pool of its own
# Reads until whoever holds the other end is gone, whatever ended it; then the server goes too, and all its files.
_GUARD = """
cat >/dev/null
file=$0/data/postmaster.pid
pid=$(head -n 1 "$file" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
tries=0
while [ -e "$file" ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
rm -rf "$0"
"""


def find_postgres() -> str | None:
    """The folder of the server's programs: in PATH, or the newest that Debian has."""
    if found := shutil.which("postgres"):
        return os.path.dirname(os.path.realpath(found))
    folders = [one.parent for one in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return str(max(folders, key=_version, default="")) or None


class Postgres:
    """A server on a port of 127.0.0.1, running while the `with` block does.

    The server refuses to run as root, who therefore starts it as the system's user `postgres`.
    """

    def __init__(self, folder: str | None = None) -> None:
        """`folder` is where its own folder is made, the system's for temporary files by default."""
        programs = find_postgres()
        if programs is None:
            raise FileNotFoundError("PostgreSQL is not installed")
        self._programs = programs
        self._parent = folder
        self._password = f"{random.SystemRandom().getrandbits(128):032x}"
        self._names = _count_names()
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="weft-postgres-", dir=self._parent))
        self._how = _drop_root()
        os.chown(self._folder, self._how.get("user", -1), self._how.get("group", -1))
        guard = ["/bin/sh", "-c", _GUARD, str(self._folder)]
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True, **self._how)
        try:
            self._make()
            self.port = _choose_port()
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop("immediate")
        finally:
            self._remove()

    def url(self, name: str = "") -> str:
        """The address of a new, empty database; one of the same name is replaced. Starts a server that was stopped."""
        import psycopg
        from psycopg import sql

        self.start()
        name = name or next(self._names)
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self._address(name)

    def start(self) -> None:
        """Returns when it takes connections, with all that was committed before."""
        if self._server is not None and self._server.poll() is None:
            return
        options = (f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=")
        words = [option for name in (*options, f"max_connections={_MAX_CONNECTIONS}") for option in ("-c", name)]
        with open(self._folder / "log", "ab") as log:
            self._server = subprocess.Popen(
                [os.path.join(self._programs, "postgres"), "-D", str(self._folder / "data"), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for whoever measures
                **self._how,
            )
        deadline = time.monotonic() + _WAIT_S
        while not self._is_ready():
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()}")
            time.sleep(0.01)

    def stop(self, mode: Mode = "fast") -> None:
        """`smart` waits until all have left, `fast` sends them away, `immediate` is like a crash."""
        if self._server is None:
            return
        self._server.send_signal(_SIGNALS[mode])
        try:
            self._server.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(_WAIT_S)
            raise
        finally:
            self._server = None

    def restart(self, mode: Mode = "fast") -> None:
        self.stop(mode)
        self.start()

    def _make(self) -> None:
        secret = self._folder / "password"
        secret.write_text(self._password)
        os.chown(secret, self._how.get("user", -1), self._how.get("group", -1))
        words = ["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", f"--username={_USER}", f"--pwfile={secret}"]
        program = os.path.join(self._programs, "initdb")
        data = str(self._folder / "data")
        # Only what it makes here is not flushed to disk: the server itself flushes everything.
        made = subprocess.run(
            [program, "--no-sync", "-D", data, *words], check=False, capture_output=True, text=True, **self._how
        )
        secret.unlink()
        if made.returncode:
            raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")

    def _is_ready(self) -> bool:
        try:
            lines = (self._folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        assert self._server is not None
        return lines[:1] == [str(self._server.pid)] and lines[7:8] == ["ready   "]

    def _address(self, name: str) -> str:
        return f"postgresql://{_USER}:{self._password}@127.0.0.1:{self.port}/{name}"

    def _remove(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._guard.wait(_WAIT_S)
        shutil.rmtree(self._folder, ignore_errors=True)


def _drop_root() -> dict[str, Any]:
    """How a process is started by a user that is not root."""
    if os.geteuid() != 0:
        return {"cwd": "/"}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def _choose_port() -> int:
    """A free port below those that the system gives to clients: while the server is stopped nobody else gets it, and no
    client that tries again and again is ever connected to itself."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("No port is free")


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.parent.name))


def _count_names() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"runs_{number}"
