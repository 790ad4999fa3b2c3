"""The lines of a fleet, read one at a time: JSON lines that become runs of a skill, or targets that are scanned.

A line of a skill's fleet is a text, the arguments; or an object with `args` or `text`, whose other keys are the
caller's own; or any other object, which as a whole is the argument.
"""

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError
from clawft.run.durable.fleets import Fleet, FleetSpec
from clawft.run.durable.request import RunRequest
from clawft.run.durable.scanning import Batch, ScanTarget

__all__ = ["BadLine", "Checked", "Job", "check_file", "check_inputs", "check_unchanged", "find_last_batch", "read_jobs"]

MAX_LINE = 256 << 10  # bytes
MAX_TOLD = 20  # bad lines that are named
MIN_BATCH, MAX_BATCH = 4, 64
_SHARES = 16  # a batch is at most such a part of what is left: at the end they are small, and no worker waits for one
_CHUNK = 1 << 20
_TARGET = msgspec.json.Decoder(ScanTarget)


class BadLine(Struct, frozen=True):
    """A line that is no input, and why."""

    line: int
    reason: str


class Checked(Struct, frozen=True):
    """What a file of inputs holds."""

    total: int
    last: int  # the last line that is an input
    size: int
    digest: str
    bad_total: int
    bad: tuple[BadLine, ...]  # the first of them


class Job(Struct, frozen=True):
    """What becomes one run: its line, or the first of several. No `request`: `problem` says why there is no run."""

    line: int
    inputs: tuple[Any, ...]
    request: RunRequest | None
    problem: str = ""


def check_inputs(path: str, limit: int = 0) -> Checked:
    """Read a file of inputs from end to end. Raises: ClawftError if it cannot be read."""
    if os.path.exists(path) and not os.path.isfile(path):  # it is read more than once
        raise ClawftError("fleet-inputs", "The lines of a fleet must stand in a file", path=path)
    total, last, bad_total, bad = 0, 0, 0, list[BadLine]()
    for line, text in _lines(path, limit):
        total += 1
        if problem := _read_input(text)[2]:
            bad_total += 1
            bad += [BadLine(line, problem)] if bad_total <= MAX_TOLD else []
        else:
            last = line
    return Checked(total, last, *check_file(path), bad_total, tuple(bad))


def check_file(path: str) -> tuple[int, str]:
    """Size and digest of a file. Raises: ClawftError."""
    whole, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise _unreadable(path, error) from error
    return size, whole.hexdigest()


def check_unchanged(spec: FleetSpec) -> None:
    """Raises: ClawftError if the lines of a fleet are others than when it was started."""
    if not os.path.exists(spec.path):
        message = "The input of the fleet is gone, so it cannot go on"
        raise ClawftError("fleet-changed", message, path=spec.path, hint="Put it back, or start another fleet")
    if check_file(spec.path) != (spec.size, spec.digest):
        message = "The input of the fleet was changed since it was started, so it cannot go on"
        raise ClawftError("fleet-changed", message, path=spec.path, hint="Put it back, or start another fleet")


def read_jobs(fleet: Fleet, after: int = 0) -> Iterator[Job]:
    """What the lines of a fleet become, those up to `after` left out. Raises: ClawftError."""
    made = _read_runs(fleet) if fleet.kind == "run" else _read_batches(fleet)
    return (job for job in made if job.line > after)


def _read_runs(fleet: Fleet) -> Iterator[Job]:
    for line, text in _lines(fleet.spec.path, fleet.spec.limit):
        value, arguments, problem = _read_input(text)
        if arguments is None:
            yield Job(line, (value,), None, problem)
        else:
            words = tuple(arguments) if isinstance(arguments, list) else ()
            said = " ".join(arguments) if isinstance(arguments, list) else arguments
            yield Job(line, (value,), structs.replace(fleet.spec.request, text=said, words=words))


def _read_input(text: bytes) -> tuple[Any, str | list[str] | None, str]:
    """A line as a value, the arguments it stands for, and what is wrong with it if there are none."""
    if len(text) > MAX_LINE:
        return None, None, f"It is longer than {MAX_LINE >> 10} KiB"
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return text.decode(errors="replace"), None, f"It is no JSON: {error}"
    if isinstance(value, str):
        return value, value, ""
    if not isinstance(value, dict):
        return value, None, "It is neither a text nor an object"
    named = [name for name in ("args", "text") if name in value]
    if not named:
        return value, text.decode().strip(), ""
    given = value[named[0]]
    if len(named) > 1 or not _are_arguments(given):
        wrong = "It has both `args` and `text`" if len(named) > 1 else f"`{named[0]}` is neither a text nor texts"
        return value, None, wrong
    return value, given, ""


def _are_arguments(given: Any) -> bool:
    return isinstance(given, str) or (isinstance(given, list) and all(isinstance(one, str) for one in given))


def _read_batches(fleet: Fleet) -> Iterator[Job]:
    """Batches of targets. How many go into one depends on their place alone, so a resumed fleet makes the same ones."""
    lines = _lines(fleet.spec.path, 0)
    done = 0
    while done < fleet.total:
        most = _batch_size(fleet.total - done)
        targets = tuple(_TARGET.decode(text) for _, text in islice(lines, most))
        task = msgspec.to_builtins(Batch(targets, fleet.spec.fresh))
        title = targets[0].path if len(targets) == 1 else f"{targets[0].path} and {len(targets) - 1} more"
        yield Job(done + 1, targets, structs.replace(fleet.spec.request, task=task, text=title))
        done += len(targets)


def find_last_batch(total: int) -> int:
    """The first line of the last batch."""
    line = 1
    while line - 1 + _batch_size(total - line + 1) < total:
        line += _batch_size(total - line + 1)
    return line


def _batch_size(left: int) -> int:
    return max(MIN_BATCH, min(MAX_BATCH, left // _SHARES))


def _lines(path: str, limit: int) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; of one that is too long only the start."""
    try:
        with open(path, "rb") as file:
            number = given = 0
            while text := file.readline(MAX_LINE + 2):
                number += 1
                rest = text
                while rest and not rest.endswith(b"\n"):  # it is too long, or the last
                    rest = file.readline(_CHUNK)
                if text.strip():
                    given += 1
                    yield number, text.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
                if limit and given >= limit:
                    return
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> ClawftError:
    message = f"The lines of a fleet cannot be read: {error.strerror}"
    return ClawftError("fleet-inputs", message, path=path, hint="Name a file with one JSON value on each line")
