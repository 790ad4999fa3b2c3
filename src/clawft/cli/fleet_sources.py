"""The targets of a fleet scan: folders, archives and lists of them. Needs SQLAlchemy, so it is imported only by `weft
fleet scan`."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from clawft.cli.scan import path_targets
from clawft.errors import ClawftError
from clawft.jobs.scan_task import ScanTarget
from clawft.scanner.batch import find_targets

_LISTS = (".txt", ".list", ".lst")
_MAX_PATH = 16_384


def find_scan_targets(sources: Iterable[str]) -> Iterator[ScanTarget]:
    """Everything that sources hold, each once, in order. What a list names and is not there is a target all the same.

    Raises: ClawftError for a source that is not there, or a list that cannot be read.
    """
    seen: set[ScanTarget] = set()
    for source in sources:
        for target in _read_list(source) if _is_list(source) else _below(source):
            if target not in seen:
                seen.add(target)
                yield target


def write_targets(path: str, targets: Iterable[ScanTarget]) -> int:
    """Write targets down as lines of JSON; how many there are. Raises: ClawftError."""
    total = 0
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "xb") as file, _removed_on_failure(path):
            for target in targets:
                file.write(_encode(target) + b"\n")
                total += 1
    except OSError as error:
        raise ClawftError("not-written", f"The file was not written: {error.strerror}", path=path) from error
    return total


@contextmanager
def _removed_on_failure(path: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        os.unlink(path)
        raise


def _encode(target: ScanTarget) -> bytes:
    try:
        return msgspec.json.encode(target)
    except UnicodeEncodeError as error:
        shown = target.path.encode(errors="replace").decode()
        message = f"The name of a folder is no text, which a fleet cannot pass on: {shown}"
        raise ClawftError("fleet-path", message, hint="Rename it, or scan it by itself: weft scan PATH") from error


def _is_list(source: str) -> bool:
    return source == "-" or source.startswith("@") or (source.lower().endswith(_LISTS) and os.path.isfile(source))


def _below(source: str) -> Iterator[ScanTarget]:
    for target in path_targets(source):
        yield ScanTarget(target.path, bool(target.without))


def _read_list(source: str) -> Iterator[ScanTarget]:
    """One path on each line, from the folder of the list; blank lines and those that start with # are passed over."""
    path = source.removeprefix("@")
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            folder = os.getcwd() if path == "-" else os.path.dirname(os.path.abspath(path))
            while text := file.readline(_MAX_PATH):
                line = os.fsdecode(text.strip())
                if line and not line.startswith("#"):
                    yield from _listed(os.path.join(folder, os.path.expanduser(line)))
    except OSError as error:
        raise ClawftError("fleet-inputs", f"The list cannot be read: {error.strerror}", path=path) from error


def _listed(path: str) -> Iterator[ScanTarget]:
    try:
        found = find_targets(path)
    except (OSError, ValueError):
        yield ScanTarget(os.path.abspath(path))  # it becomes a line that failed
        return
    for target in found:
        yield ScanTarget(target.path, bool(target.without))
