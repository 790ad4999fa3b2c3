"""What a person sees before they approve a stranger's skill, agent or hook: what it could do, and what changed."""

import os

from msgspec import Struct, structs

from clawft.discovery.agents import FoundAgent
from clawft.discovery.catalog import Found
from clawft.discovery.hooks import FoundHook, load_skill_hooks
from clawft.discovery.read import MAX_FILE_BYTES
from clawft.discovery.snapshot import Reading
from clawft.errors import ClawftError, Refused
from clawft.files import read_regular
from clawft.scan.compare import PowerChange, compare_declared, compare_power
from clawft.scan.findings import Power, Report
from clawft.trust.approvals import Approval, hash_bytes
from clawft.trust.hooks import as_skill, digest_of
from clawft.trust.kept import FileChange, Kept
from clawft.trust.strangers import why_unbindable

__all__ = [
    "AgentReview",
    "HookReview",
    "Review",
    "compare_review",
    "make_agent_review",
    "make_hook_review",
    "make_review",
]


class Review(Struct, frozen=True):
    """A skill as it is now, and as it was when it was last approved, if it ever was."""

    found: Found
    digest: str
    report: Report
    undeclared: Power
    previous: Approval | None = None
    power: PowerChange = PowerChange()
    files: tuple[FileChange, ...] | None = None  # None: what it was then is not known
    hooks: tuple[FoundHook, ...] = ()  # which it brings along

    @property
    def is_same(self) -> bool:
        before = self.previous
        return before is not None and before.kind == "skill" and before.digest == self.digest


class HookReview(Struct, frozen=True):
    """A hook by itself; `whole` is all that its digest covers, looked at as a skill is."""

    hook: FoundHook
    whole: Review


class AgentReview(Struct, frozen=True):
    """An agent as it is now, and as it was when it was last approved, if it ever was."""

    found: FoundAgent
    content: bytes
    power: Power  # its tools; `*` is all of them
    previous: Approval | None = None
    change: PowerChange = PowerChange()
    file: FileChange | None = None  # None: it is the first time, or what it was then is not known


def make_agent_review(found: FoundAgent, previous: Approval | None, kept: Kept) -> AgentReview:
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
    file = kept.compare_file(previous.digest, os.path.basename(found.file), content)
    return AgentReview(found, content, power, previous, compare_power(previous.power, power), file)


def make_review(found: Found, reading: Reading, report: Report, previous: Approval | None, kept: Kept) -> Review:
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
    return structs.replace(compare_review(review, kept), hooks=load_skill_hooks([found]))


def make_hook_review(found: FoundHook, report: Report, previous: Approval | None, kept: Kept) -> HookReview:
    """A review of a hook that was just scanned. Raises: Refused for what cannot be approved."""
    whole = as_skill(found)
    if found.hook is None:
        why = found.problem.message if found.problem else "it cannot be read"
        raise ClawftError("hook-broken", f"The hook '{found.name}' is broken: {why}", path=found.file)
    digest = digest_of(found)
    objection = why_unbindable(whole, digest, [])
    if objection is not None:
        raise Refused(objection.code, objection.message, path=objection.path, hint=objection.hint)
    if report.digest != digest.value:
        message = f"The hook '{found.name}' changed while it was looked at"
        raise Refused("hook-changed", message, path=found.root, hint="Look at it again")
    return HookReview(found, compare_review(Review(whole, digest.value, report, Power(), previous), kept))


def compare_review(review: Review, kept: Kept) -> Review:
    """A review with what changed since the last one that was agreed to."""
    before = review.previous
    if before is None or review.is_same:
        return review
    power, files = compare_power(before.power, review.report.power), kept.compare(before.digest, review.found.folder)
    return structs.replace(review, power=power, files=files)
