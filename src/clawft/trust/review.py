"""Reviews of skills, agents, hooks and plugins: what one could do and what changed since it was last approved; and the
decisions that a person makes on them."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import read_regular
from clawft.scanner.findings import Coverage, Power, Report
from clawft.scanner.power_changes import PowerChange, compare_declared, compare_power
from clawft.skills.discovery import load_prompt
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import DiscoveredSkill, ReviewSubject
from clawft.skills.discovery.digest import Content, Digest, SnapshotReader
from clawft.skills.discovery.hooks import DiscoveredHook, load_skill_hooks
from clawft.skills.discovery.plugins import DiscoveredPlugin
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.skills.parse.model import Skill
from clawft.trust.approvals import Approval, Approvals, hash_bytes, make_approval
from clawft.trust.approved_copies import ApprovedCopies, FileChange
from clawft.trust.audit.log import AuditEntry, AuditFields, AuditLog
from clawft.trust.hooks import compute_hook_digest
from clawft.trust.policy import RunApprovals, why_unbindable

Reviewed = DiscoveredSkill | DiscoveredHook | DiscoveredAgent | DiscoveredPlugin
ReviewedT = TypeVar("ReviewedT", bound=Reviewed, covariant=True)


class Review(Struct, Generic[ReviewedT], frozen=True):
    """A skill, an agent, a hook or a plugin, as it is now, and as it was when it was last approved, if it ever was.

    Of an agent, which is not scanned, the report has only its tools.
    """

    found: ReviewedT
    digest: str
    report: Report
    previous: Approval | None = None
    power: PowerChange = PowerChange()
    files: tuple[FileChange, ...] | None = None  # None: what it was then is not known
    undeclared: Power = Power()
    hooks: tuple[DiscoveredHook, ...] = ()  # which a skill brings along
    content: bytes = b""  # of an agent

    @property
    def is_same(self) -> bool:
        before = self.previous
        return before is not None and before.kind == "skill" and before.digest == self.digest

    @property
    def place(self) -> str:
        """The place that an approval is bound to."""
        return self.found.file if isinstance(self.found, DiscoveredAgent) else self.found.folder


AnyReview = Review[Reviewed]
ReviewT = TypeVar("ReviewT", bound=AnyReview)
ScannedReview = Review[DiscoveredSkill] | Review[DiscoveredHook] | Review[DiscoveredPlugin]


def compare_review(review: ReviewT, copies: ApprovedCopies) -> ReviewT:
    """A review with what changed since the last one that was agreed to."""
    before, found = review.previous, review.found
    if before is None or review.is_same:
        return review
    power = compare_power(before.power, review.report.power)
    if isinstance(found, DiscoveredAgent):
        change = copies.compare_file(before.digest, os.path.basename(found.file), review.content)
        files: tuple[FileChange, ...] | None = (change,) if change else None
    else:
        files = copies.compare(before.digest, found.root)
    return structs.replace(review, power=power, files=files)


def _check_bindable(found: ReviewSubject, digest: Digest, linked: list[str], report: Report) -> None:
    """Check that what was scanned is what an approval would be bound to. Raises: Refused."""
    objection = why_unbindable(found, digest, linked)
    if objection is not None:
        raise Refused(objection.code, objection.message, path=objection.path, hint=objection.hint)
    if report.failed and not report.digest:
        message = f"The {found.kind} '{found.name}' could not be scanned, so nothing is known of it"
        raise Refused("scan-failed", message, path=found.root, hint="What nobody looked at is not approved")
    if report.digest != digest.value:
        raise _make_changed_error(found.kind, found.name, found.root)


def _make_changed_error(kind: str, name: str, path: str) -> Refused:
    message = f"The {kind} '{name}' changed while it was looked at"
    return Refused(f"{kind}-changed", message, path=path, hint="Look at it again")


class ReviewStores(Struct, frozen=True):
    """The stores for decisions."""

    approvals: Approvals
    approved_copies: ApprovedCopies
    audit: AuditLog
    run: RunApprovals


class Reviewer:
    """Reviews and approvals of one user. `load_report` has what was found scanned."""

    def __init__(
        self, stores: ReviewStores, load_report: Callable[[ReviewSubject], Report], max_prompt_bytes: int
    ) -> None:
        self.stores = stores
        self._load_report = load_report
        self._max_prompt_bytes = max_prompt_bytes

    def review(
        self,
        found: DiscoveredSkill,
        report: Report | None = None,
        place: str = "",
        known: Mapping[str, Content] | None = None,
    ) -> Review[DiscoveredSkill]:
        """Review an untrusted skill as it is now, for a person to see before they approve it. Raises: ClawftError.

        `report` is of a scan that was made already; `place` is where the skill goes if it is not there yet, and `known`
        the hashes that were just taken of its files.
        """
        skill = _get_about(found)
        reading = SnapshotReader(found.folder, known)
        load_prompt(found, self._max_prompt_bytes, reading.load)
        approvals, at = self.stores.approvals, place or found.folder
        previous = approvals.find("skill", at) or approvals.find("former", at)
        report = report or self._load_report(found)
        digest = reading.digest()
        _check_bindable(found, digest, reading.linked, report)
        undeclared, hooks = compare_declared(skill, report.power), load_skill_hooks([found])
        review = Review(found, digest.value, report, previous, undeclared=undeclared, hooks=hooks)
        return compare_review(review, self.stores.approved_copies)

    def review_agent(self, found: DiscoveredAgent) -> Review[DiscoveredAgent]:
        """The same of an agent: its tools, of which `*` is all. Raises: ClawftError; Refused if the file is no longer
        what was read."""
        try:
            content = read_regular(found.file, MAX_FILE_BYTES, follow=True)[0]
        except OSError:
            content = b""
        if found.agent is None or hash_bytes(content) != found.digest:
            raise _make_changed_error("agent", found.name, found.file)
        power = Power(tools=("*",) if found.agent.tools is None else tuple(found.agent.tools))
        report = Report(found.file, found.name, found.digest, "clean", 1.0, (), power, Coverage())
        previous = self.stores.approvals.find("agent", found.file)
        review = Review(found, found.digest, report, previous, content=content)
        return compare_review(review, self.stores.approved_copies)

    def review_hook(self, found: DiscoveredHook) -> Review[DiscoveredHook]:
        """Review a hook. Raises: ClawftError."""
        _get_about(found)
        previous, report = self.stores.approvals.find("hook", found.folder), self._load_report(found)
        digest = compute_hook_digest(found)
        _check_bindable(found, digest, [], report)
        return compare_review(Review(found, digest.value, report, previous), self.stores.approved_copies)

    def approve(self, reviews: Sequence[AnyReview]) -> None:
        """Approve what was reviewed as it was then. Raises: ClawftError."""
        for review in reviews:
            if isinstance(review.found, DiscoveredAgent):
                self.stores.approved_copies.keep_file(review.content)
            else:
                self.stores.approved_copies.keep(review.found.root, review.digest)
        self.record(list(map(make_review_approval, reviews)))
        self.prune()

    def record(self, made: Sequence[Approval], more: Sequence[AuditEntry] = ()) -> None:
        """Keep decisions, and have the log say so, behind other lines about them. Raises: ClawftError, OSError."""
        lines = [*more, *(make_audit_entry(approval, "allow") for approval in made)]
        with self.stores.audit.last_step(lines) as commit:
            self.stores.approvals.record(made, commit)

    def approve_installed(self, made: Sequence[Approval]) -> tuple[Diagnostic, ...]:
        """Keep decisions about skills that were put into their places since; those that are not what was decided about.

        Raises: ClawftError.
        """
        held, diagnostics = [], []
        for approval in made:
            try:
                self.stores.approved_copies.keep(approval.path, approval.digest)
                held.append(approval)
            except Refused as error:
                diagnostics.append(error.diagnostic)
        self.record(held)
        if held:
            self._forget_former({approval.path for approval in held})
            self.prune()
        return tuple(diagnostics)

    def revoke_folders(self, folders: Collection[str]) -> None:
        """Take back the approvals of skills that are gone. Raises: ClawftError."""
        known = self.stores.approvals.load()
        meant = [approval for approval in known if approval.kind in ("skill", "former") and approval.path in folders]
        if meant:
            self.revoke(meant)

    def withdraw(self, folders: Collection[str], why: str) -> tuple[Approval, ...]:
        """Take back the approvals of skills that became others where they come from, and keep what they were, to show
        what changed; those that were there. Raises: ClawftError."""
        taken = self.stores.approvals.remove(lambda one: one.kind == "skill" and one.path in folders)
        self.stores.approvals.record(structs.replace(approval, kind="former") for approval in taken)
        for approval in taken:
            about = f"skill {approval.path}"
            self.stores.audit.tell(
                "approval", about, decision="revoked", rule=why, skill=approval.name, digest=approval.digest
            )
        return taken

    def _forget_former(self, folders: Collection[str]) -> None:
        known = self.stores.approvals.load()
        if any(approval.kind == "former" and approval.path in folders for approval in known):
            self.stores.approvals.remove(lambda one: one.kind == "former" and one.path in folders)

    def approve_for_run(self, review: Review[DiscoveredSkill]) -> None:
        """Approve a skill as it was reviewed, for as long as this process runs. Raises: ClawftError."""
        name, place, digest = review.found.name, review.found.folder, review.digest
        self.stores.audit.write("approval", f"skill {place}", decision="allowed once", skill=name, digest=digest)
        self.stores.run.digests[place] = digest

    def refuse(self, review: AnyReview) -> None:
        """Write down that a person, or nobody's answer, kept something from use."""
        kind = review.found.kind
        more: AuditFields = {"skill": review.found.name if kind == "skill" else "", "digest": review.digest}
        self.stores.audit.tell_all([AuditEntry("approval", f"{kind} {review.place}", "deny", more)])

    def revoke(self, meant: Sequence[Approval]) -> tuple[Approval, ...]:
        """Take approvals back, whether or not the log can be written; those that were there. Raises: ClawftError."""
        lines: list[AuditEntry] = []

        def log(taken: Sequence[Approval]) -> None:
            lines.extend(make_audit_entry(approval, "revoked") for approval in taken)
            commit()

        with self.stores.audit.last_step(lines, must=False) as commit:
            taken = self.stores.approvals.remove(lambda one: one in meant, log)
        self.prune()
        return taken

    def prune(self) -> None:
        """Forget copies of what is approved no more."""
        kinds = ("skill", "former", "agent", "config", "hook", "instructions")
        self.stores.approved_copies.prune(
            [approval.digest for approval in self.stores.approvals.load() if approval.kind in kinds]
        )


def _get_about(found: ReviewSubject) -> Skill:
    """Return what a skill or a hook says of itself. Raises: ClawftError for one that is broken."""
    if found.about is not None:
        return found.about
    why = found.problem.message if found.problem else "it cannot be read"
    raise ClawftError(f"{found.kind}-broken", f"The {found.kind} '{found.name}' is broken: {why}", path=found.file)


def make_review_approval(review: AnyReview) -> Approval:
    """The decision that would approve what was reviewed, as it was then."""
    return make_approval(review.found.kind, review.place, review.digest, review.found.name, review.report.power)


def make_audit_entry(approval: Approval, decision: str) -> AuditEntry:
    """Return the line of the audit log for a decision about this."""
    more: AuditFields = {"skill": approval.name, "digest": approval.digest}
    return AuditEntry("approval", f"{approval.kind} {approval.path}", decision, more)
