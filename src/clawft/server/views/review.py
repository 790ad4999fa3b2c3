"""JSON documents of a review and of a scan report: what a person sees before approving or allowing."""

import os
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawft.app.app import App
from clawft.errors import ClawftError
from clawft.files import read_regular
from clawft.scanner.findings import Power, Report
from clawft.scanner.power_changes import PowerChange, compare_declared, compare_power
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import ReviewSubject
from clawft.skills.discovery.hooks import DiscoveredHook
from clawft.skills.parse.hooks import CommandHook, parse_skill_commands
from clawft.skills.parse.model import Skill
from clawft.trust.overrides import Override
from clawft.trust.review import Review, ScannedReview
from clawft.trust.status import SkillState, TrustStatus

MAX_TEXTS = 400_000  # bytes of all files of a skill that are shown with a review, programs first

_PROGRAMS = (
    *(".py", ".sh", ".bash", ".zsh", ".fish", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua"),
    *(".r", ".jl", ".go", ".ps1", ".bat", ".cmd", ".exe", ".jar", ".wasm", ".applescript", ".awk", ".tcl"),
)


def review_json(review: ScannedReview) -> dict[str, Any]:
    """Return the review of a skill as JSON."""
    found, before = review.found, review.previous
    return {
        "name": found.name,
        "path": found.root,
        "digest": review.digest,
        "verdict": review.report.verdict,
        "power": msgspec.to_builtins(review.report.power),
        "programs": list_programs(found.root),
        "undeclared": msgspec.to_builtins(review.undeclared),
        "previous": {"digest": before.digest, "at": before.at} if before else None,
        "power_change": msgspec.to_builtins(review.power) if before and not review.is_same else None,
        "files": msgspec.to_builtins(review.files) if review.files is not None else None,
        "hooks": brought_json(review.hooks, found.about, found.file),
    }


def agent_json(review: Review[DiscoveredAgent]) -> dict[str, Any]:
    """Return the review of an agent as JSON."""
    found, before = review.found, review.previous
    return {
        "name": found.name,
        "path": found.file,
        "digest": found.digest,
        "tools": review.report.power.tools,
        "previous": {"digest": before.digest, "at": before.at} if before else None,
        "power_change": msgspec.to_builtins(review.power) if before else None,
        "file": msgspec.to_builtins(review.files[0]) if review.files else None,
    }


def list_programs(folder: str) -> list[str]:
    """The files that can be run, or are written in a language that is."""
    return [name for name in walk_files(folder) if name.lower().endswith(_PROGRAMS) or is_executable(folder, name)]


def load_texts(folder: str) -> list[dict[str, Any]]:
    """Every file with its text, programs first, as far as there is room; None for what is no text, or has no room."""
    programs, left, texts = set(list_programs(folder)), MAX_TEXTS, []
    for name in sorted(walk_files(folder), key=lambda one: (one not in programs, one != "SKILL.md", one)):
        text, size = None, 0
        try:
            size = os.lstat(path := os.path.join(folder, name)).st_size
            content, _ = read_regular(path, left)
            text = None if b"\0" in content else content.decode()
            left -= len(content)
        except (ClawftError, OSError, UnicodeDecodeError):
            pass
        texts.append({"path": name, "program": name in programs, "size": size, "text": text})
    return texts


def brought_json(hooks: Sequence[DiscoveredHook], skill: Skill | None, file: str) -> list[dict[str, Any]]:
    """Return the hooks that a skill brings as JSON."""
    deno = [
        {
            "kind": "deno",
            "name": hook.name,
            "path": hook.file,
            "events": hook.hook.events if hook.hook else [],
            "asks": msgspec.to_builtins(hook.hook.wants) if hook.hook else None,
            "problem": hook.problem.message if hook.problem else None,
        }
        for hook in hooks
    ]
    commands = [
        {"kind": "command", "events": [command.event], "matcher": command.matcher, "command": command.command}
        for command in list_commands(skill, file)
    ]
    return [*deno, *commands]


def list_commands(skill: Skill | None, file: str) -> Sequence[CommandHook]:
    return parse_skill_commands(skill, file).hooks if skill is not None else ()


def walk_files(folder: str) -> list[str]:
    found = (os.path.join(at, name) for at, _, files in os.walk(folder) for name in files)
    return sorted(os.path.relpath(path, folder) for path in found)


def is_executable(folder: str, name: str) -> bool:
    try:
        return bool(os.lstat(os.path.join(folder, name)).st_mode & 0o111)
    except OSError:  # it went away meanwhile
        return False


class ScannedSkill(Struct, frozen=True):
    """The report on a skill, what it uses without declaring it, and what changed since the user allowed it."""

    report: Report
    undeclared: Power
    overrides: tuple[Override, ...]
    change: PowerChange


def load_scanned(app: App, status: TrustStatus[ReviewSubject, SkillState]) -> ScannedSkill:
    """Load the report and the overrides of a skill. It is scanned if that was not done before."""
    found = status.found
    report = app.load_report(found)
    try:
        made = tuple(override for override in app.overrides.load() if override.path == found.root)
    except ClawftError:  # its standing says so where it matters
        made = ()
    change = compare_power(max(made, key=lambda one: one.at).power, report.power) if made else PowerChange()
    undeclared = compare_declared(found.about or Skill(name=status.name), report.power)
    return ScannedSkill(report, undeclared, made, change)


def scanned_json(scanned: ScannedSkill) -> dict[str, Any]:
    """Return a scanned skill as JSON."""
    report = scanned.report
    return {
        "verdict": report.verdict,
        "confidence": report.confidence,
        "failed": report.failed,
        "findings": msgspec.to_builtins(report.findings),
        "power": msgspec.to_builtins(report.power),
        "undeclared": msgspec.to_builtins(scanned.undeclared),
        "changed": msgspec.to_builtins(scanned.change) if scanned.overrides else None,
        "overrides": [override_json(override) for override in scanned.overrides],
        "gaps": msgspec.to_builtins(report.coverage.gaps),
    }


def override_json(override: Override) -> dict[str, Any]:
    """An exception for other programs."""
    names = ("rule", "name", "path", "digest", "because", "by", "at", "expires")
    return {name: getattr(override, name) for name in names}
