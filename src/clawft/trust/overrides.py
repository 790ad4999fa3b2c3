"""Findings that keep a skill from use, and the overrides by which the user allows one rule for one content of a
skill."""

import os
import shlex
from collections.abc import Callable, Collection, Iterable
from datetime import datetime

from msgspec import Struct

from clawft.errors import Diagnostic, Severity
from clawft.scanner.findings import Power
from clawft.scanner.screening import Objection, Screening
from clawft.skills.discovery.catalog import ReviewSubject
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.records import RecordErrorCodes, Seal, SealedRecords

NEVER = "never"


class Override(Struct, frozen=True):
    """One exception. It holds while the content, and what the rule finds in it, is what the user saw."""

    rule: str
    name: str
    path: str  # the folder of the skill
    digest: str
    mark: str  # of what the rule found, which may lie where the digest does not look
    because: str
    by: str
    at: str
    expires: str  # a time with its zone, or "never"
    power: Power = Power()  # what the skill could do then, to tell what changed since

    def why_void(self, objection: Objection, digest: str, now: datetime) -> str:
        """Return why the override does not hold for this objection; '' if it does."""
        if not digest or digest != self.digest:
            return "the skill changed since"
        if objection.mark != self.mark:
            return "the rule finds something else now"
        try:
            over = self.expires != NEVER and datetime.fromisoformat(self.expires) <= now
        except (ValueError, TypeError):  # no time, or one without its zone
            return "when it ends cannot be told"
        return f"it ended on {self.expires[:10]}" if over else ""


class Overrides:
    """The exceptions of one user, read when they are asked for."""

    def __init__(self, path: str, seal: Seal) -> None:
        self.path = path
        codes = RecordErrorCodes("overrides-damaged", "overrides-unsafe", "overrides-busy", "overrides-tampered")
        self._records = SealedRecords(path, Override, "overrides", codes, seal)

    def load(self) -> tuple[Override, ...]:
        """All of them, the ended ones too. Raises: ClawftError for a file that cannot be understood."""
        return self._records.load()

    def add(self, made: Iterable[Override], commit: Callable[[], object] | None = None) -> None:
        """Record exceptions; the newest for a rule and a skill takes the place of older ones.

        `commit` as for `SealedRecords.change`. Raises: ClawftError.
        """
        new = tuple(made)
        self._records.change(
            lambda known: tuple({(override.path, override.rule): override for override in (*known, *new)}.values()),
            commit,
        )

    def replace(self, folders: Collection[str], made: Iterable[Override]) -> None:
        """Let these be all exceptions for skills in some folders. Raises: ClawftError."""
        new = tuple(made)
        self._records.change(lambda known: (*(override for override in known if override.path not in folders), *new))

    def remove(self, path: str, rule: str = "") -> tuple[Override, ...]:
        """Take back the exceptions for a skill, or for one rule of it; those that were there. Raises: ClawftError."""
        taken: list[Override] = []

        def keep(known: tuple[Override, ...]) -> list[Override]:
            taken.extend(override for override in known if override.path == path and rule in ("", override.rule))
            return [override for override in known if override not in taken]

        self._records.change(keep)
        return tuple(taken)


class ScreenedSkills(Struct, frozen=True):
    """The result of a scan: a screening for each skill found, what the user allowed, and whether findings block."""

    screenings: tuple[Screening | None, ...] = ()
    overrides: tuple[Override, ...] = ()
    block_critical: bool = True
    problem: Diagnostic | None = None  # what keeps the overrides from being read
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()


def check_screening(
    found: ReviewSubject, screening: Screening, scanned: ScreenedSkills
) -> tuple[bool, tuple[Diagnostic, ...]]:
    """Return whether the skill is blocked, and what there is to say either way."""
    suspicious = [
        _suspicious(found, objection) for objection in screening.objections if objection.severity != "critical"
    ]
    if screening.failure:
        blocked = scanned.block_critical
        known = [_blocking(found, finding, "", blocked=blocked, final=True) for finding in screening.critical]
        return blocked, (*known, _failed(found, screening, blocked), *suspicious)
    allowed, void = _sort_overrides(found, screening, scanned)
    blocking = [finding for finding in screening.critical if finding.rule not in allowed]
    blocked = bool(blocking) and scanned.block_critical
    diagnostics = [_blocking(found, finding, void.get(finding.rule, ""), blocked=blocked) for finding in blocking]
    diagnostics += [
        _allowed(found, finding, allowed[finding.rule]) for finding in screening.critical if finding.rule in allowed
    ]
    diagnostics += suspicious
    if screening.unread:
        message = f"Not all of it could be scanned: {'; '.join(screening.unread)}"
        diagnostics.append(Diagnostic("scan-incomplete", "note", message, found.file))
    if blocked and scanned.problem is not None:
        diagnostics.append(scanned.problem)
    return blocked, tuple(diagnostics)


def _sort_overrides(
    found: ReviewSubject, screening: Screening, scanned: ScreenedSkills
) -> tuple[dict[str, Override], dict[str, str]]:
    """The exceptions that hold, by rule; and why others do not."""
    made = {override.rule: override for override in scanned.overrides if override.path == found.root}
    held: dict[str, Override] = {}
    void: dict[str, str] = {}
    if not made:
        return held, void
    digest, now = compute_digest(found.root).value, scanned.now()
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


def _place(found: ReviewSubject, objection: Objection) -> tuple[str, int]:
    inside = found.base_dir and objection.path
    return (os.path.join(found.root, objection.path) if inside else found.file), objection.line


def _word(found: ReviewSubject) -> str:
    """The skill as a word of a command line, with where it is found if only that leads to it."""
    name, at = shlex.quote(found.name), found.location
    return f"{name} --dir {shlex.quote(at.path)}" if at.scope == "dir" else name


def _text(objection: Objection) -> str:
    more = f" (and {objection.count - 1} more)" if objection.count > 1 else ""
    return f"{objection.rule}: {objection.message}{more}"


def _blocking(
    found: ReviewSubject, objection: Objection, void: str, *, blocked: bool, final: bool = False
) -> Diagnostic:
    """Return the diagnostic for what blocks a skill, or would; `final` where it cannot be allowed."""
    name = _word(found)
    message = f"{_text(objection)}. {void}" if void else _text(objection)
    shown = f"skills show {name}" if found.kind == "skill" else f"scan {shlex.quote(found.root)}"
    look = f"Look at it: weft {shown}"
    if not blocked:
        return Diagnostic("scan-critical", "warning", message, *_place(found, objection), look)
    allow = f'weft skills allow {name} --rule {objection.rule} --because "…"'
    hint = look if final else f"{look}. To use it anyway: {allow}"
    return Diagnostic("scan-blocked", "error", message, *_place(found, objection), hint)


def _allowed(found: ReviewSubject, objection: Objection, override: Override) -> Diagnostic:
    until = "" if override.expires == "never" else f" until {override.expires[:10]}"
    message = f"{_text(objection)}. {override.by} allowed it{until}: {override.because}"
    return Diagnostic("scan-allowed", "warning", message, *_place(found, objection))


def _suspicious(found: ReviewSubject, objection: Objection) -> Diagnostic:
    return Diagnostic("scan-suspicious", "warning", _text(objection), *_place(found, objection))


def _failed(found: ReviewSubject, screening: Screening, blocked: bool) -> Diagnostic:
    severity: Severity = "error" if blocked else "warning"
    message = f"It could not be scanned, so nothing is known of it: {screening.failure}"
    hint = f"Try: weft skills scan {shlex.quote(found.root)}"
    return Diagnostic("scan-failed", severity, message, found.file, 0, hint)
