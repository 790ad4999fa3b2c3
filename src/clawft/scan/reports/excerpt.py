"""The lines of a file around a finding, as they stand there now."""

import os
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from itertools import islice

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_regular, real_path
from clawft.scan.findings import Finding, Report

__all__ = ["Excerpt", "Load", "load_excerpt"]

AROUND = 2
MAX_BYTES = 16 << 20
MAX_LINE = 400


class Excerpt(Struct, frozen=True):
    """Lines of a file with their numbers, and which of them a finding is about."""

    lines: tuple[tuple[int, str], ...]
    first: int
    last: int


Load = Callable[[Report, Finding], Excerpt | None]


def load_excerpt(report: Report, finding: Finding) -> Excerpt | None:
    """The lines around a finding as they stand in the file; None for a file that has no lines to show."""
    root = report.path
    path = os.path.join(root, finding.path) if os.path.isdir(root) else root
    if "!" in finding.path or not _is_inside(path, root):  # a member of an archive has no lines here
        return None
    top = max(1, finding.line - AROUND)
    last = min(max(finding.line, finding.end_line), finding.line + 2 * AROUND)
    lines = _load_lines(path, top, last + AROUND)
    if not 1 <= finding.line < top + len(lines):
        return None
    around = tuple((number, _cut(line, finding.evidence)) for number, line in enumerate(lines, top))
    return Excerpt(around, finding.line, min(last, around[-1][0]))


def _is_inside(path: str, root: str) -> bool:
    """Whether a file is where its path says: a link may lead anywhere."""
    real, top = real_path(path), real_path(root)
    return bool(top) and (real == top or real.startswith(top.rstrip("/") + "/"))


def _load_lines(path: str, first: int, last: int) -> list[str]:
    """Some lines of a file. The others are passed over: there may be millions."""
    lines = islice(BytesIO(_load(path)), first - 1, last)
    return [line.rstrip(b"\r\n").decode("utf-8", errors="replace") for line in lines]


@lru_cache(maxsize=1)  # findings come file by file
def _load(path: str) -> bytes:
    try:
        data, _ = read_regular(path, MAX_BYTES)
    except (ClawftError, OSError):
        return b""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace").encode()
    return b"" if b"\0" in data[:4096] else data


def _cut(line: str, evidence: str) -> str:
    """A line, or of an endless one the part that matters."""
    if len(line) <= MAX_LINE:
        return line
    at = max(0, line.find(evidence.strip("…")[:40]))
    start = max(0, min(at - 40, len(line) - MAX_LINE))
    return ("…" if start else "") + line[start : start + MAX_LINE] + ("…" if start + MAX_LINE < len(line) else "")
