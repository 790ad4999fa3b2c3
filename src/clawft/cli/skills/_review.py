"""What a person reads before they approve a skill: `trust`, `run` and the terminal share it."""

from collections.abc import Callable, Sequence

from clawft.cli.hooks._brought import brought_lines
from clawft.cli.output import clean, one_line
from clawft.cli.skills._scanned import finding_lines, power_lines
from clawft.describe.reviews import is_executable, list_programs, walk_files
from clawft.trust.kept import FileChange
from clawft.trust.review import AgentReview, Review

__all__ = ["agent_lines", "file_lines", "review_lines", "short_lines", "text_lines"]

MAX_NAMES = 20
_SPEAKS = "beyond what it tells the model"


def review_lines(review: Review, shorten: Callable[[str], str]) -> list[str]:
    """Where it is, what it could do, and what is new since it was last approved."""
    lines = short_lines(review, shorten)
    lines += power_lines("Does not declare", review.undeclared)
    if review.previous is None:
        lines += _name_files(review.found.folder)
    if review.previous is not None and not review.is_same:
        lines += _change_lines(review, review.previous.at[:10])
    return [*lines, *finding_lines(review.report)]


def short_lines(review: Review, shorten: Callable[[str], str]) -> list[str]:
    """The same in a few lines, for one of many."""
    found, report = review.found, review.report
    sure = "nothing is known" if report.failed else f"{report.confidence:.0%} sure"
    skill = found.skill
    said = f"  {one_line(skill.description)[:300]}" if skill and skill.description else ""
    verdict = f"Verdict: {'not scanned' if report.failed else report.verdict} ({sure})"
    programs = list_programs(found.folder)
    nothing = "that the scanner found" if programs else _SPEAKS
    power = power_lines("Would use", report.power) or [f"Would use: nothing {nothing}"]
    power += [f"Brings programs: {_list(programs)}"] if programs else []
    hooks = brought_lines(review.hooks, skill, found.file)
    return [one_line(f"{found.name} ({shorten(found.folder)})"), *([said] if said else []), verdict, *power, *hooks]


def _name_files(folder: str) -> list[str]:
    """What there is to read: nothing for what is one file. What can be run is marked."""
    marks = {name: "*" for name in walk_files(folder) if is_executable(folder, name)}
    names = [f"{name}{marks.get(name, '')}" for name in walk_files(folder)]
    return [f"Files: {_list(names)}{' (*: executable)' if marks else ''}"] if names else []


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(one_line, names[:MAX_NAMES])) + more


def _change_lines(review: Review, since: str) -> list[str]:
    lines = power_lines(f"New since {since}", review.power.added)
    lines += power_lines(f"Gone since {since}", review.power.removed)
    if not review.power:
        lines.append(f"Power: the same as on {since}")
    if review.files is None:
        return [*lines, f"Files: what they were on {since} was not kept"]
    lines.append(f"Files that changed since {since}: {len(review.files)}")
    for one in review.files:
        lines += file_lines(one)
    return lines


def file_lines(change: FileChange) -> list[str]:
    """One file that is not what it was, with the lines that differ."""
    return [f"  {change.what}: {one_line(change.path)}", *(f"    {clean(line)}" for line in change.diff)]


def agent_lines(review: AgentReview, shorten: Callable[[str], str]) -> list[str]:
    """An agent: its tools, and all of its text, or all that is new in it since it was last approved."""
    found, before = review.found, review.previous
    tools = "all tools" if review.power.tools == ("*",) else ", ".join(review.power.tools) or "no tools"
    lines = [one_line(f"agent {found.name} ({shorten(found.file)}): {tools}")]
    if before is not None:
        lines += power_lines(f"New since {before.at[:10]}", review.change.added)
        lines += power_lines(f"Gone since {before.at[:10]}", review.change.removed)
    if review.file is not None and review.file.is_whole:
        return lines + file_lines(review.file)
    return [*lines, *text_lines(review.content)]


def text_lines(content: bytes) -> list[str]:
    """All lines of a file that would speak to a model."""
    return [f"  {clean(line)}" for line in content.decode("utf-8", "replace").split("\n")]
