"""Whether what the scanner says keeps a skill from use (R45, R125), and how that is told."""

import os
import shlex
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.digest import compute_digest
from clawft.errors import Diagnostic, Severity
from clawft.scan.screening import Objection, Screening
from clawft.trust.overrides import Override

__all__ = ["Scanned", "check_screening"]


class Scanned(Struct, frozen=True):
    """What was scanned: a screening for each skill found, what the user allowed, and whether findings block."""

    screenings: tuple[Screening | None, ...] = ()
    overrides: tuple[Override, ...] = ()
    block_critical: bool = True
    problem: Diagnostic | None = None  # what keeps the overrides from being read
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()


def check_screening(found: Found, screening: Screening, scanned: Scanned) -> tuple[bool, tuple[Diagnostic, ...]]:
    """Whether the skill is blocked, and what there is to say either way."""
    suspicious = [_suspicious(found, one) for one in screening.objections if one.severity != "critical"]
    if screening.failure:
        blocked = scanned.block_critical
        known = [_blocking(found, one, "", blocked=blocked, final=True) for one in screening.critical]
        return blocked, (*known, _failed(found, screening, blocked), *suspicious)
    allowed, void = _sort_overrides(found, screening, scanned)
    blocking = [one for one in screening.critical if one.rule not in allowed]
    blocked = bool(blocking) and scanned.block_critical
    said = [_blocking(found, one, void.get(one.rule, ""), blocked=blocked) for one in blocking]
    said += [_allowed(found, one, allowed[one.rule]) for one in screening.critical if one.rule in allowed]
    said += suspicious
    if screening.unread:
        message = f"Not all of it could be scanned: {'; '.join(screening.unread)}"
        said.append(Diagnostic("scan-incomplete", "note", message, found.file))
    if blocked and scanned.problem is not None:
        said.append(scanned.problem)
    return blocked, tuple(said)


def _sort_overrides(found: Found, screening: Screening, scanned: Scanned) -> tuple[dict[str, Override], dict[str, str]]:
    """The exceptions that hold, by rule; and why others do not."""
    made = {one.rule: one for one in scanned.overrides if one.path == found.folder}
    held: dict[str, Override] = {}
    void: dict[str, str] = {}
    if not made:
        return held, void
    digest, now = compute_digest(found.folder).value, scanned.now()
    for objection in screening.critical:
        override = made.get(objection.rule)
        if override is None:
            continue
        why = override.why_void(objection, digest, now)
        if why:
            void[objection.rule] = f"It was allowed on {override.at[:10]}, but {why}"
        else:
            held[objection.rule] = override
    return held, void


def _place(found: Found, objection: Objection) -> tuple[str, int]:
    inside = found.base_dir and objection.path
    return (os.path.join(found.folder, objection.path) if inside else found.file), objection.line


def _word(found: Found) -> str:
    """The skill as a word of a command line, with where it is found if only that leads to it."""
    name, at = shlex.quote(found.name), found.location
    return f"{name} --dir {shlex.quote(at.path)}" if at.scope == "dir" else name


def _text(objection: Objection) -> str:
    more = f" (and {objection.count - 1} more)" if objection.count > 1 else ""
    return f"{objection.rule}: {objection.message}{more}"


def _blocking(found: Found, objection: Objection, void: str, *, blocked: bool, final: bool = False) -> Diagnostic:
    """What blocks, or would; `final` where it cannot be allowed."""
    name = _word(found)
    message = f"{_text(objection)}. {void}" if void else _text(objection)
    look = f"Look at it: weft skills show {name}"
    if not blocked:
        return Diagnostic("scan-critical", "warning", message, *_place(found, objection), look)
    allow = f'weft skills allow {name} --rule {objection.rule} --because "…"'
    hint = look if final else f"{look}. To use it anyway: {allow}"
    return Diagnostic("scan-blocked", "error", message, *_place(found, objection), hint)


def _allowed(found: Found, objection: Objection, override: Override) -> Diagnostic:
    until = "" if override.expires == "never" else f" until {override.expires[:10]}"
    message = f"{_text(objection)}. {override.by} allowed it{until}: {override.because}"
    return Diagnostic("scan-allowed", "warning", message, *_place(found, objection))


def _suspicious(found: Found, objection: Objection) -> Diagnostic:
    return Diagnostic("scan-suspicious", "warning", _text(objection), *_place(found, objection))


def _failed(found: Found, screening: Screening, blocked: bool) -> Diagnostic:
    severity: Severity = "error" if blocked else "warning"
    message = f"It could not be scanned, so nothing is known of it: {screening.failure}"
    hint = f"Try: weft skills scan {shlex.quote(found.folder)}"
    return Diagnostic("scan-failed", severity, message, found.file, 0, hint)
