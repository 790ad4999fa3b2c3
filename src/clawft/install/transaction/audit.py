"""Installed skills looked at again: with the scanner of today, and with what their registries say of them by now."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from clawft import __version__
from clawft.errors import ClawftError, Diagnostic, Severity
from clawft.locks.clawhub import load_origin
from clawft.locks.model import LockedSkill, Origin
from clawft.scan.findings import VERDICTS, Report
from clawft.sources.choose import REGISTRIES, Sources
from clawft.sources.model import Verdict, Version
from clawft.supply.verified import Checked, compare_signature
from clawft.supply.verify import Signed

__all__ = ["Audited", "Installed", "add_unsigned", "ask_registries", "judge", "list_installed"]

YANKED = "version.yanked"
SYNC = "To have it as it was: weft skills sync"
_SHOWN = 5  # files

Allowed = Callable[[str, Report], bool]  # whether a person allowed what the scanner objects to in a folder


class Installed(Struct, frozen=True):
    """One skill in one folder, as a lock has it; `locked` is what our own says, where it is ours."""

    checked: Checked
    version: Version | None = None
    locked: LockedSkill | None = None


class Audited(Struct, frozen=True):
    """What there is to say of it now. `verdict` is '' for what could not be scanned."""

    installed: Installed
    verdict: str = ""
    registry: str = ""  # what it says; '' where none was asked, or none says anything
    said: tuple[Diagnostic, ...] = ()
    malicious: bool = False
    unchecked: bool = False


def list_installed(checked: Iterable[Checked], lock: Mapping[str, LockedSkill]) -> list[Installed]:
    """What was looked at by `verify`, with where it came from as far as that is known."""
    found = []
    for one in checked:
        locked = lock.get(one.name) if one.ours else None
        version = Version(locked.origin, locked.version, locked.commit, locked.digest) if locked else _guess(one)
        found.append(Installed(one, version, locked))
    return found


def _guess(checked: Checked) -> Version | None:
    """Where the `clawhub` command had a skill from, by the note in its folder."""
    try:
        origin = load_origin(checked.folder) if checked.folder else None
    except ClawftError:
        return None
    if origin is None:
        return None
    return Version(Origin("clawhub", origin.registry, origin.owner_handle or "", origin.slug), origin.installed_version)


async def ask_registries(
    sources: Sources, installed: Sequence[Installed]
) -> tuple[dict[int, Verdict | None], dict[int, Diagnostic]]:
    """What registries say of each, by its place; and why some could not be asked. Each is asked once for all."""
    groups: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(installed):
        if one.version is not None and one.version.origin.kind in REGISTRIES:
            groups.setdefault((one.version.origin.kind, one.version.origin.url), []).append(at)
    said: dict[int, Verdict | None] = {}
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
            said |= dict(zip(places, answers, strict=True))
    return said, problems


def judge(
    installed: Installed, report: Report | None, allowed: Allowed, signed: Signed, verdict: Verdict | None
) -> Audited:
    """All there is to say of one; `verdict` is its registry's."""
    checked, locked = installed.checked, installed.locked
    audited = Audited(installed)
    if checked.state == "missing":
        return _add(audited, "audit-missing", "error", "It is not there any more", SYNC, means="unchecked")
    if report is None or report.failed:
        audited = _add(audited, "audit-unscanned", "error", "It could not be scanned whole", means="unchecked")
    if report is not None:
        audited = _judge_report(audited, report, allowed)
    if checked.state == "changed":
        files = _list_files((*checked.difference.changed, *checked.difference.extra, *checked.difference.missing))
        why = checked.why or f"Its files are not those of the lock: {files}"
        hint = f"See: weft skills verify {checked.name}. {SYNC}" if checked.ours else ""
        audited = _add(audited, "audit-changed", "warning", why, hint, means="unchecked")
    if locked is not None and checked.state == "same":
        found = signed(checked.folder, locked)
        if found is not None:
            why = f"Its signature counts no more: {found.line}"
            restorable = compare_signature(found, known=bool(locked.signed_by)).any
            hint = SYNC if restorable else f"To be rid of it: weft skills remove {checked.name}"
            audited = _add(audited, "audit-signature", "error", why, hint, means="malicious")
    return _judge_registry(audited, verdict) if verdict is not None else audited


def _judge_report(audited: Audited, report: Report, allowed: Allowed) -> Audited:
    locked, folder = audited.installed.locked, audited.installed.checked.folder
    audited = structs.replace(audited, verdict=report.verdict)
    if report.verdict == "malicious":
        if allowed(folder, report):
            return _add(audited, "audit-allowed", "note", "The scanner finds an attack in it, which somebody allowed")
        rules = ", ".join(dict.fromkeys(one.rule for one in report.findings if one.severity == "critical"))
        return _add(
            audited, "audit-malicious", "error", f"The scanner finds an attack in it: {rules}", means="malicious"
        )
    if locked is not None and locked.verdict in VERDICTS and _worse(report.verdict, locked.verdict):
        by = f", by weft {locked.engine}" if locked.engine and locked.engine != __version__ else ""
        message = f"It was {locked.verdict} when it was installed{by}; the scanner says {report.verdict} now"
        return _add(audited, "audit-worse", "warning", message)
    return audited


def _judge_registry(audited: Audited, verdict: Verdict) -> Audited:
    why = verdict.summary or ", ".join(one for one in verdict.reasons if one != YANKED)
    message = f"Its registry says of it: {verdict.status}{f' ({why})' if why else ''}"
    audited = structs.replace(audited, registry=verdict.status)
    if YANKED in verdict.reasons:
        audited = structs.replace(audited, registry="yanked")
        taken = "Its registry took this version back" + (f": {verdict.yanked}" if verdict.yanked else "")
        audited = _add(audited, "audit-yanked", "warning", taken, means="unchecked")
    if verdict.status == "malicious":
        return _add(audited, "registry-malicious", "error", message, means="malicious")
    if verdict.status == "suspicious":
        return _add(audited, "registry-verdict", "warning", message)
    if verdict.status == "unknown" and verdict.reasons and YANKED not in verdict.reasons:
        return _add(audited, "registry-verdict", "warning", message, means="unchecked")
    return audited


def _list_files(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def _worse(now: str, before: str) -> bool:
    order: Sequence[str] = VERDICTS
    return order.index(now) > order.index(before)


def add_unsigned(audited: Audited) -> Audited:
    """With what there is to say where the user wants every skill signed: what was there before stays, and is told."""
    locked = audited.installed.locked
    if locked is None or locked.signed_by or audited.installed.checked.state != "same":
        return audited
    message = "No publisher of yours signed it, and skills.security.require_signature wants that"
    hint = "Ask its publisher to sign it, then: weft skills update"
    return _add(audited, "audit-unsigned", "warning", message, f"{hint} {locked.name}", means="unchecked")


def _add(
    audited: Audited,
    code: str,
    severity: Severity,
    message: str,
    hint: str = "",
    *,
    means: Literal["malicious", "unchecked", ""] = "",
) -> Audited:
    one = Diagnostic(code, severity, message, hint=hint)
    return structs.replace(
        audited,
        said=(*audited.said, one),
        malicious=audited.malicious or means == "malicious",
        unchecked=audited.unchecked or means == "unchecked",
    )
