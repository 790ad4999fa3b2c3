"""What scans said before: an index for each location, and reports by content. Without it nothing changes but speed.

A file counts only if it is the user's and nobody else may write it, if its checksum is right, and if this very scanner
made it. Whatever is amiss is as if it were not there: the skill is scanned again.
"""

import os
import stat
from binascii import crc32
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clawft.errors import Unreadable
from clawft.files import read_regular
from clawft.scan.version import scanner_version

if TYPE_CHECKING:
    from clawft.scan.findings import Report

__all__ = [
    "AGAIN_S",
    "Known",
    "index_path",
    "load_index",
    "load_report",
    "prune_reports",
    "store_index",
    "store_report",
]

MAX_INDEXES = 512  # every plugin has one or two
MAX_REPORTS = 8_000
MAX_INDEX_BYTES = 256 << 20
MAX_REPORT_BYTES = 16 << 20
AGAIN_S = 600  # a scan that failed is not tried at every command
_CHECKSUM_BYTES = 4


class Known(Struct, frozen=True, array_like=True, gc=False):
    """What is known of one skill, for as long as every status is as it was."""

    paths: bytes  # of all entries but the skill's own file
    stamps: bytes  # the status of each
    file: tuple[int, int, int]  # time, time of change and size of the skill's file, as discovery sees them
    content: str
    screening: bytes = b""  # encoded; nothing for a skill that is clean
    again_at: int = 0  # the second from which a scan that failed is tried again

    def is_due(self, now: float) -> bool:
        """Whether the scan failed so long ago that it is tried again, or at a time that is not over by this clock."""
        return bool(self.again_at) and not now < self.again_at <= now + AGAIN_S


class _Index(Struct, frozen=True, array_like=True):
    version: str
    root: str
    known: dict[str, Known]


_index_decoder = msgspec.msgpack.Decoder(_Index)


def load_index(folder: str, root: str) -> dict[str, Known]:
    """What is known of the skills of a location, by the path of their file; nothing if anything is amiss."""
    content = _read(index_path(folder, root), MAX_INDEX_BYTES)
    if content is None:
        return {}
    try:
        index = _index_decoder.decode(content)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}
    return index.known if (index.version, index.root) == (scanner_version(), root) else {}


def store_index(folder: str, root: str, known: dict[str, Known]) -> None:
    """Remember what is known of a location; a folder that cannot be written to is left alone."""
    try:
        content = msgspec.msgpack.encode(_Index(scanner_version(), root, known))
    except (OverflowError, UnicodeEncodeError):  # the name of a folder that is not text
        encodable = {path: one for path, one in known.items() if path.isprintable()}
        if len(encodable) < len(known) and root.isprintable():
            store_index(folder, root, encodable)
        return
    _write(index_path(folder, root), content)
    _prune(folder, ".index", MAX_INDEXES)


def load_report(folder: str, content: str) -> "Report | None":
    """The report that this scanner made of this content, if it is still there."""
    path = _report_path(folder, content)
    found, name = _read(path, MAX_REPORT_BYTES) if content else None, os.fsencode(os.path.basename(path))
    if found is None or found[: len(name)] != name:
        return None
    from clawft.scan.encoding import decode_report  # few need a whole report

    return decode_report(found[len(name) :])


def store_report(folder: str, content: str, report: "Report") -> None:
    """Remember a report. One of a scanner that gave up is not worth remembering."""
    if content and not any(gap.failed for gap in report.coverage.gaps):
        from clawft.scan.encoding import encode_report

        path = _report_path(folder, content)
        encoded = os.fsencode(os.path.basename(path)) + encode_report(report)  # bound to its name
        if len(encoded) <= MAX_REPORT_BYTES:
            _write(path, encoded)


def prune_reports(folder: str) -> None:
    """Keep the newest reports."""
    _prune(os.path.join(folder, "reports"), ".report", MAX_REPORTS)


def index_path(folder: str, root: str) -> str:
    """Where the index of a location is kept."""
    data = os.fsencode(root)  # two that share a file take turns: each holds the path it is for
    return os.path.join(folder, f"{crc32(data):08x}{crc32(data[::-1]):08x}.index")


def _report_path(folder: str, content: str) -> str:
    return os.path.join(folder, "reports", f"{content}-{scanner_version()}.report")


def _read(path: str, max_bytes: int) -> memoryview | None:
    """The content of a file of ours; None for one that is missing, damaged or that another user might have written."""
    try:
        data, status = read_regular(path, max_bytes)
    except (OSError, Unreadable):
        return None
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
        return None
    content = memoryview(data)[_CHECKSUM_BYTES:]
    return content if crc32(content) == int.from_bytes(data[:_CHECKSUM_BYTES]) else None


def _write(path: str, content: bytes) -> None:
    """Put a file in place at once. It need not survive a loss of power: what is torn has the wrong checksum."""
    folder = os.path.dirname(path)
    temporary = f"{path}.{os.urandom(6).hex()}.tmp"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(crc32(content).to_bytes(_CHECKSUM_BYTES) + content)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)


def _prune(folder: str, ending: str, most: int) -> None:
    """Keep the newest files; places that were searched once do not pile up. Room is made for more than one."""
    with suppress(OSError):
        if len(os.listdir(folder)) <= most:
            return
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if entry.name.endswith((ending, ".tmp"))]
        if len(named) > most:
            for _, path in sorted((entry.stat().st_mtime_ns, entry.path) for entry in named)[: -(most - most // 8)]:
                os.unlink(path)
