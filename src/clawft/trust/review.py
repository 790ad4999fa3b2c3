"""Reviews of skills, agents and hooks, and the decisions that a person makes on them."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import read_regular
from clawft.scanner.findings import Power, Report
from clawft.scanner.power_changes import PowerChange, compare_declared, compare_power
from clawft.skills.discovery import load_prompt
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import Content, SnapshotReader
from clawft.skills.discovery.hooks import DiscoveredHook, load_skill_hooks
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.trust.approvals import Approval, Approvals, hash_bytes, make_approval
from clawft.trust.approved_copies import ApprovedCopies, FileChange
from clawft.trust.audit.log import AuditEntry, AuditFields, AuditLog
from clawft.trust.hooks import compute_hook_digest, make_hook_skill
from clawft.trust.policy import RunApprovals, why_unbindable


class Review(Struct, frozen=True):
    """A skill as it is now, and as it was when it was last approved, if it ever was."""

    found: DiscoveredSkill
    digest: str
    report: Report
    undeclared: Power
    previous: Approval | None = None
    power: PowerChange = PowerChange()
    files: tuple[FileChange, ...] | None = None  # None: what it was then is not known
    hooks: tuple[DiscoveredHook, ...] = ()  # which it brings along

    @property
    def is_same(self) -> bool:
        before = self.previous
        return before is not None and before.kind == "skill" and before.digest == self.digest


class HookReview(Struct, frozen=True):
    """A hook by itself; `whole` is all that its digest covers, looked at as a skill is."""

    hook: DiscoveredHook
    whole: Review


class AgentReview(Struct, frozen=True):
    """An agent as it is now, and as it was when it was last approved, if it ever was."""

    found: DiscoveredAgent
    content: bytes
    power: Power  # its tools; `*` is all of them
    previous: Approval | None = None
    change: PowerChange = PowerChange()
    file: FileChange | None = None  # None: it is the first time, or what it was then is not known


def make_agent_review(found: DiscoveredAgent, previous: Approval | None, copies: ApprovedCopies) -> AgentReview:
    """A review of an agent. Raises: ClawftError; Refused if the file is no longer what was read."""
    try:
        content = read_regular(found.file, MAX_FILE_BYTES, follow=True)[0]
    except OSError:
        content = b""
    if found.agent is None or hash_bytes(content) != found.digest:
        message = f"The agent '{found.name}' changed while it was looked at"
        raise Refused("agent-changed", message, path=found.file, hint="Look at it again")
    power = Power(tools=("*",) if found.agent.tools is None else tuple(found.agent.tools))
    if previous is None:
        return AgentReview(found, content, power)
    file = copies.compare_file(previous.digest, os.path.basename(found.file), content)
    return AgentReview(found, content, power, previous, compare_power(previous.power, power), file)


def make_review(
    found: DiscoveredSkill, reading: SnapshotReader, report: Report, previous: Approval | None, copies: ApprovedCopies
) -> Review:
    """A review of a skill that was just read and scanned. Raises: Refused for what cannot be approved."""
    if found.skill is None:
        why = found.problem.message if found.problem else "it cannot be read"
        raise ClawftError("skill-broken", f"The skill '{found.name}' is broken: {why}", path=found.file)
    digest = reading.digest()
    objection = why_unbindable(found, digest, reading.linked)
    if objection is not None:
        raise Refused(objection.code, objection.message, path=objection.path, hint=objection.hint)
    if report.failed and not report.digest:
        message = f"The skill '{found.name}' could not be scanned, so nothing is known of it"
        raise Refused("scan-failed", message, path=found.folder, hint="What nobody looked at is not approved")
    if report.digest != digest.value:
        message = f"The skill '{found.name}' changed while it was looked at"
        raise Refused("skill-changed", message, path=found.folder, hint="Look at it again")
    review = Review(found, digest.value, report, compare_declared(found.skill, report.power), previous)
    return structs.replace(compare_review(review, copies), hooks=load_skill_hooks([found]))


def make_hook_review(
    found: DiscoveredHook, report: Report, previous: Approval | None, copies: ApprovedCopies
) -> HookReview:
    """A review of a hook that was just scanned. Raises: Refused for what cannot be approved."""
    whole = make_hook_skill(found)
    if found.hook is None:
        why = found.problem.message if found.problem else "it cannot be read"
        raise ClawftError("hook-broken", f"The hook '{found.name}' is broken: {why}", path=found.file)
    digest = compute_hook_digest(found)
    objection = why_unbindable(whole, digest, [])
    if objection is not None:
        raise Refused(objection.code, objection.message, path=objection.path, hint=objection.hint)
    if report.digest != digest.value:
        message = f"The hook '{found.name}' changed while it was looked at"
        raise Refused("hook-changed", message, path=found.root, hint="Look at it again")
    return HookReview(found, compare_review(Review(whole, digest.value, report, Power(), previous), copies))


def compare_review(review: Review, copies: ApprovedCopies) -> Review:
    """A review with what changed since the last one that was agreed to."""
    before = review.previous
    if before is None or review.is_same:
        return review
    power, files = compare_power(before.power, review.report.power), copies.compare(before.digest, review.found.folder)
    return structs.replace(review, power=power, files=files)


class ReviewStores(Struct, frozen=True):
    """The stores for decisions."""

    approvals: Approvals
    approved_copies: ApprovedCopies
    audit: AuditLog
    run: RunApprovals


class Reviewer:
    """Reviews and approvals of one user. `load_report` has a skill scanned."""

    def __init__(
        self, stores: ReviewStores, load_report: Callable[[DiscoveredSkill], Report], max_prompt_bytes: int
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
    ) -> Review:
        """Review an untrusted skill as it is now, for a person to see before they approve it. Raises: ClawftError.

        `report` is of a scan that was made already; `place` is where the skill goes if it is not there yet, and `known`
        the hashes that were just taken of its files.
        """
        reading = SnapshotReader(found.folder, known)
        if found.skill is not None:
            load_prompt(found, self._max_prompt_bytes, reading.load)
        approvals, at = self.stores.approvals, place or found.folder
        previous = approvals.find("skill", at) or approvals.find("former", at)
        return make_review(found, reading, report or self._load_report(found), previous, self.stores.approved_copies)

    def approve(self, reviews: Sequence[Review]) -> None:
        """Approve skills as they were reviewed. Raises: ClawftError."""
        for review in reviews:
            self.stores.approved_copies.keep(review.found.folder, review.digest)
        self._record(
            [
                make_approval("skill", review.found.folder, review.digest, review.found.name, review.report.power)
                for review in reviews
            ]
        )
        self.prune()

    def _record(self, made: Sequence[Approval]) -> None:
        """Keep decisions, and have the log say so. Raises: ClawftError, OSError."""
        lines = [
            AuditEntry(
                "approval",
                f"{approval.kind} {approval.path}",
                "allowed",
                {"skill": approval.name, "digest": approval.digest},
            )
            for approval in made
        ]
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
        self._record(held)
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

    def approve_for_run(self, review: Review) -> None:
        """Approve a skill as it was reviewed, for as long as this process runs. Raises: ClawftError."""
        name, place, digest = review.found.name, review.found.folder, review.digest
        self.stores.audit.write("approval", f"skill {place}", decision="allowed once", skill=name, digest=digest)
        self.stores.run.digests[place] = digest

    def review_agent(self, found: DiscoveredAgent) -> AgentReview:
        """The same of an agent. Raises: ClawftError."""
        return make_agent_review(found, self.stores.approvals.find("agent", found.file), self.stores.approved_copies)

    def approve_agents(self, reviews: Sequence[AgentReview]) -> None:
        """Approve agents as they were reviewed. Raises: ClawftError."""
        for review in reviews:
            self.stores.approved_copies.keep_file(review.content)
        self._record(
            [
                make_approval("agent", review.found.file, review.found.digest, review.found.name, review.power)
                for review in reviews
            ]
        )

    def review_hook(self, found: DiscoveredHook) -> HookReview:
        """The same of a hook. Raises: ClawftError."""
        previous = self.stores.approvals.find("hook", found.folder)
        return make_hook_review(found, self._load_report(make_hook_skill(found)), previous, self.stores.approved_copies)

    def approve_hooks(self, reviews: Sequence[HookReview]) -> None:
        """Approve hooks as they were reviewed. Raises: ClawftError."""
        for review in reviews:
            self.stores.approved_copies.keep(review.hook.root, review.whole.digest)
        self._record(
            [
                make_approval(
                    "hook", review.hook.folder, review.whole.digest, review.hook.name, review.whole.report.power
                )
                for review in reviews
            ]
        )
        self.prune()

    def refuse(self, review: Review | AgentReview | HookReview) -> None:
        """Write down that a person, or nobody's answer, kept a skill, an agent or a hook from use."""
        tell = self.stores.audit.tell
        if isinstance(review, AgentReview):
            tell("approval", f"agent {review.found.file}", decision="denied", digest=review.found.digest)
        elif isinstance(review, HookReview):
            tell("approval", f"hook {review.hook.folder}", decision="denied", digest=review.whole.digest)
        else:
            subject, name = f"skill {review.found.folder}", review.found.name
            tell("approval", subject, decision="denied", skill=name, digest=review.digest)

    def revoke(self, meant: Sequence[Approval]) -> tuple[Approval, ...]:
        """Take approvals back, whether or not the log can be written; those that were there. Raises: ClawftError."""
        lines: list[AuditEntry] = []

        def log(taken: Sequence[Approval]) -> None:
            for approval in taken:
                more: AuditFields = {"skill": approval.name, "digest": approval.digest}
                lines.append(AuditEntry("approval", f"{approval.kind} {approval.path}", "revoked", more))
            commit()

        with self.stores.audit.last_step(lines, must=False) as commit:
            taken = self.stores.approvals.remove(lambda one: one in meant, log)
        self.prune()
        return taken

    def prune(self) -> None:
        """Forget copies of what is approved no more."""
        kinds = ("skill", "former", "agent", "config", "hook")
        self.stores.approved_copies.prune(
            [approval.digest for approval in self.stores.approvals.load() if approval.kind in kinds]
        )
