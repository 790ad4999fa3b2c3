"""Installed skills looked at again: with the scanner of today, and with what their registries say of them by now."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from clawft import __version__
from clawft.errors import ClawftError, Diagnostic, Severity
from clawft.install.lockfile.foreign import load_origin
from clawft.install.lockfile.model import LockedSkill, SkillOrigin
from clawft.install.sources.model import AvailableVersion, SourceVerdict
from clawft.install.sources.selection import REGISTRIES, SkillSources
from clawft.install.transaction.verification import Signed, VerifiedFolder, compare_signature
from clawft.scanner.findings import VERDICTS, Report

YANKED = "version.yanked"
SYNC = "To have it as it was: weft skills sync"
_SHOWN = 5  # files

Allowed = Callable[[str, Report], bool]  # whether a person allowed what the scanner objects to in a folder


class InstalledSkill(Struct, frozen=True):
    """One skill in one folder, as a lock has it; `locked` is what our own says, where it is ours."""

    checked: VerifiedFolder
    version: AvailableVersion | None = None
    locked: LockedSkill | None = None


class AuditedSkill(Struct, frozen=True):
    """The audit result of one installed skill. `verdict` is '' for a skill that could not be scanned."""

    installed: InstalledSkill
    verdict: str = ""
    registry: str = ""  # what it says; '' where none was asked, or none says anything
    problems: tuple[Diagnostic, ...] = ()
    malicious: bool = False
    unchecked: bool = False


def list_installed(checked: Iterable[VerifiedFolder], lock: Mapping[str, LockedSkill]) -> list[InstalledSkill]:
    """List the skills that `verify` checked, each with its origin as far as that is known."""
    found = []
    for folder in checked:
        locked = lock.get(folder.name) if folder.ours else None
        version = (
            AvailableVersion(locked.origin, locked.version, locked.commit, locked.digest) if locked else _guess(folder)
        )
        found.append(InstalledSkill(folder, version, locked))
    return found


def _guess(checked: VerifiedFolder) -> AvailableVersion | None:
    """Read a skill's origin from the file that the `clawhub` command left in its folder; None where there is none."""
    try:
        origin = load_origin(checked.folder) if checked.folder else None
    except ClawftError:
        return None
    if origin is None:
        return None
    return AvailableVersion(
        SkillOrigin("clawhub", origin.registry, origin.owner_handle or "", origin.slug), origin.installed_version
    )


async def ask_registries(
    sources: SkillSources, installed: Sequence[InstalledSkill]
) -> tuple[dict[int, SourceVerdict | None], dict[int, Diagnostic]]:
    """Fetch the registries' verdicts on the skills, by index, and the errors of those that could not be asked. Each
    registry is asked once for all its skills."""
    groups: dict[tuple[str, str], list[int]] = {}
    for at, skill in enumerate(installed):
        if skill.version is not None and skill.version.origin.kind in REGISTRIES:
            groups.setdefault((skill.version.origin.kind, skill.version.origin.url), []).append(at)
    verdicts: dict[int, SourceVerdict | None] = {}
    problems: dict[int, Diagnostic] = {}
    for (_, url), places in groups.items():
        versions = [version for at in places if (version := installed[at].version) is not None]
        try:
            answers = await sources.find_registry(versions[0].origin).check(versions)
        except ClawftError as error:
            why = f"Its registry could not be asked: {error}"
            problem = Diagnostic("audit-unasked", "error", why, url, 0, error.hint)
            problems |= dict.fromkeys(places, problem)
        else:
            verdicts |= dict(zip(places, answers, strict=True))
    return verdicts, problems


def judge_installed(
    installed: InstalledSkill, report: Report | None, allowed: Allowed, signed: Signed, verdict: SourceVerdict | None
) -> AuditedSkill:
    """All there is to say of one; `verdict` is its registry's."""
    checked, locked = installed.checked, installed.locked
    audited = AuditedSkill(installed)
    if checked.state == "missing":
        return _add(audited, "audit-missing", "error", "It is not there any more", SYNC, outcome="unchecked")
    if report is None or report.failed:
        audited = _add(audited, "audit-unscanned", "error", "It could not be scanned whole", outcome="unchecked")
    if report is not None:
        audited = _judge_report(audited, report, allowed)
    if checked.state == "changed":
        paths = (*checked.difference.changed, *checked.difference.extra, *checked.difference.missing)
        files = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        why = checked.why or f"Its files are not those of the lock: {files}"
        hint = f"See: weft skills verify {checked.name}. {SYNC}" if checked.ours else ""
        audited = _add(audited, "audit-changed", "warning", why, hint, outcome="unchecked")
    if locked is not None and checked.state == "same":
        found = signed(checked.folder, locked)
        if found is not None:
            why = f"Its signature counts no more: {found.line}"
            restorable = compare_signature(found, known=bool(locked.signed_by)).any
            hint = SYNC if restorable else f"To be rid of it: weft skills remove {checked.name}"
            audited = _add(audited, "audit-signature", "error", why, hint, outcome="malicious")
    return _judge_registry(audited, verdict) if verdict is not None else audited


def _judge_report(audited: AuditedSkill, report: Report, allowed: Allowed) -> AuditedSkill:
    locked, folder = audited.installed.locked, audited.installed.checked.folder
    audited = structs.replace(audited, verdict=report.verdict)
    if report.verdict == "malicious":
        if allowed(folder, report):
            return _add(audited, "audit-allowed", "note", "The scanner finds an attack in it, which somebody allowed")
        rules = ", ".join(dict.fromkeys(finding.rule for finding in report.findings if finding.severity == "critical"))
        return _add(
            audited, "audit-malicious", "error", f"The scanner finds an attack in it: {rules}", outcome="malicious"
        )
    if locked is not None and locked.verdict in VERDICTS[: VERDICTS.index(report.verdict)]:  # it is worse now
        by = f", by weft {locked.engine}" if locked.engine and locked.engine != __version__ else ""
        message = f"It was {locked.verdict} when it was installed{by}; the scanner says {report.verdict} now"
        return _add(audited, "audit-worse", "warning", message)
    return audited


def _judge_registry(audited: AuditedSkill, verdict: SourceVerdict) -> AuditedSkill:
    why = verdict.summary or ", ".join(reason for reason in verdict.reasons if reason != YANKED)
    message = f"Its registry says of it: {verdict.status}{f' ({why})' if why else ''}"
    audited = structs.replace(audited, registry=verdict.status)
    if YANKED in verdict.reasons:
        audited = structs.replace(audited, registry="yanked")
        taken = "Its registry took this version back" + (f": {verdict.yanked}" if verdict.yanked else "")
        audited = _add(audited, "audit-yanked", "warning", taken, outcome="unchecked")
    if verdict.status == "malicious":
        return _add(audited, "registry-malicious", "error", message, outcome="malicious")
    if verdict.status == "suspicious":
        return _add(audited, "registry-verdict", "warning", message)
    if verdict.status == "unknown" and verdict.reasons and YANKED not in verdict.reasons:
        return _add(audited, "registry-verdict", "warning", message, outcome="unchecked")
    return audited


def add_unsigned(audited: AuditedSkill) -> AuditedSkill:
    """Add a warning for an unsigned skill where the user requires signatures: it stays installed, and is reported."""
    locked = audited.installed.locked
    if locked is None or locked.signed_by or audited.installed.checked.state != "same":
        return audited
    message = "No publisher of yours signed it, and skills.security.require_signature wants that"
    hint = "Ask its publisher to sign it, then: weft skills update"
    return _add(audited, "audit-unsigned", "warning", message, f"{hint} {locked.name}", outcome="unchecked")


def _add(
    audited: AuditedSkill,
    code: str,
    severity: Severity,
    message: str,
    hint: str = "",
    *,
    outcome: Literal["malicious", "unchecked", ""] = "",
) -> AuditedSkill:
    one = Diagnostic(code, severity, message, hint=hint)
    return structs.replace(
        audited,
        problems=(*audited.problems, one),
        malicious=audited.malicious or outcome == "malicious",
        unchecked=audited.unchecked or outcome == "unchecked",
    )
