"""What installing a skill would come to: where it goes, what is there now, what speaks against it."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from clawft import __version__
from clawft.discovery import Found
from clawft.discovery.digest import compute_digest
from clawft.errors import Diagnostic, NotFound, Severity, Unreadable
from clawft.files import read_optional, real_path
from clawft.locks.model import LockedSkill, Origin
from clawft.scan.findings import VERDICTS
from clawft.scan.screening import screen_report
from clawft.signing.check import SIGNATURE_NAME, Signature, find_refusal
from clawft.signing.sshsig import MAX_BYTES
from clawft.supply.stage import Staged
from clawft.supply.targets import CLIENTS, Site
from clawft.trust.approvals import Approval, current_user, make_approval
from clawft.trust.blocking import Scanned, check_screening
from clawft.trust.kept import FileChange, Kept
from clawft.trust.overrides import Override
from clawft.trust.review import Review

__all__ = ["Allowing", "Planned", "Planner", "look_at", "worst_verdict"]

_DAYS = 90


class Allowing(Struct, frozen=True):
    """Rules that may object in vain, and why."""

    rules: tuple[str, ...] = ()
    because: str = ""


class Planned(Struct, frozen=True):
    """One skill that was looked at. It is installed where there are no objections."""

    staged: Staged
    review: Review
    to: tuple[str, ...]
    old: LockedSkill | None = None
    there: dict[str, str] = {}  # by client: the digest of what stands there now, '' for nothing, a link or a file
    taken: tuple[str, ...] = ()  # the clients in whose folders something stands that is not this
    absent: tuple[str, ...] = ()  # those in whose folders there is nothing of this name
    resigned: tuple[str, ...] = ()  # those in whose folders just this stands, with another signature or none
    edits: tuple[FileChange, ...] | None = ()  # what somebody changed in the one that is there; None: not known
    objections: tuple[Diagnostic, ...] = ()
    said: tuple[Diagnostic, ...] = ()
    overrides: tuple[Override, ...] = ()
    requested: bool = True
    dependencies: tuple[str, ...] = ()
    signature: Signature = Signature("unsigned")

    @property
    def name(self) -> str:
        return self.staged.name

    @property
    def is_same(self) -> bool:
        """Whether just this is there, everywhere it is to be."""
        if self.old is None or self.taken or self.absent or self.resigned:
            return False
        lost = self.old.signed_by and self.signature.state == "unsigned"
        return self.old.digest == self.staged.digest and not lost and not self.is_moved

    @property
    def is_moved(self) -> bool:
        """Whether it comes from another place, or owner, than the one that is installed."""
        return self.old is not None and _place(self.old.origin) != _place(self.staged.resolved.origin)


class Planner(Struct, frozen=True):
    """Looks at skills for one scope. `force`: what stands there and is not ours, or was edited, may be replaced."""

    site: Site
    lock: dict[str, LockedSkill]
    kept: Kept
    known: Callable[[], Sequence[Found]]  # every skill there is, or will be
    overrides: tuple[Override, ...] = ()
    allowing: Allowing = Allowing()
    force: bool = False
    signed: bool = False  # nothing is installed that no publisher of the user's signed

    def plan(self, staged: Staged, review: Review, asked: Sequence[str], signature: Signature) -> Planned:
        """Raises: NotFound for a rule that does not object."""
        old = self.lock.get(staged.name)
        to = tuple(one for one in CLIENTS if one in asked or (old is not None and one in old.to)) or CLIENTS[:1]
        there = {one: look_at(self.site.folder(one, staged.name)) for one in to}
        taken = tuple(one for one in to if self._is_taken(one, staged, there[one]))
        absent = tuple(one for one in to if not os.path.lexists(self.site.folder(one, staged.name)))
        planned = Planned(
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
        objections += [one for one in shadowed if one.severity == "error"]
        told = [one for one in shadowed if one.severity != "error"]
        made = self._allow(planned)
        blocked, said = self._judge(planned, made)
        unsigned = find_refusal(signature, required=self.signed) or self._find_lost(planned)
        return structs.replace(
            planned,
            edits=edits,
            objections=(*objections, *blocked, *([unsigned] if unsigned else [])),
            said=(*staged.resolved.notes, *self._name_notes(staged), *told, *said),
            overrides=made,
        )

    def _find_lost(self, planned: Planned) -> Diagnostic | None:
        """That what was signed is to be replaced by what is not: by somebody else, perhaps."""
        old, signature = planned.old, planned.signature
        if old is None or not old.signed_by or signature.state == "good" or self.force:
            return None
        if old.digest == planned.staged.digest and signature.state != "unsigned":
            return None
        message = f"What is installed is signed by {old.signed_by}, and this is {signature.line}"
        return Diagnostic(
            "signature-lost", "error", message, hint="Ask its publisher; to take it all the same: --force"
        )

    def _find_resigned(self, staged: Staged, there: Mapping[str, str]) -> tuple[str, ...]:
        """Where only the signature differs, which no digest covers."""
        ours = _load_signature(staged.folder)
        places = {one: self.site.folder(one, staged.name) for one, digest in there.items() if digest == staged.digest}
        return tuple(one for one, place in places.items() if _load_signature(place) != ours)

    def _is_taken(self, client: str, staged: Staged, found: str) -> bool:
        return found != staged.digest and os.path.lexists(self.site.folder(client, staged.name))

    def _look_around(self, planned: Planned) -> tuple[list[Diagnostic], tuple[FileChange, ...] | None]:
        """What stands where the skill is to go, and must not just be overwritten."""
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
                edits = self.kept.compare(old.digest, place)
                if not self.force:
                    message = f"'{name}' was changed after it was installed; what was changed would be lost"
                    hint = "Keep a copy of what you need, then pass --force"
                    objections.append(Diagnostic("skill-edited", "error", message, place, 0, hint))
        return objections, edits

    def _find_shadowed(self, planned: Planned) -> list[Diagnostic]:
        """The skills that it could be taken for, unless somebody wants that: what came with weft, and what lies in
        a folder of another name. Of others it is only said that they are there."""
        found = planned.review.found
        places = {found.folder, *(self.site.folder(one, planned.name) for one in planned.to)}
        said = []
        for one in self.known():
            if one.name != found.name or one.folder in places:
                continue
            apart = one.location.scope == "bundled" or os.path.basename(one.folder) != planned.name
            message = f"It calls itself '{one.name}', as another skill does, and could be taken for it"
            hint = "Look at both; to have it all the same: --force" if apart else ""
            severity: Severity = "error" if apart and not self.force else "warning"
            said.append(Diagnostic("install-shadows", severity, message, one.folder, 0, hint))
        return said

    def _judge(self, planned: Planned, made: Sequence[Override]) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """What keeps the skill from being installed, and what else there is to say of it."""
        folder, report = planned.staged.folder, planned.review.report
        blocking, said = _registry_says(planned.staged)
        screening = screen_report(report)
        if screening is None:
            return blocking, said
        places = {self.site.folder(one, planned.name) for one in planned.to}
        known = [structs.replace(one, path=folder) for one in (*self.overrides, *made) if one.path in places]
        blocked, found = check_screening(planned.review.found, screening, Scanned((screening,), tuple(known), True))
        grave = [one for one in found if one.code in ("scan-blocked", "scan-failed")] if blocked else []
        told = [structs.replace(one, path=os.path.relpath(one.path, folder)) for one in grave]
        rules = dict.fromkeys(f"--allow {one.rule}" for one in screening.critical)
        hint = f'Look at what was found. To use it anyway: {" ".join(rules)} --because "…"'
        blocking += [structs.replace(one, hint=hint if one.code == "scan-blocked" else "") for one in told]
        return blocking, said

    def _allow(self, planned: Planned) -> tuple[Override, ...]:
        """Exceptions for the rules that were named, wherever the skill goes. Raises: NotFound."""
        if not self.allowing.rules:
            return ()
        screening = screen_report(planned.review.report)
        by_rule = {one.rule: one for one in screening.critical} if screening else {}
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

    def _name_notes(self, staged: Staged) -> list[Diagnostic]:
        skill = staged.found.skill
        if skill is None or skill.name == staged.name:
            return []
        message = f"It calls itself '{skill.name}', and is installed as '{staged.name}'"
        return [Diagnostic("install-name", "note", message)]

    def approvals(self, planned: Planned) -> tuple[Approval, ...]:
        """What a person who agrees approves, in every place."""
        name, digest, power = planned.review.found.name, planned.staged.digest, planned.review.report.power
        places = (self.site.folder(one, planned.name) for one in planned.to)
        made = (make_approval("skill", place, digest, name, power) for place in places)
        return tuple(structs.replace(one, installed=True) for one in made)

    def locked(self, planned: Planned) -> LockedSkill:
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


def _place(origin: Origin) -> tuple[str, ...]:
    """Where a skill comes from, whatever its version: another owner's of the same name is another skill."""
    return origin.kind, origin.url.rstrip("/"), origin.owner.lower(), origin.slug, origin.path


def _load_signature(folder: str) -> bytes | None:
    try:
        return read_optional(os.path.join(folder, SIGNATURE_NAME), MAX_BYTES)
    except Unreadable:  # a link, or what is too long: none that we put there
        return b""


def look_at(place: str) -> str:
    """The digest of a folder; nothing where there is none, or a link."""
    return compute_digest(place).value if os.path.isdir(place) and not os.path.islink(place) else ""


def worst_verdict(staged: Staged, review: Review) -> str:
    """Ours, or what the registry says if that is worse."""
    theirs = staged.resolved.verdict
    said = theirs.status if theirs is not None and theirs.status in VERDICTS else VERDICTS[0]
    return max(review.report.verdict, said, key=VERDICTS.index)


def _registry_says(staged: Staged) -> tuple[list[Diagnostic], list[Diagnostic]]:
    verdict = staged.resolved.verdict
    if verdict is None or verdict.status == "clean":
        return [], []
    why = verdict.summary or ", ".join(verdict.reasons)
    message = f"Its registry says of it: {verdict.status}{f' ({why})' if why else ''}"
    if verdict.status == "malicious":
        return [Diagnostic("registry-malicious", "error", message, staged.resolved.origin.url)], []
    return [], [Diagnostic("registry-verdict", "warning" if verdict.status == "suspicious" else "note", message)]
