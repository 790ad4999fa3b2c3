"""Scans of many targets: find the targets at a path, report on each in order, and reuse cached reports."""

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, structs

from clawft.scanner.cache import load_report, prune_reports, store_report
from clawft.scanner.findings import Coverage, Gap, Power, Report, move_report
from clawft.scanner.fingerprint import compute_fingerprint

SKILL_FILES = frozenset({"skill.md", "skill.json"})
MAX_FOLDERS = 100_000
MAX_UP = 8


class ScannedPath(Struct, frozen=True):
    """One thing to scan, as one report."""

    path: str
    without: tuple[str, ...] = ()  # the skills inside it, which are targets of their own


def find_targets(path: str) -> list[ScannedPath]:
    """Find the targets at a path: a skill is scanned whole, a folder of skills one by one and then the rest.

    Whatever no skill holds is in the rest, however deep it lies. No link is followed below the path.

    Raises: OSError, when the path is missing.
    """
    os.stat(path)  # also of '', which is no path
    path = os.path.abspath(path)
    if os.path.islink(path):  # it was named, so it is followed
        path = os.path.realpath(path)
    if os.path.basename(path).lower() == "skill.md":  # the skill is meant, not the one file of it
        path = os.path.dirname(path)
    if not os.path.isdir(path) or _is_skill(path):
        return [ScannedPath(path)]
    skills, outside = _find_skills(path)
    rest = [ScannedPath(path, tuple(skills))] if outside or not skills else []
    return [*(ScannedPath(skill) for skill in skills), *rest]


def find_enclosing_skill(path: str, top: str) -> str | None:
    """The skill folder that a file lies in; not looked for above `top` where the file lies below that."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(MAX_UP):
        if _is_skill(folder):
            return folder
        above = os.path.dirname(folder)
        if above in (folder, os.path.dirname(top)):
            return None
        folder = above
    return None


def _is_skill(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.lower() in SKILL_FILES for entry in entries)
    except OSError:
        return False


def _find_skills(root: str) -> tuple[list[str], bool]:
    """The skill folders below a folder, sorted, and whether anything else is there."""
    skills: list[str] = []
    pending, outside = [root], False
    for _ in range(MAX_FOLDERS):
        if not pending:
            return sorted(skills), outside
        folder = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError:
            outside = True  # the scan of the rest says so
            continue
        if any(entry.name.lower() in SKILL_FILES for entry in entries):
            skills.append(folder)
            continue
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
        pending += folders
        outside = outside or len(folders) < len(entries)
    return sorted(skills), True


FEW = 24  # so many are scanned sooner than a second process has started
MAX_JOBS = 8
MAX_ASKED = 64  # more processes than that help nobody

Watch = Callable[[Report], None]


def scan_target(target: ScannedPath) -> Report:
    """Scan one target. What goes wrong is in the report: nothing is known then, and that is not `clean`."""
    from clawft.scanner.engine import scan_path  # the help of a command needs none of it

    try:
        report = scan_path(target.path, without=target.without)
    except OSError as error:
        return failed_report(target.path, f"It cannot be read: {error.strerror or error}")
    except Exception as error:  # untrusted files must not end the scan of the others
        return failed_report(target.path, f"The scanner failed on it: {error!r:.200}")
    if target.without:
        return structs.replace(report, name=f"{report.name} (outside its skills)")
    return report


def failed_report(path: str, reason: str) -> Report:
    """The report on something that could not be scanned."""
    return Report(
        path=path,
        name=os.path.basename(path) or path,
        digest="",
        verdict="suspicious",
        confidence=0.5,
        findings=(),
        power=Power(),
        coverage=Coverage(gaps=(Gap("", reason, failed=True),)),
    )


def choose_jobs(targets: int, jobs: int = 0) -> int:
    """Choose the number of processes: as many as asked for; else none besides this one for a few targets."""
    if jobs:
        return max(1, min(jobs, targets, MAX_ASKED))
    return 1 if targets <= FEW else min(os.cpu_count() or 1, MAX_JOBS)


def scan_many(targets: Sequence[ScannedPath], *, jobs: int = 0, watch: Watch | None = None) -> Iterator[Report]:
    """A report on each target, in their order; `watch` gets each as soon as it is made.

    `jobs` is the number of processes, 0 for what suits the machine. A process that dies or does not answer costs
    the one target it was scanning, whose report says so.
    """
    made: Iterator[tuple[int, Report]]
    if choose_jobs(len(targets), jobs) == 1:
        made = enumerate(map(scan_target, targets))
    else:
        from clawft.scanner.processes import scan_in_processes  # costs an import that a single scan does without

        made = scan_in_processes(targets, choose_jobs(len(targets), jobs))
    early: dict[int, Report] = {}
    due = 0
    for index, report in made:
        if watch is not None:
            watch(report)
        early[index] = report
        while due in early:
            yield early.pop(due)
            due += 1


def scan_cached(
    targets: Sequence[ScannedPath], cache_dir: str, *, jobs: int = 0, watch: Watch | None = None
) -> Iterator[Report]:
    """A report on each target, in their order, as `scan_many` gives it; what is new is kept in `cache_dir`."""
    contents = [_content(target) for target in targets]
    cached = [load_report(cache_dir, content) for content in contents]
    unknown = [target for target, report in zip(targets, cached, strict=True) if report is None]
    made = scan_many(unknown, jobs=jobs, watch=watch)
    for target, content, report in zip(targets, contents, cached, strict=True):
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


def scan_one_cached(target: ScannedPath, cache_dir: str) -> Report:
    """Return the report on one target, cached; a caller that makes many removes the oldest (`prune_reports`)."""
    return next(scan_cached([target], cache_dir))  # what comes after the last report, the removal, is not reached


def _content(target: ScannedPath) -> str:
    """The hash of what is there; nothing for a part of a folder, and for what cannot be read."""
    if target.without:
        return ""
    try:
        return compute_fingerprint(target.path).content
    except (OSError, ValueError):
        return ""
