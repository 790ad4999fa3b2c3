"""Plans to install or remove skills: where each goes, what is there now, and objections."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from clawft import __version__
from clawft.errors import Diagnostic, NotFound, Severity, Unreadable, find_close
from clawft.files import read_optional, real_path
from clawft.install.lockfile.compare import compare_folder
from clawft.install.lockfile.file import is_plain_name
from clawft.install.lockfile.model import LockedSkill, SkillOrigin
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import CLIENTS, InstallSite
from clawft.scanner.findings import VERDICTS
from clawft.scanner.screening import screen_report
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.approvals import Approval, current_user, make_approval
from clawft.trust.approved_copies import ApprovedCopies, FileChange
from clawft.trust.overrides import Override, ScreenedSkills, check_screening
from clawft.trust.review import Review
from clawft.trust.signing.signatures import SIGNATURE_NAME, Signature, find_refusal
from clawft.trust.signing.sshsig import MAX_BYTES


class Removal(Struct, frozen=True):
    """One skill that is to go, with the folders it lies in; `locked` is None for one that weft did not install."""

    name: str
    places: tuple[str, ...]
    locked: LockedSkill | None = None
    objections: tuple[Diagnostic, ...] = ()


def plan_removal(site: InstallSite, lock: Mapping[str, LockedSkill], names: Sequence[str]) -> list[Removal]:
    """Plan the removal of skills, with everything that needs `--force`. Raises: NotFound."""
    going = set(names)
    return [_plan(site, lock, name, going) for name in dict.fromkeys(names)]


def _plan(site: InstallSite, lock: Mapping[str, LockedSkill], name: str, going: set[str]) -> Removal:
    locked = lock.get(name)
    if locked is None:
        places = [site.folder(client, name) for client in CLIENTS if is_plain_name(name)]
        there = tuple(place for place in places if os.path.lexists(place))
        if not there:
            close = find_close(name, lock)
            hint = (f"did you mean '{close}'? " if close else "") + "Run: weft skills list"
            raise NotFound("skill-not-found", f"No skill '{name}' is installed for this {site.scope}", hint=hint)
        message = f"'{name}' was not installed by weft"
        objection = Diagnostic("not-installed", "error", message, there[0], 0, "To remove it anyway: --force")
        return Removal(name, there, None, (objection,))
    places = [site.folder(client_name, name) for client_name in locked.to if client_name in site.roots]
    there = tuple(place for place in places if os.path.lexists(place))
    objections = [_object_to_edits(name, folder) for folder in there if compare_folder(folder, locked.files).any]
    needed = [skill.name for skill in lock.values() if name in skill.dependencies and skill.name not in going]
    if needed:
        message = f"'{name}' is needed by {', '.join(needed)}"
        hint = f"Remove them too, or pass --force: weft skills remove {' '.join([*needed, name])}"
        objections.append(Diagnostic("skill-needed", "error", message, site.lock, 0, hint))
    return Removal(name, there, locked, tuple(objections))


def _object_to_edits(name: str, folder: str) -> Diagnostic:
    message = f"'{name}' was changed after it was installed; what was changed would be lost"
    return Diagnostic("skill-edited", "error", message, folder, 0, "Keep a copy of what you need, then pass --force")


def find_unneeded(lock: Mapping[str, LockedSkill], removed: Sequence[str]) -> list[str]:
    """Find the skills that were installed only as dependencies of others, none of which is left."""
    left = {name: skill for name, skill in lock.items() if name not in removed}
    needed = {name for skill in left.values() for name in skill.dependencies}
    return sorted(name for name, skill in left.items() if not skill.requested and name not in needed)


_DAYS = 90


class AllowedRules(Struct, frozen=True):
    """Rules whose findings the user overrides, and the reason."""

    rules: tuple[str, ...] = ()
    because: str = ""


class PlannedSkill(Struct, frozen=True):
    """One skill that was looked at. It is installed where there are no objections."""

    staged: StagedSkill
    review: Review[DiscoveredSkill]
    to: tuple[str, ...]
    old: LockedSkill | None = None
    there: dict[str, str] = {}  # by client: the digest of what stands there now, '' for nothing, a link or a file
    taken: tuple[str, ...] = ()  # the clients in whose folders something stands that is not this
    absent: tuple[str, ...] = ()  # those in whose folders there is nothing of this name
    resigned: tuple[str, ...] = ()  # those in whose folders just this stands, with another signature or none
    edits: tuple[FileChange, ...] | None = ()  # the user's changes to the installed one; None: not known
    objections: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    overrides: tuple[Override, ...] = ()
    requested: bool = True
    dependencies: tuple[str, ...] = ()
    signature: Signature = Signature("unsigned")

    @property
    def name(self) -> str:
        return self.staged.name

    @property
    def is_same(self) -> bool:
        """Return whether just this is there, everywhere it is to be."""
        if self.old is None or self.taken or self.absent or self.resigned:
            return False
        lost = self.old.signed_by and self.signature.state == "unsigned"
        return self.old.digest == self.staged.digest and not lost and not self.is_moved

    @property
    def is_moved(self) -> bool:
        """Return whether it comes from another place, or owner, than the one that is installed."""
        return self.old is not None and _place(self.old.origin) != _place(self.staged.resolved.origin)


class InstallPlanner(Struct, frozen=True):
    """Looks at skills for one scope. `force`: what stands there and is not ours, or was edited, may be replaced."""

    site: InstallSite
    lock: dict[str, LockedSkill]
    approved_copies: ApprovedCopies
    known: Callable[[], Sequence[DiscoveredSkill]]  # every skill there is, or will be
    overrides: tuple[Override, ...] = ()
    allowing: AllowedRules = AllowedRules()
    force: bool = False
    signed: bool = False  # nothing is installed that no publisher of the user's signed

    def plan(
        self, staged: StagedSkill, review: Review[DiscoveredSkill], asked: Sequence[str], signature: Signature
    ) -> PlannedSkill:
        """Raises: NotFound for a rule that does not object."""
        old = self.lock.get(staged.name)
        to = (
            tuple(client for client in CLIENTS if client in asked or (old is not None and client in old.to))
            or CLIENTS[:1]
        )
        there = {target: compute_folder_digest(self.site.folder(target, staged.name)) for target in to}
        absent = tuple(target for target in to if not os.path.lexists(self.site.folder(target, staged.name)))
        taken = tuple(target for target in to if there[target] != staged.digest and target not in absent)
        planned = PlannedSkill(
            staged,
            review,
            to,
            old,
            there,
            taken,
            absent,
            self._find_resigned(staged, there),
            signature=signature,
            requested=staged.requested,
            dependencies=staged.dependencies,
        )
        objections, edits = self._look_around(planned)
        shadowed = self._find_shadowed(planned)
        objections += [diagnostic for diagnostic in shadowed if diagnostic.severity == "error"]
        warnings = [diagnostic for diagnostic in shadowed if diagnostic.severity != "error"]
        made = self._allow(planned)
        blocked, diagnostics = self._judge(planned, made)
        unsigned = find_refusal(signature, required=self.signed) or self._find_lost(planned)
        return structs.replace(
            planned,
            edits=edits,
            objections=(*objections, *blocked, *([unsigned] if unsigned else [])),
            notes=(*staged.resolved.notes, *_note_name(staged), *warnings, *diagnostics),
            overrides=made,
        )

    def _find_lost(self, planned: PlannedSkill) -> Diagnostic | None:
        """Find a lost signature: the new version of a signed skill has no good one, and may be by another publisher."""
        old, signature = planned.old, planned.signature
        if old is None or not old.signed_by or signature.state == "good" or self.force:
            return None
        if old.digest == planned.staged.digest and signature.state != "unsigned":
            return None
        message = f"What is installed is signed by {old.signed_by}, and this is {signature.line}"
        return Diagnostic(
            "signature-lost", "error", message, hint="Ask its publisher; to take it all the same: --force"
        )

    def _find_resigned(self, staged: StagedSkill, there: Mapping[str, str]) -> tuple[str, ...]:
        """Find the clients where only the signature differs, which no digest covers."""
        ours = _load_signature(staged.folder)
        places = {
            client: self.site.folder(client, staged.name) for client, digest in there.items() if digest == staged.digest
        }
        return tuple(client for client, place in places.items() if _load_signature(place) != ours)

    def _look_around(self, planned: PlannedSkill) -> tuple[list[Diagnostic], tuple[FileChange, ...] | None]:
        """Check the places that the skill is to be installed to for content that must not just be overwritten."""
        objections: list[Diagnostic] = []
        edits: tuple[FileChange, ...] | None = ()
        old, name = planned.old, planned.name
        if old is not None and not self.force and planned.is_moved:
            message = f"The '{name}' that is installed comes from elsewhere: {old.origin.line}"
            hint = "Remove it first; or, if this one is to take its place: --force"
            objections.append(Diagnostic("install-source", "error", message, self.site.lock, 0, hint))
        for client in planned.taken:
            place = self.site.folder(client, name)
            ours = old is not None and client in old.to
            if os.path.islink(place):
                hint = f"It leads to {real_path(place)}; remove the link first"
                objections.append(Diagnostic("install-link", "error", "A link stands there", place, 0, hint))
            elif not ours and not self.force:
                message = "There is a folder of this name that was not installed by weft"
                hint = "Move it away, or replace it: --force"
                objections.append(Diagnostic("install-exists", "error", message, place, 0, hint))
            elif ours and old is not None and planned.there[client] != old.digest:
                edits = self.approved_copies.compare(old.digest, place)
                if not self.force:
                    objections.append(_object_to_edits(name, place))
        return objections, edits

    def _find_shadowed(self, planned: PlannedSkill) -> list[Diagnostic]:
        """Find the skills that this one could be mistaken for. Bundled skills, and those in a folder of another name,
        are errors unless the user forces the installation; others are warnings."""
        found = planned.review.found
        places = {found.folder, *(self.site.folder(client, planned.name) for client in planned.to)}
        diagnostics = []
        for skill in self.known():
            if skill.name != found.name or skill.folder in places:
                continue
            apart = skill.location.scope == "bundled" or os.path.basename(skill.folder) != planned.name
            message = f"It calls itself '{skill.name}', as another skill does, and could be taken for it"
            hint = "Look at both; to have it all the same: --force" if apart else ""
            severity: Severity = "error" if apart and not self.force else "warning"
            diagnostics.append(Diagnostic("install-shadows", severity, message, skill.folder, 0, hint))
        return diagnostics

    def _judge(self, planned: PlannedSkill, made: Sequence[Override]) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Return the findings that block the installation, and all other diagnostics."""
        folder, report = planned.staged.folder, planned.review.report
        blocking, diagnostics = _check_registry(planned.staged)
        screening = screen_report(report)
        if screening is None:
            return blocking, diagnostics
        places = {self.site.folder(client, planned.name) for client in planned.to}
        known = [
            structs.replace(override, path=folder) for override in (*self.overrides, *made) if override.path in places
        ]
        blocked, found = check_screening(
            planned.review.found, screening, ScreenedSkills((screening,), tuple(known), True)
        )
        rules = dict.fromkeys(f"--allow {finding.rule}" for finding in screening.critical)
        hints = {
            "scan-blocked": f'Look at what was found. To use it anyway: {" ".join(rules)} --because "…"',
            "scan-failed": "",
        }
        blocking += [
            structs.replace(finding, path=os.path.relpath(finding.path, folder), hint=hints[finding.code])
            for finding in (found if blocked else ())
            if finding.code in hints
        ]
        return blocking, diagnostics

    def _allow(self, planned: PlannedSkill) -> tuple[Override, ...]:
        """Exceptions for the rules that were named, wherever the skill goes. Raises: NotFound."""
        if not self.allowing.rules:
            return ()
        screening = screen_report(planned.review.report)
        by_rule = {finding.rule: finding for finding in screening.critical} if screening else {}
        now = datetime.now().astimezone()
        until = (now + timedelta(days=_DAYS)).isoformat(timespec="seconds")
        at, by, power = now.isoformat(timespec="seconds"), current_user(), planned.review.report.power
        made = []
        for rule in self.allowing.rules:
            if rule not in by_rule:
                hint = f"What does: {', '.join(by_rule) or 'nothing'}"
                raise NotFound("rule-not-blocking", f"The rule '{rule}' does not block '{planned.name}'", hint=hint)
            mark, digest, why = by_rule[rule].mark, planned.staged.digest, self.allowing.because
            for client in planned.to:
                place = self.site.folder(client, planned.name)
                made.append(Override(rule, planned.name, place, digest, mark, why, by, at, until, power))
        return tuple(made)

    def approvals(self, planned: PlannedSkill) -> tuple[Approval, ...]:
        """Build the approvals that the user gives by agreeing, one for each place."""
        name, digest, power = planned.review.found.name, planned.staged.digest, planned.review.report.power
        places = (self.site.folder(client, planned.name) for client in planned.to)
        made = (make_approval("skill", place, digest, name, power) for place in places)
        return tuple(structs.replace(approval, installed=True) for approval in made)

    def locked(self, planned: PlannedSkill) -> LockedSkill:
        """Its entry in the lock."""
        staged, old = planned.staged, planned.old
        resolved = staged.resolved
        return LockedSkill(
            name=staged.name,
            origin=resolved.origin,
            digest=staged.digest,
            files=staged.files,
            to=planned.to,
            version=resolved.version,
            commit=resolved.commit,
            archive=resolved.archive,
            verdict=worst_verdict(staged, planned.review),
            engine=__version__,
            approved=staged.digest,
            signed_by=planned.signature.key if planned.signature.state == "good" else "",
            pinned=old.pinned if old else "",
            requested=planned.requested or (old is not None and old.requested),
            dependencies=planned.dependencies,
        )


def _note_name(staged: StagedSkill) -> list[Diagnostic]:
    skill = staged.found.skill
    if skill is None or skill.name == staged.name:
        return []
    message = f"It calls itself '{skill.name}', and is installed as '{staged.name}'"
    return [Diagnostic("install-name", "note", message)]


def _place(origin: SkillOrigin) -> tuple[str, ...]:
    """Return what identifies a skill's origin, whatever its version: another owner's skill of the same name is another
    skill."""
    return origin.kind, origin.url.rstrip("/"), origin.owner.lower(), origin.slug, origin.path


def _load_signature(folder: str) -> bytes | None:
    try:
        return read_optional(os.path.join(folder, SIGNATURE_NAME), MAX_BYTES)
    except Unreadable:  # a link, or what is too long: none that we put there
        return b""


def compute_folder_digest(place: str) -> str:
    """The digest of a folder; nothing where there is none, or a link."""
    return compute_digest(place).value if os.path.isdir(place) and not os.path.islink(place) else ""


def worst_verdict(staged: StagedSkill, review: Review[DiscoveredSkill]) -> str:
    """Ours, or what the registry says if that is worse."""
    theirs = staged.resolved.verdict
    registry_verdict = theirs.status if theirs is not None and theirs.status in VERDICTS else VERDICTS[0]
    return max(review.report.verdict, registry_verdict, key=VERDICTS.index)


def _check_registry(staged: StagedSkill) -> tuple[list[Diagnostic], list[Diagnostic]]:
    verdict = staged.resolved.verdict
    if verdict is None or verdict.status == "clean":
        return [], []
    why = verdict.summary or ", ".join(verdict.reasons)
    message = f"Its registry says of it: {verdict.status}{f' ({why})' if why else ''}"
    if verdict.status == "malicious":
        return [Diagnostic("registry-malicious", "error", message, staged.resolved.origin.url)], []
    return [], [Diagnostic("registry-verdict", "warning" if verdict.status == "suspicious" else "note", message)]
