"""Which daemons of a user run, and where: each holds a file of its port, locked as long as it lives. Clients look."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import lock_file

__all__ = ["Place", "find_place", "find_places", "hold_place"]

_FOLDER = "serve"
_END = ".json"
_MAX_BYTES = 16_384


class Place(Struct, frozen=True, kw_only=True):
    """A daemon that runs. `local` is how this machine reaches it, `url` what others are told.

    With `token_file` and `tls_cert` nobody needs its settings to ask it: they may be others by now, or not to be read.
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
def hold_place(user_dir: str, place: Place) -> Iterator[None]:
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


def find_places(user_dir: str) -> tuple[Place, ...]:
    """All that run, by their ports."""
    folder = os.path.join(user_dir, _FOLDER)
    try:
        names = [one for one in os.listdir(folder) if one.removesuffix(_END).isdecimal()]
    except OSError:
        return ()
    found = (_read(os.path.join(folder, one)) for one in names)
    return tuple(sorted((one for one in found if one), key=lambda one: one.port))


def find_place(user_dir: str, project: str) -> Place | None:
    """The one that serves a project, else any."""
    places = find_places(user_dir)
    return next((one for one in places if one.project == project), places[0] if places else None)


def _read(path: str) -> Place | None:
    """One that still holds its file."""
    with suppress(OSError, msgspec.DecodeError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return (
                None if lock_file(descriptor) else msgspec.json.decode(os.pread(descriptor, _MAX_BYTES, 0), type=Place)
            )
        finally:
            os.close(descriptor)
    return None
