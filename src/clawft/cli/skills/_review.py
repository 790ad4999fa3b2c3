"""What a person reads before they approve a skill: `trust`, `run` and the terminal share it."""

from collections.abc import Callable
from typing import Any

import msgspec

from clawft.cli.output import clean, one_line
from clawft.cli.skills._scanned import finding_lines, power_lines
from clawft.trust.review import Review

__all__ = ["review_json", "review_lines", "short_lines"]


def review_lines(review: Review, shorten: Callable[[str], str]) -> list[str]:
    """Where it is, what it could do, and what is new since it was last approved."""
    lines = short_lines(review, shorten)
    lines += power_lines("Does not declare", review.undeclared)
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
    power = power_lines("Would use", report.power) or ["Would use: nothing beyond what it tells the model"]
    return [one_line(f"{found.name} ({shorten(found.folder)})"), *([said] if said else []), verdict, *power]


def _change_lines(review: Review, since: str) -> list[str]:
    lines = power_lines(f"New since {since}", review.power.added)
    lines += power_lines(f"Gone since {since}", review.power.removed)
    if not review.power:
        lines.append(f"Power: the same as on {since}")
    if review.files is None:
        return [*lines, f"Files: what they were on {since} was not kept"]
    lines.append(f"Files that changed since {since}: {len(review.files)}")
    for one in review.files:
        lines.append(f"  {one.what}: {one_line(one.path)}")
        lines += [f"    {clean(line)}" for line in one.diff]
    return lines


def review_json(review: Review) -> dict[str, Any]:
    """The same for other programs."""
    found, before = review.found, review.previous
    return {
        "name": found.name,
        "path": found.folder,
        "digest": review.digest,
        "verdict": review.report.verdict,
        "power": msgspec.to_builtins(review.report.power),
        "undeclared": msgspec.to_builtins(review.undeclared),
        "previous": {"digest": before.digest, "at": before.at} if before else None,
        "power_change": msgspec.to_builtins(review.power) if before and not review.is_same else None,
        "files": msgspec.to_builtins(review.files) if review.files is not None else None,
    }
