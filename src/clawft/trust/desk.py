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
from clawft.trust.audit.log import Audit, Entry, More
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
        self.stores = stores
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
        approvals, at = self.stores.approvals, place or found.folder
        previous = approvals.find("skill", at) or approvals.find("former", at)
        return make_review(found, reading, report or self._load_report(found), previous, self.stores.kept)

    def approve(self, reviews: Sequence[Review]) -> None:
        """Approve skills as they were reviewed. Raises: ClawftError."""
        for one in reviews:
            self.stores.kept.keep(one.found.folder, one.digest)
        self._record(
            [make_approval("skill", one.found.folder, one.digest, one.found.name, one.report.power) for one in reviews]
        )
        self.prune()

    def _record(self, made: Sequence[Approval]) -> None:
        """Keep decisions, and have the log say so. Raises: ClawftError, OSError."""
        lines = [
            Entry("approval", f"{one.kind} {one.path}", "allowed", {"skill": one.name, "digest": one.digest})
            for one in made
        ]
        with self.stores.audit.last_step(lines) as commit:
            self.stores.approvals.record(made, commit)

    def approve_placed(self, made: Sequence[Approval]) -> tuple[Diagnostic, ...]:
        """Keep decisions about skills that were put into their places since; those that are not what was decided about.

        Raises: ClawftError.
        """
        held, said = [], []
        for one in made:
            try:
                self.stores.kept.keep(one.path, one.digest)
                held.append(one)
            except Refused as error:
                said.append(error.diagnostic)
        self._record(held)
        if held:
            self._forget_former({one.path for one in held})
            self.prune()
        return tuple(said)

    def revoke_folders(self, folders: Collection[str]) -> None:
        """Take back the approvals of skills that are gone. Raises: ClawftError."""
        known = self.stores.approvals.load()
        meant = [one for one in known if one.kind in ("skill", "former") and one.path in folders]
        if meant:
            self.revoke(meant)

    def withdraw(self, folders: Collection[str], why: str) -> tuple[Approval, ...]:
        """Take back the approvals of skills that became others where they come from, and keep what they were, to show
        what changed; those that were there. Raises: ClawftError."""
        taken = self.stores.approvals.remove(lambda one: one.kind == "skill" and one.path in folders)
        self.stores.approvals.record(structs.replace(one, kind="former") for one in taken)
        for one in taken:
            about = f"skill {one.path}"
            self.stores.audit.tell("approval", about, decision="revoked", rule=why, skill=one.name, digest=one.digest)
        return taken

    def _forget_former(self, folders: Collection[str]) -> None:
        known = self.stores.approvals.load()
        if any(one.kind == "former" and one.path in folders for one in known):
            self.stores.approvals.remove(lambda one: one.kind == "former" and one.path in folders)

    def approve_for_run(self, review: Review) -> None:
        """Approve a skill as it was reviewed, for as long as this process runs. Raises: ClawftError."""
        name, place, digest = review.found.name, review.found.folder, review.digest
        self.stores.audit.write("approval", f"skill {place}", decision="allowed once", skill=name, digest=digest)
        self.stores.run.digests[place] = digest

    def review_agent(self, found: FoundAgent) -> AgentReview:
        """The same of an agent. Raises: ClawftError."""
        return make_agent_review(found, self.stores.approvals.find("agent", found.file), self.stores.kept)

    def approve_agents(self, reviews: Sequence[AgentReview]) -> None:
        """Approve agents as they were reviewed. Raises: ClawftError."""
        for one in reviews:
            self.stores.kept.keep_file(one.content)
        self._record(
            [make_approval("agent", one.found.file, one.found.digest, one.found.name, one.power) for one in reviews]
        )

    def review_hook(self, found: FoundHook) -> HookReview:
        """The same of a hook. Raises: ClawftError."""
        previous = self.stores.approvals.find("hook", found.folder)
        return make_hook_review(found, self._load_report(as_skill(found)), previous, self.stores.kept)

    def approve_hooks(self, reviews: Sequence[HookReview]) -> None:
        """Approve hooks as they were reviewed. Raises: ClawftError."""
        for one in reviews:
            self.stores.kept.keep(one.hook.root, one.whole.digest)
        self._record(
            [
                make_approval("hook", one.hook.folder, one.whole.digest, one.hook.name, one.whole.report.power)
                for one in reviews
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
        lines: list[Entry] = []

        def log(taken: Sequence[Approval]) -> None:
            for one in taken:
                more: More = {"skill": one.name, "digest": one.digest}
                lines.append(Entry("approval", f"{one.kind} {one.path}", "revoked", more))
            commit()

        with self.stores.audit.last_step(lines, must=False) as commit:
            taken = self.stores.approvals.remove(lambda one: one in meant, log)
        self.prune()
        return taken

    def prune(self) -> None:
        """Forget copies of what is approved no more."""
        kinds = ("skill", "former", "agent", "config", "hook")
        self.stores.kept.prune([one.digest for one in self.stores.approvals.load() if one.kind in kinds])
