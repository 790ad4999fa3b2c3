"""Many scans, without those that were made before: a report is kept by content, and taken while that is the same."""

from collections.abc import Iterator, Sequence

from clawft.scan.batch import Watch, scan_many, scan_target
from clawft.scan.cache import load_report, prune_reports, store_report
from clawft.scan.findings import Report
from clawft.scan.fingerprint import take_fingerprint
from clawft.scan.merge import move_report
from clawft.scan.targets import Target

__all__ = ["scan_kept", "scan_one_kept"]


def scan_kept(
    targets: Sequence[Target], cache_dir: str, *, jobs: int = 0, watch: Watch | None = None
) -> Iterator[Report]:
    """A report on each target, in their order, as `scan_many` gives it; what is new is kept in `cache_dir`."""
    contents = [_content(target) for target in targets]
    kept = [load_report(cache_dir, content) for content in contents]
    unknown = [target for target, report in zip(targets, kept, strict=True) if report is None]
    made = scan_many(unknown, jobs=jobs, watch=watch)
    for target, content, report in zip(targets, contents, kept, strict=True):
        if report is not None:
            report = move_report(report, target.path)
            if watch is not None:
                watch(report)
        else:
            report = next(made)
            if content and content == _content(target):  # what changed meanwhile is not what was scanned
                store_report(cache_dir, content, report)
        yield report
    if unknown:
        prune_reports(cache_dir)


def scan_one_kept(target: Target, cache_dir: str) -> Report:
    """The report on one target; a new one is kept, and whoever makes many removes the oldest (`prune_reports`)."""
    content = _content(target)
    kept = load_report(cache_dir, content)
    if kept is not None:
        return move_report(kept, target.path)
    report = scan_target(target)
    if content and content == _content(target):
        store_report(cache_dir, content, report)
    return report


def _content(target: Target) -> str:
    """The hash of what is there; nothing for a part of a folder, and for what cannot be read."""
    if target.without:
        return ""
    try:
        return take_fingerprint(target.path).content
    except (OSError, ValueError):
        return ""
