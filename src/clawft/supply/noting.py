"""What the audit log says of a transaction: which skill came, changed or went, from where, and on whose word."""

from collections.abc import Iterable, Sequence

from clawft.locks.model import LockedSkill
from clawft.supply.journal import Note
from clawft.supply.plan import Planned
from clawft.trust.audit import Entry
from clawft.trust.overrides import Override

__all__ = ["list_entries", "list_overrides", "note_placed", "note_removed"]


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


def list_entries(notes: Iterable[Note]) -> list[Entry]:
    """The lines of the log."""
    return [
        Entry("install", one.subject, "done", {"skill": one.name, "digest": one.digest, "detail": one.facts})
        for one in notes
    ]


def list_overrides(made: Sequence[Override]) -> list[Entry]:
    """The same of exceptions, as `weft skills allow` writes them."""
    return [
        Entry(
            "approval",
            f"scan rule for {one.path}",
            "allowed",
            {
                "rule": one.rule,
                "skill": one.name,
                "digest": one.digest,
                "detail": {"because": one.because, "expires": one.expires},
            },
        )
        for one in made
    ]


def _describe(locked: LockedSkill) -> str:
    version = locked.version or locked.commit[:12]
    signed = f", signed by {locked.signed_by}" if locked.signed_by else ""
    return f"{locked.name}{version and f' {version}'} from {locked.origin.line}{signed}"


def _facts(locked: LockedSkill) -> dict[str, str]:
    facts = {"source": locked.origin.line, "version": locked.version, "commit": locked.commit}
    facts |= {"signed_by": locked.signed_by, "to": " ".join(locked.to), "verdict": locked.verdict}
    return {name: value for name, value in facts.items() if value}
