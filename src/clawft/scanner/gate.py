"""The gate: the screening of every discovered skill, without reading a skill that has not changed.

This is the quick half, and loads no scanner; what is new or changed goes to `rescan`. A skill that came with the
program is as trusted as the program: it is not scanned here.
"""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import MsgspecError

from clawft.scanner.cache import IndexedScreening, index_path, is_unchanged, load_index
from clawft.skills.discovery.catalog import ReviewSubject
from clawft.skills.discovery.locations import Location

if TYPE_CHECKING:
    from clawft.messages import ReportProgress
    from clawft.scanner.screening import Screening


def screen_skills(
    found: Sequence[ReviewSubject],
    cache_dir: str | None,
    tell: "ReportProgress | None" = None,
    *,
    by_content: bool = False,
) -> "tuple[Screening | None, ...]":
    """The screening of each skill, in their order; None for one that is clean. Without `cache_dir` all are scanned.

    `by_content`: they are read though their status is as it was, since what is written through memory leaves no trace.
    """
    return _screen(found, cache_dir, tell, by_content=by_content)[0]


def screen_contents(
    found: Sequence[ReviewSubject], cache_dir: str | None, tell: "ReportProgress | None" = None
) -> "tuple[tuple[Screening | None, ...], tuple[str, ...]]":
    """Screen skills, and for each return a hash of all that it holds; '' for one that is not looked at."""
    screenings, indexes = _screen(found, cache_dir, tell, by_content=False)
    looked = [indexes.get(skill.location.path, {}).get(skill.file) if _is_scanned(skill) else None for skill in found]
    return screenings, tuple([entry.content if entry else "" for entry in looked])


def _screen(
    found: Sequence[ReviewSubject], cache_dir: str | None, tell: "ReportProgress | None", *, by_content: bool
) -> "tuple[tuple[Screening | None, ...], dict[str, dict[str, IndexedScreening]]]":
    results: list[Screening | None] = [None] * len(found)
    indexes: dict[str, dict[str, IndexedScreening]] = {}
    changed: list[int] = []
    root, known, now = "", dict[str, IndexedScreening](), time.time()
    for number, skill in enumerate(found):
        location = skill.location
        if not _is_scanned(skill):
            continue
        if location.path != root:
            root = location.path
            if root not in indexes:
                indexes[root] = load_index(cache_dir, root) if cache_dir else {}
            known = indexes[root]
        entry = known.get(skill.file)
        if entry is None or (by_content and entry.content) or not _holds(entry, skill, now):
            changed.append(number)
        elif entry.screening:
            from clawft.scanner.screening import decode_screening  # most skills are clean

            try:
                results[number] = decode_screening(entry.screening)
            except MsgspecError:
                del known[skill.file]
                changed.append(number)
    if changed:
        from clawft.scanner.rescan import rescan  # nothing of it is needed while nothing has changed

        for number, screening in rescan(found, changed, indexes, cache_dir, tell):
            results[number] = screening
    return tuple(results), indexes


def _is_scanned(skill: ReviewSubject) -> bool:
    return skill.problem is None and skill.location.scope != "bundled"


def is_first_scan(locations: Sequence[Location], cache_dir: str | None) -> bool:
    """Return whether there is a folder of skills that was never scanned: it may take a while."""
    if cache_dir is None:
        return True
    paths = [
        location.path for location in locations if location.scope != "bundled" and os.access(location.path, os.R_OK)
    ]
    unknown = [path for path in paths if os.path.isdir(path) and not os.path.exists(index_path(cache_dir, path))]
    return any(map(os.listdir, unknown))


def _holds(entry: IndexedScreening, one: ReviewSubject, now: float) -> bool:
    """Return whether what is known of a skill is still so."""
    if entry.is_due(now):
        return False
    seen = one.seen
    if seen is not None:
        file = (seen.mtime_ns, seen.ctime_ns, seen.size)
    else:
        try:
            status = os.lstat(one.file)
        except OSError:
            return False
        file = (status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    return entry.file == file and is_unchanged(entry.paths, entry.stamps)
