"""The slow half of the gate: skills that are new or changed. Their content decides whether they are scanned again.

What is scanned is scanned in a process of its own, but for a few short texts. Whatever goes wrong, the answer is a
screening that says so: nothing passes because nobody could look at it.
"""

import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_regular, real_path
from clawft.messages import ReportProgress
from clawft.scanner.batch import FEW, ScannedPath, choose_jobs, failed_report, scan_target
from clawft.scanner.cache import (
    AGAIN_S,
    IndexedScreening,
    load_report,
    pack_stamps,
    prune_reports,
    store_index,
    store_report,
)
from clawft.scanner.findings import Report, merge_reports, move_report
from clawft.scanner.fingerprint import Fingerprint, compute_fingerprint
from clawft.scanner.screening import Screening, decode_screening, screen_report
from clawft.skills.discovery.catalog import SIDECAR, ReviewSubject
from clawft.skills.discovery.walk import LEGACY_PROMPT, load_bytes

_MAX_CHECKED = 500
_MAX_TEXTS = 32
_MAX_TEXT_BYTES = 64 * 1024  # of all of them


class _Job(Struct):
    """One skill to be looked at again."""

    number: int
    found: ReviewSubject
    linked: dict[str, bytes]  # what is read through links, by the name it is read as
    fingerprint: Fingerprint


def rescan(
    found: Sequence[ReviewSubject],
    changed: Sequence[int],
    indexes: dict[str, dict[str, IndexedScreening]],
    cache_dir: str | None,
    tell: ReportProgress | None,
) -> list[tuple[int, Screening | None]]:
    """The screening of the skills of these numbers; what is learned goes into the indexes and the cache."""
    results: list[tuple[int, Screening | None]] = []
    unknown: list[_Job] = []
    before = {root: dict(known) for root, known in indexes.items()}
    for number in changed:
        again_at = 0
        try:
            job = _look_at(number, found[number])
        except (OSError, ValueError, ClawftError) as error:
            results.append((number, _failure(f"It cannot be read: {error}")))
            continue
        if (known := _find_known(indexes, job)) is not None:
            screening, again_at = known
        elif cache_dir and (report := load_report(cache_dir, job.fingerprint.content)) is not None:
            screening = screen_report(report)
        else:
            unknown.append(job)
            continue
        results.append((number, screening))
        _learn(indexes, job, screening, again_at)
    left = {job.number: job for job in unknown}
    try:
        for job, report in _scan(unknown, tell):
            del left[job.number]
            results.append((job.number, _conclude(job, report, indexes, cache_dir)))
    except Exception as error:  # a scanner that cannot even start lets nothing pass, and says why
        results += [(number, _failure(f"The scanner failed: {error!r:.200}")) for number in left]
    if cache_dir:
        for root in {found[number].location.path for number in changed}:
            if indexes[root] == before[root]:
                continue  # it was read again, and is as it was
            store_index(cache_dir, root, _drop_missing(indexes[root]))
        if unknown:
            prune_reports(cache_dir)
    return results


def _drop_missing(known: dict[str, IndexedScreening]) -> dict[str, IndexedScreening]:
    """Return the index without skills that are gone; of many only some are looked for each time."""
    some = known if len(known) <= _MAX_CHECKED else random.sample(list(known), _MAX_CHECKED)
    missing = {file for file in some if not os.path.lexists(file)}
    return {file: value for file, value in known.items() if file not in missing} if missing else known


def _find_known(indexes: dict[str, dict[str, IndexedScreening]], job: _Job) -> tuple[Screening | None, int] | None:
    """Find a screening of the same content at the same place; a scan that failed is due again after a while."""
    known = indexes[job.found.location.path].get(job.found.file)
    if known is None or not known.content or known.content != job.fingerprint.content or known.is_due(time.time()):
        return None
    try:
        return decode_screening(known.screening), known.again_at
    except msgspec.MsgspecError:
        return None


def _conclude(
    job: _Job, report: Report, indexes: dict[str, dict[str, IndexedScreening]], cache_dir: str | None
) -> Screening | None:
    """Screen a new report and index it; an error with one skill does not affect the others."""
    try:
        screening = _settle(job, report, cache_dir)
        _learn(indexes, job, screening)
    except Exception as error:
        return _failure(f"The scanner failed: {error!r:.200}")
    return screening


def load_or_scan(found: ReviewSubject, cache_dir: str | None) -> Report:
    """The whole report on one skill: from the cache if its content is known, else made now."""

    try:
        job = _look_at(0, found)
    except (OSError, ValueError, ClawftError) as error:
        return failed_report(found.root, f"It cannot be read: {error}")
    report = load_report(cache_dir, job.fingerprint.content) if cache_dir else None
    if report is None:
        _, report = next(_scan([job], None))
        _settle(job, report, cache_dir)
    return move_report(report, found.root)


def _look_at(number: int, found: ReviewSubject) -> _Job:
    linked = _read_linked(found)
    return _Job(number, found, linked, compute_fingerprint(found.root, linked))


def _read_linked(found: ReviewSubject) -> dict[str, bytes]:
    """The files of a skill that discovery reads through links: they are scanned though links are not followed."""
    names = [os.path.basename(found.file), LEGACY_PROMPT, SIDECAR] if found.base_dir else [""]
    folder = real_path(found.root if found.base_dir else os.path.dirname(found.root))
    linked = {}
    for name in names:
        path = os.path.join(found.root, name).rstrip("/")
        plain = os.path.join(folder, name or os.path.basename(found.root))
        if os.path.lexists(path) and real_path(path) != plain:
            try:
                linked[name or os.path.basename(found.root)] = load_bytes(path, found.location.path)[0]
            except (FileNotFoundError, NotADirectoryError, ClawftError):
                continue  # then nothing of it reaches a model either
    return linked


def _scan(jobs: Sequence[_Job], tell: ReportProgress | None) -> Iterator[tuple[_Job, Report]]:
    """A report on each job, as they are made."""
    if not jobs:
        return
    with tempfile.TemporaryDirectory(prefix="clawft-scan-") as temporary:
        parts = [_targets(job, os.path.join(temporary, str(number))) for number, job in enumerate(jobs)]
        owners = [number for number, targets in enumerate(parts) for _ in targets]
        made: dict[int, dict[int, Report]] = {}
        done = 0
        for index, report in _scan_targets([target for part in parts for target in part]):
            owner = owners[index]
            reports = made.setdefault(owner, {})
            reports[index] = report
            if len(reports) == len(parts[owner]):
                done += 1
                if tell is not None:
                    tell(done, len(jobs))
                in_order = sorted(made.pop(owner).items())  # the first is of the skill, whichever was done first
                yield jobs[owner], merge_reports([report for _, report in in_order])


def _scan_targets(targets: Sequence[ScannedPath]) -> Iterator[tuple[int, Report]]:
    """Yield a report on each target with its number. Long scans, and those that may crash, run in other processes."""

    short = {number for number, target in enumerate(targets) if len(targets) <= FEW and is_short(target.path)}
    for number in sorted(short):
        yield number, scan_target(targets[number])
    rest = [number for number in range(len(targets)) if number not in short]
    if rest:
        from clawft.scanner.processes import scan_in_processes  # costs an import, and a process to begin

        for index, report in scan_in_processes([targets[number] for number in rest], choose_jobs(len(rest))):
            yield rest[index], report


def is_short(path: str) -> bool:
    """Return whether a skill is a few short texts and nothing else: nothing to unpack, and no link."""
    left_files, left_bytes = _MAX_TEXTS, _MAX_TEXT_BYTES
    folders = [path] if os.path.isdir(path) else []
    files = [] if folders else [path]
    try:
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left_files -= 1
                    if left_files < 0 or entry.is_symlink():
                        return False
                    (folders if entry.is_dir() else files).append(entry.path)
        for file in files:
            data = read_regular(file, left_bytes)[0]
            left_bytes -= len(data)
            if b"\0" in data:
                return False
            data.decode()
    except (OSError, ValueError, ClawftError):
        return False
    return True


def _targets(job: _Job, temporary: str) -> list[ScannedPath]:
    """Yield what to scan for a skill: its folder, and copies of files behind links, by the names they are read as."""
    for name, content in job.linked.items():
        path = os.path.join(temporary, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    return [ScannedPath(real_path(job.found.root)), *([ScannedPath(temporary)] if job.linked else [])]


def _settle(job: _Job, report: Report, cache_dir: str | None) -> Screening | None:
    """Screen a new report. It is valid only for files that were there all the time."""
    try:
        after = _look_at(job.number, job.found).fingerprint
    except (OSError, ValueError, ClawftError) as error:
        return _failure(f"It cannot be read: {error}")
    if (after.content, after.stamps) != (job.fingerprint.content, job.fingerprint.stamps):
        job.fingerprint = Fingerprint((), "", settled=False)
        return _failure("It changed while it was scanned")
    if cache_dir:
        store_report(cache_dir, job.fingerprint.content, report)
    return screen_report(report)


def _failure(reason: str) -> Screening:
    return Screening("suspicious", failure=reason)


def _learn(
    indexes: dict[str, dict[str, IndexedScreening]], job: _Job, screening: Screening | None, again_at: int = 0
) -> None:
    """Put what is known of a skill into the index of its location."""
    file = os.fsencode(job.found.file)
    own = next((stamp for stamp in job.fingerprint.stamps if stamp[0] == file), None)
    encoded = msgspec.msgpack.encode(screening) if screening is not None else b""
    if screening is not None and screening.failure and not again_at:
        again_at = int(time.time()) + AGAIN_S
    # Never the status of a file: looked at again next time. What is the same by content is not scanned again.
    known = IndexedScreening(b"", b"", (-1, -1, -1), job.fingerprint.content, encoded, again_at)
    if job.fingerprint.settled and own is not None:
        with suppress(OverflowError):  # a number that no file system has
            paths, stamps = pack_stamps([stamp for stamp in job.fingerprint.stamps if stamp is not own])
            known = IndexedScreening(
                paths, stamps, (own[1], own[2], own[3]), job.fingerprint.content, encoded, again_at
            )
    indexes[job.found.location.path][job.found.file] = known
