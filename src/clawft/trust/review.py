"""What a person is shown before they approve a stranger's skill: all it could do, and what changed since last time."""

from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.snapshot import Reading
from clawft.errors import ClawftError, Refused
from clawft.scan.compare import PowerChange, compare_declared, compare_power
from clawft.scan.findings import Power, Report
from clawft.trust.approvals import Approval
from clawft.trust.kept import FileChange, Kept
from clawft.trust.strangers import why_unbindable

__all__ = ["Review", "make_review"]


class Review(Struct, frozen=True):
    """A skill as it is now, and as it was when it was last approved, if it ever was."""

    found: Found
    digest: str
    report: Report
    undeclared: Power
    previous: Approval | None = None
    power: PowerChange = PowerChange()
    files: tuple[FileChange, ...] | None = None  # None: what it was then is not known

    @property
    def is_same(self) -> bool:
        return self.previous is not None and self.previous.digest == self.digest


def make_review(found: Found, reading: Reading, report: Report, previous: Approval | None, kept: Kept) -> Review:
    """A review of a skill that was just read and scanned. Raises: Refused for what cannot be approved."""
    if found.skill is None:
        why = found.problem.message if found.problem else "it cannot be read"
        raise ClawftError("skill-broken", f"The skill '{found.name}' is broken: {why}", path=found.file)
    digest = reading.digest()
    objection = why_unbindable(found, digest, reading.linked)
    if objection is not None:
        raise Refused(objection.code, objection.message, path=objection.path, hint=objection.hint)
    if report.digest != digest.value:
        message = f"The skill '{found.name}' changed while it was looked at"
        raise Refused("skill-changed", message, path=found.folder, hint="Look at it again")
    undeclared = compare_declared(found.skill, report.power)
    if previous is None or previous.digest == digest.value:
        return Review(found, digest.value, report, undeclared, previous)
    power, files = compare_power(previous.power, report.power), kept.compare(previous.digest, found.folder)
    return Review(found, digest.value, report, undeclared, previous, power, files)
