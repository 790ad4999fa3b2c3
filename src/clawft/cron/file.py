"""The file that earlier versions kept jobs in. It is read once, and stays beside as a backup."""

import os
from contextlib import suppress
from datetime import UTC
from typing import Literal

import msgspec
from msgspec import Struct

from clawft.cron.jobs import Job
from clawft.errors import ClawftError
from clawft.files import check_json_version, get_hint, lock_file, read_optional, why_damaged

__all__ = ["file_path", "load_file", "put_away"]

_MAX_BYTES = 64 << 20
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1] = 1
    jobs: tuple[Job, ...] = ()


def file_path(user_dir: str) -> str:
    return os.path.join(user_dir, "cron.json")


def load_file(user_dir: str) -> tuple[Job, ...]:
    """Every job of the file, the oldest first. Raises: ClawftError for one that cannot be understood, or is in use."""
    path = file_path(user_dir)
    data = read_optional(path, _MAX_BYTES)
    if data is None:
        return ()
    check_json_version(data, 1, path)
    try:
        jobs = msgspec.json.decode(data, type=_Document).jobs
        for job in jobs:
            job.parse_schedule(UTC)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ClawftError) as error:
        message = f"cron.json is damaged ({why_damaged(data, error)}): the jobs in it are not taken over"
        hint = "Restore it from a backup; or move it away, and add the jobs again: weft cron add"
        raise ClawftError("cron-damaged", message, path=path, hint=hint) from error
    if _is_scheduled(user_dir):
        message = "A scheduler of an earlier version is running, and has the jobs"
        raise ClawftError("cron-busy", message, path=path, hint="End that `weft cron run`, then try again")
    return jobs


def put_away(user_dir: str) -> None:
    """Keep the file as a backup, now that its jobs are elsewhere. Raises: ClawftError."""
    path = file_path(user_dir)
    try:
        with suppress(FileNotFoundError):  # another process was quicker
            os.rename(path, f"{path}.moved")
    except OSError as error:
        message = f"The jobs were taken over, but their file cannot be put away: {error.strerror}"
        raise ClawftError("cron-unwritable", message, path=path, hint=get_hint(error, path)) from error


def _is_scheduled(user_dir: str) -> bool:
    """Whether a scheduler of an earlier version holds its lock."""
    try:
        descriptor = os.open(os.path.join(user_dir, "cron-scheduler.lock"), _OPEN)
    except OSError:
        return False
    try:
        return not lock_file(descriptor)
    finally:
        os.close(descriptor)
