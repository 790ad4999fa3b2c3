"""What a person reads before they approve a skill: `trust`, `run` and the terminal share it."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from clawft.cli.hooks._brought import brought_json, brought_lines
from clawft.cli.output import clean, one_line
from clawft.cli.skills._scanned import finding_lines, power_lines
from clawft.trust.kept import FileChange
from clawft.trust.review import AgentReview, Review

__all__ = ["agent_json", "agent_lines", "file_lines", "review_json", "review_lines", "short_lines"]

MAX_AGENT_LINES = 200
MAX_NAMES = 20


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
    power = power_lines("Would use", report.power) or ["Would use: nothing beyond what it tells the model"]
    hooks = brought_lines(review.hooks, skill, found.file)
    return [one_line(f"{found.name} ({shorten(found.folder)})"), *([said] if said else []), verdict, *power, *hooks]


def _name_files(folder: str) -> list[str]:
    """What there is to read: nothing for what is one file."""
    found = (os.path.join(at, name) for at, _, files in os.walk(folder) for name in files)
    names = sorted(os.path.relpath(one, folder) for one in found)
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return [f"Files: {', '.join(map(one_line, names[:MAX_NAMES]))}{more}"] if names else []


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


def agent_lines(review: AgentReview, shorten: Callable[[str], str], *, whole: bool) -> list[str]:
    """An agent: its tools, and its text or what is new in it since it was last approved."""
    found, before = review.found, review.previous
    tools = "all tools" if review.power.tools == ("*",) else ", ".join(review.power.tools) or "no tools"
    lines = [one_line(f"agent {found.name} ({shorten(found.file)}): {tools}")]
    if before is not None:
        lines += power_lines(f"New since {before.at[:10]}", review.change.added)
        lines += power_lines(f"Gone since {before.at[:10]}", review.change.removed)
    if review.file is not None:
        return lines + file_lines(review.file)
    text = review.content.decode("utf-8", "replace").splitlines() if whole or before else []
    lines += [f"  {clean(line)}" for line in text[:MAX_AGENT_LINES]]
    return lines + ([f"  (and {len(text) - MAX_AGENT_LINES} lines more)"] if len(text) > MAX_AGENT_LINES else [])


def agent_json(review: AgentReview) -> dict[str, Any]:
    """The same for other programs."""
    found, before = review.found, review.previous
    return {
        "name": found.name,
        "path": found.file,
        "digest": found.digest,
        "tools": review.power.tools,
        "previous": {"digest": before.digest, "at": before.at} if before else None,
        "power_change": msgspec.to_builtins(review.change) if before else None,
        "file": msgspec.to_builtins(review.file) if review.file else None,
    }


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
        "hooks": brought_json(review.hooks, found.skill, found.file),
    }
