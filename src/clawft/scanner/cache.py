"""The scan cache: an index of screenings per skill location, and reports by content, valid for one scanner version."""

import os
import stat
import sys
from array import array
from binascii import crc32
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clawft import __version__
from clawft.errors import Unreadable
from clawft.files import read_regular

if TYPE_CHECKING:
    from clawft.scanner.findings import Report


# path, mtime_ns, ctime_ns, size, inode, mode
Stamp = tuple[bytes, int, int, int, int, int]


def pack_stamps(stamps: Sequence[Stamp]) -> tuple[bytes, bytes]:
    """The paths and the numbers of many stamps, each as one value: thousands of small ones take long to decode."""
    paths = b"\0".join([stamp[0] for stamp in stamps])
    return paths, array("q", [number for stamp in stamps for number in stamp[1:]]).tobytes()


def is_unchanged(paths: bytes, numbers: bytes) -> bool:
    """Return whether every entry still has the status it had. A new entry changes the status of its folder."""
    lstat = os.lstat
    now: list[int] = []
    try:
        for path in paths.split(b"\0") if paths else ():
            one = lstat(path)
            now += (one.st_mtime_ns, one.st_ctime_ns, one.st_size, one.st_ino, one.st_mode)
        return array("q", now).tobytes() == numbers
    except (OSError, OverflowError):
        return False


@cache
def scanner_version() -> str:
    """A checksum over the status of every source file of this package: an edited rule makes another scanner."""
    parts = [f"{__version__} {sys.version_info[:3]}"]
    pending = [os.path.dirname(__file__)]
    while pending:
        with os.scandir(pending.pop()) as scanned:
            for entry in scanned:
                path = entry.path
                if path.endswith(".py"):
                    status = entry.stat()
                    parts.append(f"{path} {status.st_mtime_ns} {status.st_size}")
                elif not path.endswith("__pycache__") and entry.is_dir():
                    pending.append(path)
    parts.sort()
    whole = os.fsencode("\n".join(parts))
    return f"{crc32(whole):08x}{crc32(whole[::-1]):08x}"  # the modules with real hashes take long to import


MAX_INDEXES = 512  # every plugin has one or two
MAX_REPORTS = 8_000
MAX_INDEX_BYTES = 256 << 20
MAX_REPORT_BYTES = 16 << 20
AGAIN_S = 600  # a scan that failed is not tried at every command
_CHECKSUM_BYTES = 4


class IndexedScreening(Struct, frozen=True, array_like=True, gc=False):
    """The indexed screening of one skill, valid as long as every status is as it was."""

    paths: bytes  # of all entries but the skill's own file
    stamps: bytes  # the status of each
    file: tuple[int, int, int]  # time, time of change and size of the skill's file, as discovery sees them
    content: str
    screening: bytes = b""  # encoded; nothing for a skill that is clean
    again_at: int = 0  # the second from which a scan that failed is tried again

    def is_due(self, now: float) -> bool:
        """Return whether the scan failed so long ago that it is tried again, or at a time that is not over by this
        clock."""
        return bool(self.again_at) and not now < self.again_at <= now + AGAIN_S


class _Index(Struct, frozen=True, array_like=True):
    version: str
    root: str
    known: dict[str, IndexedScreening]


_index_decoder = msgspec.msgpack.Decoder(_Index)


def load_index(folder: str, root: str) -> dict[str, IndexedScreening]:
    """Load the index of a location, by the path of each skill's file; empty if anything is amiss."""
    content = _read(index_path(folder, root), MAX_INDEX_BYTES)
    if content is None:
        return {}
    try:
        index = _index_decoder.decode(content)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}
    return index.known if (index.version, index.root) == (scanner_version(), root) else {}


def store_index(folder: str, root: str, known: dict[str, IndexedScreening]) -> None:
    """Remember what is known of a location; a folder that cannot be written to is left alone."""
    try:
        content = msgspec.msgpack.encode(_Index(scanner_version(), root, known))
    except (OverflowError, UnicodeEncodeError):  # the name of a folder that is not text
        encodable = {path: value for path, value in known.items() if path.isprintable()}
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
    from clawft.scanner.reports.json import decode_report  # few need a whole report

    return decode_report(found[len(name) :])


def store_report(folder: str, content: str, report: "Report") -> None:
    """Remember a report. One of a scanner that gave up is not worth remembering."""
    if content and not any(gap.failed for gap in report.coverage.gaps):
        from clawft.scanner.reports.json import encode_report

        path = _report_path(folder, content)
        encoded = os.fsencode(os.path.basename(path)) + encode_report(report)  # bound to its name
        if len(encoded) <= MAX_REPORT_BYTES:
            _write(path, encoded)


def prune_reports(folder: str) -> None:
    """Keep the newest reports."""
    _prune(os.path.join(folder, "reports"), ".report", MAX_REPORTS)


def index_path(folder: str, root: str) -> str:
    """Return the path of a location's index."""
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
