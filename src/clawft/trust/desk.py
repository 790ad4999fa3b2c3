"""Where a person decides about what strangers brought: it is shown, and the decision is kept and written down."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, structs

from clawft.discovery import Found, load_prompt
from clawft.discovery.agents import FoundAgent
from clawft.discovery.digest import Content
from clawft.discovery.hooks import FoundHook
from clawft.discovery.snapshot import Reading
from clawft.errors import Diagnostic, Refused
from clawft.scan.findings import Report
from clawft.trust.approvals import Approval, Approvals, make_approval
from clawft.trust.audit import Audit, Entry
from clawft.trust.hooks import as_skill
from clawft.trust.kept import Kept
from clawft.trust.review import AgentReview, HookReview, Review, make_agent_review, make_hook_review, make_review
from clawft.trust.strangers import RunTrust

__all__ = ["Desk", "Stores"]


class Stores(Struct, frozen=True):
    """Where decisions go."""

    approvals: Approvals
    kept: Kept
    audit: Audit
    run: RunTrust


class Desk:
    """Reviews and approvals of one user. `load_report` has a skill scanned."""

    def __init__(self, stores: Stores, load_report: Callable[[Found], Report], max_prompt_bytes: int) -> None:
        self._stores = stores
        self._load_report = load_report
        self._max_prompt_bytes = max_prompt_bytes

    def review(
        self,
        found: Found,
        report: Report | None = None,
        place: str = "",
        known: Mapping[str, Content] | None = None,
    ) -> Review:
        """What a person is to see before they approve a stranger's skill as it is now. Raises: ClawftError.

        `report` is of a scan that was made already; `place` is where the skill goes if it is not there yet, and `known`
        the hashes that were just taken of its files.
        """
        reading = Reading(found.folder, known)
        if found.skill is not None:
            load_prompt(found, self._max_prompt_bytes, reading.load)
        approvals, at = self._stores.approvals, place or found.folder
        previous = approvals.find("skill", at) or approvals.find("former", at)
        return make_review(found, reading, report or self._load_report(found), previous, self._stores.kept)

    def approve(self, reviews: Sequence[Review]) -> None:
        """Approve skills as they were reviewed. Raises: ClawftError."""
        for one in reviews:
            self._stores.kept.keep(one.found.folder, one.digest)
        for one in reviews:
            name, place = one.found.name, one.found.folder
            self._stores.audit.write("approval", f"skill {place}", decision="allowed", skill=name, digest=one.digest)
        self._stores.approvals.record(
            make_approval("skill", one.found.folder, one.digest, one.found.name, one.report.power) for one in reviews
        )
        self._prune()

    def write_down(self, done: Sequence[Entry]) -> None:
        """Have the log say what was done, which gives no power by itself."""
        self._stores.audit.tell_all(done)

    def approve_placed(self, made: Sequence[Approval], allowed: Sequence[Entry] = ()) -> tuple[Diagnostic, ...]:
        """Keep decisions about skills that were put into their places since; those that are not what was decided about.

        `allowed`: what the log is to say of exceptions for them. Raises: ClawftError.
        """
        held, said = [], []
        for one in made:
            try:
                self._stores.kept.keep(one.path, one.digest)
                held.append(one)
            except Refused as error:
                said.append(error.diagnostic)
        self._stores.audit.write_all(
            [
                Entry("approval", f"skill {one.path}", "allowed", {"skill": one.name, "digest": one.digest})
                for one in held
            ]
            + list(allowed)
        )
        self._stores.approvals.record(held)
        if held:
            self._forget_former({one.path for one in held})
            self._prune()
        return tuple(said)

    def revoke_folders(self, folders: Collection[str]) -> None:
        """Take back the approvals of skills that are gone. Raises: ClawftError."""
        known = self._stores.approvals.load()
        meant = [one for one in known if one.kind in ("skill", "former") and one.path in folders]
        if meant:
            self.revoke(meant)

    def withdraw(self, folders: Collection[str], why: str) -> tuple[Approval, ...]:
        """Take back the approvals of skills that became others where they come from, and keep what they were, to show
        what changed; those that were there. Raises: ClawftError."""
        taken = self._stores.approvals.remove(lambda one: one.kind == "skill" and one.path in folders)
        self._stores.approvals.record(structs.replace(one, kind="former") for one in taken)
        for one in taken:
            about = f"skill {one.path}"
            self._stores.audit.tell("approval", about, decision="revoked", rule=why, skill=one.name, digest=one.digest)
        return taken

    def _forget_former(self, folders: Collection[str]) -> None:
        known = self._stores.approvals.load()
        if any(one.kind == "former" and one.path in folders for one in known):
            self._stores.approvals.remove(lambda one: one.kind == "former" and one.path in folders)

    def approve_for_run(self, review: Review) -> None:
        """Approve a skill as it was reviewed, for as long as this process runs. Raises: ClawftError."""
        name, place, digest = review.found.name, review.found.folder, review.digest
        self._stores.audit.write("approval", f"skill {place}", decision="allowed once", skill=name, digest=digest)
        self._stores.run.digests[place] = digest

    def review_agent(self, found: FoundAgent) -> AgentReview:
        """The same of an agent. Raises: ClawftError."""
        return make_agent_review(found, self._stores.approvals.find("agent", found.file), self._stores.kept)

    def approve_agents(self, reviews: Sequence[AgentReview]) -> None:
        """Approve agents as they were reviewed. Raises: ClawftError."""
        for one in reviews:
            self._stores.kept.keep_file(one.content)
        for one in reviews:
            place, digest = one.found.file, one.found.digest
            self._stores.audit.write("approval", f"agent {place}", decision="allowed", digest=digest)
        self._stores.approvals.record(
            make_approval("agent", one.found.file, one.found.digest, one.found.name, one.power) for one in reviews
        )

    def review_hook(self, found: FoundHook) -> HookReview:
        """The same of a hook. Raises: ClawftError."""
        previous = self._stores.approvals.find("hook", found.folder)
        return make_hook_review(found, self._load_report(as_skill(found)), previous, self._stores.kept)

    def approve_hooks(self, reviews: Sequence[HookReview]) -> None:
        """Approve hooks as they were reviewed. Raises: ClawftError."""
        for one in reviews:
            self._stores.kept.keep(one.hook.root, one.whole.digest)
        for one in reviews:
            subject, digest = f"hook {one.hook.folder}", one.whole.digest
            self._stores.audit.write("approval", subject, decision="allowed", digest=digest)
        self._stores.approvals.record(
            make_approval("hook", one.hook.folder, one.whole.digest, one.hook.name, one.whole.report.power)
            for one in reviews
        )
        self._prune()

    def refuse(self, review: Review | AgentReview | HookReview) -> None:
        """Write down that a person, or nobody's answer, kept a skill, an agent or a hook from use."""
        tell = self._stores.audit.tell
        if isinstance(review, AgentReview):
            tell("approval", f"agent {review.found.file}", decision="denied", digest=review.found.digest)
        elif isinstance(review, HookReview):
            tell("approval", f"hook {review.hook.folder}", decision="denied", digest=review.whole.digest)
        else:
            subject, name = f"skill {review.found.folder}", review.found.name
            tell("approval", subject, decision="denied", skill=name, digest=review.digest)

    def revoke(self, meant: Sequence[Approval]) -> tuple[Approval, ...]:
        """Take approvals back; those that were there. Raises: ClawftError."""
        taken = self._stores.approvals.remove(lambda one: one in meant)
        for one in taken:
            subject = f"{one.kind} {one.path}"
            self._stores.audit.tell("approval", subject, decision="revoked", skill=one.name, digest=one.digest)
        self._prune()
        return taken

    def _prune(self) -> None:
        kinds = ("skill", "former", "agent", "config", "hook")
        self._stores.kept.prune([one.digest for one in self._stores.approvals.load() if one.kind in kinds])
