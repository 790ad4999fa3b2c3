"""What the audit log says of a transaction: which skill came, changed or went, from where, and on whose word."""

from collections.abc import Sequence

from clawft.locks.model import LockedSkill
from clawft.supply.journal import Journal, Note
from clawft.supply.plan import Planned
from clawft.trust.approvals import Approval
from clawft.trust.audit import Entry
from clawft.trust.audit.log import FAILED, More
from clawft.trust.overrides import Override

__all__ = ["list_done", "list_undone", "note_placed", "note_removed"]


def note_placed(planned: Planned, locked: LockedSkill, *, exact: bool) -> Note:
    """A skill that is installed, updated, or restored as the lock says."""
    old = planned.old
    verb = "install" if old is None else "restore" if exact else "update" if old.digest != locked.digest else "install"
    before = {"previous": old.version or old.digest} if old is not None and verb == "update" else {}
    return Note(f"{verb} {_describe(locked)}", locked.name, locked.digest, _facts(locked) | before)


def note_removed(name: str, locked: LockedSkill | None) -> Note:
    """One that is removed; None: weft did not install it."""
    if locked is None:
        return Note(f"remove {name}", name)
    return Note(f"remove {_describe(locked)}", name, locked.digest, _facts(locked))


def list_done(journal: Journal, approved: Sequence[Approval]) -> list[Entry]:
    """The lines of the log about a transaction that is done. `approved`: what of it is approved."""
    new = {one.path for one in approved}
    taken = [one for one in journal.before.approvals if one.path not in new]
    known = set(journal.before.overrides)
    return [
        *(_install_line(journal, note) for note in journal.notes),
        *(_approval_line(journal, one, "allowed") for one in approved),
        *(_override_line(journal, one) for one in journal.after.overrides if one not in known),
        *(_approval_line(journal, one, "revoked") for one in taken),
    ]


def list_undone(journal: Journal) -> list[Entry]:
    """The lines which say that those did not come about."""
    return [one._replace(decision=FAILED) for one in list_done(journal, journal.after.approvals)]


def _install_line(journal: Journal, note: Note) -> Entry:
    detail = {"transaction": journal.id, **note.facts}
    return Entry("install", note.subject, "done", {"skill": note.name, "digest": note.digest, "detail": detail})


def _approval_line(journal: Journal, one: Approval, decision: str) -> Entry:
    detail = {"transaction": journal.id}
    about = f"{one.kind} {one.path}"
    return Entry("approval", about, decision, {"skill": one.name, "digest": one.digest, "detail": detail})


def _override_line(journal: Journal, one: Override) -> Entry:
    """As `weft skills allow` writes them."""
    detail = {"transaction": journal.id, "because": one.because, "expires": one.expires}
    more: More = {"rule": one.rule, "skill": one.name, "digest": one.digest, "detail": detail}
    return Entry("approval", f"scan rule for {one.path}", "allowed", more)


def _describe(locked: LockedSkill) -> str:
    version = locked.version or locked.commit[:12]
    signed = f", signed by {locked.signed_by}" if locked.signed_by else ""
    return f"{locked.name}{version and f' {version}'} from {locked.origin.line}{signed}"


def _facts(locked: LockedSkill) -> dict[str, str]:
    facts = {"source": locked.origin.line, "version": locked.version, "commit": locked.commit}
    facts |= {"signed_by": locked.signed_by, "to": " ".join(locked.to), "verdict": locked.verdict}
    return {name: value for name, value in facts.items() if value}
