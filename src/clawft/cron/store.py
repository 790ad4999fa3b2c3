"""The jobs of a user on disk, and the log of their runs. One process writes at a time; one schedules at a time."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from typing import Literal

import msgspec
from msgspec import Struct

from clawft.cron.jobs import Job, Run
from clawft.errors import ClawftError, NotFound, find_close
from clawft.files import lock_file, read_optional, replace_file

__all__ = ["KEPT_RUNS", "MAX_LOG_BYTES", "JobStore", "find_job"]

MAX_BYTES = 64 << 20
MAX_LOG_BYTES = 1 << 20
KEPT_RUNS = 1000  # of the log, once it is full
LOCK_WAIT_S = 10.0
PROBE_WAIT_S = 0.2  # who only asks for a scheduler holds its lock for a moment
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1] = 1
    jobs: tuple[Job, ...] = ()


class JobStore:
    """`cron.json` and `cron-runs.jsonl` of a folder, which must be there."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "cron.json")
        self.log_path = os.path.join(folder, "cron-runs.jsonl")
        self._lock_path = os.path.join(folder, "cron.lock")
        self._scheduler_path = os.path.join(folder, "cron-scheduler.lock")

    def load(self) -> tuple[Job, ...]:
        """Every job, the oldest first. Raises: ClawftError for a file that cannot be understood."""
        data = read_optional(self.path, MAX_BYTES)
        if data is None:
            return ()
        try:
            jobs = msgspec.json.decode(data, type=_Document).jobs
            for job in jobs:
                job.parse_schedule(UTC)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ClawftError) as error:
            message = f"The jobs cannot be read: {error}"
            hint = "Nothing was changed. Mend the file, or move it away and add the jobs again"
            raise ClawftError("cron-damaged", message, path=self.path, hint=hint) from error
        return jobs

    def change(self, edit: Callable[[tuple[Job, ...]], Sequence[Job]]) -> None:
        """Put what `edit` makes of the jobs in their place; no other process comes in between. Raises: ClawftError."""
        with self._locked():
            before = self.load()
            after = tuple(edit(before))
            if after != before:
                self._replace(self.path, _encode(after))

    def record(self, run: Run) -> None:
        """Add a line to the log of runs. When it is full, the oldest go. Raises: ClawftError."""
        line = msgspec.json.encode(run) + b"\n"
        with self._locked():
            descriptor = _open(self.log_path, os.O_APPEND)
            try:
                size = _append(descriptor, line)
                if size > MAX_LOG_BYTES:
                    kept = os.pread(descriptor, size, 0).splitlines(keepends=True)[-KEPT_RUNS:]
                    self._replace(self.log_path, b"".join(kept))
            except OSError as error:
                raise _failed(self.log_path, error) from error
            finally:
                os.close(descriptor)

    @contextmanager
    def hold_scheduler(self) -> Iterator[None]:
        """Be the one scheduler of this user. Raises: ClawftError with code `cron-busy` while there is another."""
        descriptor = _open(self._scheduler_path)
        try:
            if not lock_file(descriptor, PROBE_WAIT_S):
                hint = "It runs the jobs that are due; end it first to start another"
                raise ClawftError("cron-busy", "Another scheduler is running", path=self._scheduler_path, hint=hint)
            yield
        finally:
            os.close(descriptor)

    def has_scheduler(self) -> bool:
        """Whether a scheduler is running. Raises: ClawftError."""
        if not os.path.exists(self._scheduler_path):
            return False
        descriptor = _open(self._scheduler_path)
        try:
            return not lock_file(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = _open(self._lock_path)
        try:
            if not lock_file(descriptor, LOCK_WAIT_S):
                message = f"Another process has held the jobs for {LOCK_WAIT_S:g} seconds"
                raise ClawftError("cron-locked", message, path=self._lock_path, hint="Try again")
            yield
        finally:
            os.close(descriptor)  # this also lets go of the lock

    def _replace(self, path: str, data: bytes) -> None:
        """Put new content in place of a file, all of it or nothing."""
        try:
            replace_file(path, data)
        except OSError as error:
            raise _failed(path, error) from error


def find_job(jobs: Sequence[Job], text: str) -> Job:
    """The job that is meant: by its id, the start of it, or its name. Raises: NotFound with the close match."""
    found = [one for one in jobs if text in (one.id, one.name)] if text else []
    found = found or [one for one in jobs if text and one.id.removeprefix("job-").startswith(text.removeprefix("job-"))]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(one.id for one in found[:5])
        raise NotFound("job-ambiguous", f"'{text}' means {len(found)} jobs", hint=f"Say which: {some}")
    close = find_close(text, [name for one in jobs for name in (one.id, one.name) if name])
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft cron list"
    raise NotFound("job-not-found", f"No job '{text}'", hint=hint)


def _encode(jobs: tuple[Job, ...]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(_Document(1, jobs)), indent=1) + b"\n"


def _open(path: str, flags: int = 0) -> int:
    """A descriptor of a regular file of the user's own, made if it is not there. Raises: ClawftError."""
    try:
        descriptor = os.open(path, _OPEN | flags, 0o600)
    except OSError as error:
        raise _failed(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ClawftError("cron-unwritable", "This is not a regular file", path=path, hint="Move it away")
    return descriptor


def _append(descriptor: int, line: bytes) -> int:
    """Add a line, on a line of its own; how long the file is then."""
    size = os.fstat(descriptor).st_size
    torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
    os.write(descriptor, b"\n" + line if torn else line)
    return os.fstat(descriptor).st_size


def _failed(path: str, error: OSError) -> ClawftError:
    message = f"The jobs cannot be written: {error.strerror}"
    return ClawftError("cron-unwritable", message, path=path, hint="Check the permissions of the folder")
