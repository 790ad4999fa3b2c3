"""The running daemons of a user: their registration files, addresses and the user's own token."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from clawft.config.loader import load_config
from clawft.config.serve import own_token_file
from clawft.errors import ClawftError
from clawft.files import lock_file, read_optional
from clawft.server.client.connection import ClientError
from clawft.workspace import Workspace, find_workspace

_FOLDER = "serve"
_END = ".json"
_MAX_BYTES = 16_384


class RunningDaemon(Struct, frozen=True, kw_only=True):
    """A running daemon. `local` is how this machine reaches it, `url` is its address for others.

    With `token_file` and `tls_cert` a client needs none of its settings: they may have changed, or be unreadable.
    """

    port: int
    pid: int
    url: str
    local: str
    project: str
    started: str
    token_file: str = ""
    tls_cert: str = ""


@contextmanager
def register_daemon(user_dir: str, place: RunningDaemon) -> Iterator[None]:
    """Say that one runs, until the block ends. Raises: ClawftError."""
    folder = os.path.join(user_dir, _FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{place.port}{_END}")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not lock_file(descriptor, wait_s=2):
            message = f"A daemon of yours has the port {place.port} already"
            raise ClawftError("serve-running", message, hint="Run: weft serve status")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(place), 0)
        try:
            yield
        finally:  # nobody else has the port yet
            with suppress(OSError):
                os.unlink(path)
    finally:
        os.close(descriptor)


def find_daemons(user_dir: str) -> tuple[RunningDaemon, ...]:
    """Find all running daemons, sorted by port."""
    folder = os.path.join(user_dir, _FOLDER)
    try:
        names = [name for name in os.listdir(folder) if name.removesuffix(_END).isdecimal()]
    except OSError:
        return ()
    found = (_read(os.path.join(folder, name)) for name in names)
    return tuple(sorted((daemon for daemon in found if daemon), key=lambda one: one.port))


def find_daemon(user_dir: str, project: str) -> RunningDaemon | None:
    """The one that serves a project, else any."""
    places = find_daemons(user_dir)
    return next((place for place in places if place.project == project), places[0] if places else None)


def _read(path: str) -> RunningDaemon | None:
    """One that still holds its file."""
    with suppress(OSError, msgspec.DecodeError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return (
                None
                if lock_file(descriptor)
                else msgspec.json.decode(os.pread(descriptor, _MAX_BYTES, 0), type=RunningDaemon)
            )
        finally:
            os.close(descriptor)
    return None


def find_local_daemon(environ: Mapping[str, str], cwd: str) -> tuple[str, str]:
    """The address of the daemon, and the user's own token. Raises: ClawftError."""
    workspace = find_workspace(environ, cwd)
    place = find_daemon(workspace.user_dir, workspace.project)
    if place is None:
        raise ClientError("serve-unreachable", "No daemon runs here", hint="Start it: weft serve")
    return place.local, _find_token(workspace, environ, place.token_file)


def _find_token(workspace: Workspace, environ: Mapping[str, str], file: str) -> str:
    if not file:  # the settings name one
        settings = load_config(workspace, environ, lambda *_: False).serve
        if settings.token is not None:
            return settings.token.resolve(environ)
    token = (read_optional(file or own_token_file(workspace.user_dir), 4_096) or b"").decode("ascii", "replace").strip()
    if not token:
        raise ClientError("token-missing", "There is no token of the daemon", hint="It makes one: weft serve")
    return token
