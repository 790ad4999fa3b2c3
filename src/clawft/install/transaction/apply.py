"""Carry out a transaction, or recover one that was interrupted, with its lines in the audit log."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import NEW, REMOVED, exchange_folders, get_hint, read_optional, remove_tree, replace_file, sync_folder
from clawft.install.lockfile.file import load_lock, write_lock
from clawft.install.lockfile.model import LockedSkill
from clawft.install.transaction.journal import (
    MAX_BYTES,
    TEXT,
    FileEdit,
    FolderMove,
    LockEdit,
    TransactionJournal,
    TransactionJournals,
    TransactionNote,
)
from clawft.install.transaction.plan import PlannedSkill
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.approvals import Approval, is_about
from clawft.trust.audit import AuditEntry
from clawft.trust.audit.log import FAILED, AuditFields
from clawft.trust.audit.reader import has_transaction
from clawft.trust.overrides import Override, Overrides
from clawft.trust.review import Reviewer


def note_placed(planned: PlannedSkill, locked: LockedSkill, *, exact: bool) -> TransactionNote:
    """A skill that is installed, updated, or restored as the lock says."""
    old = planned.old
    verb = "install" if old is None else "restore" if exact else "update" if old.digest != locked.digest else "install"
    before = {"previous": old.version or old.digest} if old is not None and verb == "update" else {}
    return TransactionNote(f"{verb} {_describe(locked)}", locked.name, locked.digest, _facts(locked) | before)


def note_removed(name: str, locked: LockedSkill | None) -> TransactionNote:
    """One that is removed; None: weft did not install it."""
    if locked is None:
        return TransactionNote(f"remove {name}", name)
    return TransactionNote(f"remove {_describe(locked)}", name, locked.digest, _facts(locked))


def list_done(journal: TransactionJournal, approved: Sequence[Approval]) -> list[AuditEntry]:
    """The lines of the log about a transaction that is done. `approved`: what of it is approved."""
    new = {approval.path for approval in approved}
    taken = [approval for approval in journal.before.approvals if approval.path not in new]
    known = set(journal.before.overrides)
    return [
        *(_install_line(journal, note) for note in journal.notes),
        *(_approval_line(journal, approval, "allow") for approval in approved),
        *(_override_line(journal, override) for override in journal.after.overrides if override not in known),
        *(_approval_line(journal, revoked, "revoked") for revoked in taken),
    ]


def _install_line(journal: TransactionJournal, note: TransactionNote) -> AuditEntry:
    detail = {"transaction": journal.id, **note.facts}
    return AuditEntry("install", note.subject, "done", {"skill": note.name, "digest": note.digest, "detail": detail})


def _approval_line(journal: TransactionJournal, one: Approval, decision: str) -> AuditEntry:
    detail = {"transaction": journal.id}
    about = f"{one.kind} {one.path}"
    return AuditEntry("approval", about, decision, {"skill": one.name, "digest": one.digest, "detail": detail})


def _override_line(journal: TransactionJournal, one: Override) -> AuditEntry:
    """As `weft skills allow` writes them."""
    detail = {"transaction": journal.id, "because": one.because, "expires": one.expires}
    more: AuditFields = {"rule": one.rule, "skill": one.name, "digest": one.digest, "detail": detail}
    return AuditEntry("approval", f"scan rule for {one.path}", "allow", more)


def _describe(locked: LockedSkill) -> str:
    version = locked.version or locked.commit[:12]
    signed = f", signed by {locked.signed_by}" if locked.signed_by else ""
    return f"{locked.name}{version and f' {version}'} from {locked.origin.line}{signed}"


def _facts(locked: LockedSkill) -> dict[str, str]:
    facts = {"source": locked.origin.line, "version": locked.version, "commit": locked.commit}
    facts |= {"signed_by": locked.signed_by, "to": " ".join(locked.to), "verdict": locked.verdict}
    return {name: value for name, value in facts.items() if value}


class TransactionContext(Struct, frozen=True):
    """The stores that a transaction changes, apart from folders and locks."""

    journals: TransactionJournals
    reviewer: Reviewer
    overrides: Overrides


def apply_transaction(journal: TransactionJournal, context: TransactionContext) -> tuple[Diagnostic, ...]:
    """Do what is written down, in the process that wrote it; what was approved and cannot be.

    Raises: ClawftError, OSError: then it is all taken back, unless the error is `install-unfinished`, which says what
    will become of it.
    """
    try:
        for move in journal.moves:
            _check(move)
        _place_all(journal, journal.moves)
        diagnostics = _decide(journal, context, logged=False)
    except BaseException as error:
        _take_back(journal, context, error)
        raise
    return (*diagnostics, *_close(journal, context))


def recover_transactions(context: TransactionContext) -> tuple[Diagnostic, ...]:
    """End what was broken off; what could not be done, and is tried again by the next command.

    To be called by every command that reads a lock, before it does. Raises: ClawftError for a journal that is not ours.
    """
    try:
        if not context.journals.has_any():
            return ()
        with context.journals.turn():
            return _settle(context)
    except OSError as error:
        return (_unfinished("", error),)


@contextmanager
def lock_transactions(context: TransactionContext) -> Iterator[tuple[Diagnostic, ...]]:
    """The turn to change what is installed, with what there is to say of transactions before, which are over.

    Raises: Refused `install-unfinished` if one is not; ClawftError, OSError.
    """
    with context.journals.turn():
        diagnostics = _settle(context)
        for diagnostic in diagnostics:
            if diagnostic.code == "install-unfinished":
                raise Refused(diagnostic.code, diagnostic.message, path=diagnostic.path, hint=diagnostic.hint)
        yield diagnostics


def _settle(context: TransactionContext) -> tuple[Diagnostic, ...]:
    """End what was broken off, in the order in which it began. Raises: ClawftError, OSError."""
    diagnostics: list[Diagnostic] = []
    for journal in context.journals.list_interrupted():
        try:
            diagnostics += _end(journal, context)
        except (ClawftError, OSError) as error:
            diagnostics.append(_unfinished(journal.what, error))
            break  # what came after it waits
    return tuple(diagnostics)


def _end(journal: TransactionJournal, context: TransactionContext) -> tuple[Diagnostic, ...]:
    """Raises: ClawftError, OSError."""
    if not journal.ready:
        discard_transaction(journal, context.journals)
        return ()
    if journal.undo:
        _undo_all(journal, context)
        return ()
    left = [move for move in journal.moves if not _is_done(move)]
    lost = [move for move in left if not _can_place(move)]
    if lost:
        context.journals.mark_undone(journal)
        _undo_all(journal, context)
        message = f"An installation was broken off and its files are gone, so it was taken back ({journal.what})"
        again = "Install it again"
        return tuple(Diagnostic("install-lost", "warning", message, move.target, 0, again) for move in lost)
    diagnostics = _place_all(journal, left, recovered=True)
    logged = has_transaction(context.reviewer.stores.audit, journal.id)
    return (*diagnostics, *_decide(journal, context, logged=logged), *_close(journal, context))


def _place_all(
    journal: TransactionJournal, moves: Sequence[FolderMove], *, recovered: bool = False
) -> list[Diagnostic]:
    """Put folders and locks into their places; files that others changed meanwhile, where that is no error.

    Raises: ClawftError, OSError.
    """
    going, coming = _sort(moves)
    for move in going:
        _place(move)
    if journal.lock is not None:
        _edit_lock(journal.lock, journal.lock.after)
    diagnostics = []
    for text in journal.texts:
        if _change_text(text, text.before, text.content):
            continue
        if not recovered:
            message = "Another program changed its lock meanwhile"
            raise Refused("install-changed", message, path=text.path, hint="Nothing was installed; try again")
        message = f"Another program changed its lock since, so it does not say what was done ({journal.what})"
        hint = "Run: weft skills verify"
        diagnostics.append(Diagnostic("install-lock-left", "warning", message, text.path, 0, hint))
    for move in coming:
        _place(move)
    for root in {os.path.dirname(move.target) for move in journal.moves}:
        sync_folder(root)
    return diagnostics


def _sort(moves: Sequence[FolderMove]) -> tuple[list[FolderMove], list[FolderMove]]:
    """Folders that go, and those that come."""
    return [move for move in moves if move.new is None], [move for move in moves if move.new is not None]


def _decide(journal: TransactionJournal, context: TransactionContext, *, logged: bool) -> tuple[Diagnostic, ...]:
    """Record the decisions about skills that are already in place. The audit log is written when only a rename is left
    to do.

    Raises: ClawftError, OSError.
    """
    stores = context.reviewer.stores
    held: list[Approval] = []
    diagnostics = []
    for approval in journal.after.approvals:
        try:
            stores.approved_copies.keep(approval.path, approval.digest)
            held.append(approval)
        except Refused as error:
            diagnostics.append(error.diagnostic)
    lines = [] if logged else list_done(journal, held)
    if journal.places:
        if {override.path for override in context.overrides.load()}.intersection(
            journal.places
        ) or journal.after.overrides:
            context.overrides.replace(journal.places, journal.after.overrides)
        stores.approvals.replace(journal.places, held, lambda: stores.audit.write_all(lines))
    else:
        stores.audit.write_all(lines)
    return tuple(diagnostics)


def _close(journal: TransactionJournal, context: TransactionContext) -> tuple[Diagnostic, ...]:
    """Remove what is left of a transaction that is done."""
    try:
        discard_transaction(journal, context.journals)  # who is killed in it is swept after by its roots
    except OSError as error:
        message = f"All is done, but the note of it cannot be removed ({journal.what}): {error.strerror}"
        path = str(error.filename or context.journals.folder)
        return (Diagnostic("install-note-left", "warning", message, path, 0, get_hint(error, path)),)
    context.reviewer.prune()
    return ()


def _take_back(journal: TransactionJournal, context: TransactionContext, why: BaseException) -> None:
    """Undo what was done of a transaction that failed. Raises: Refused where that fails too."""
    try:
        context.journals.mark_undone(journal)
        fate = "taken back"
    except OSError:
        fate = "finished"  # what is written down says so, and cannot be changed
    try:
        if fate == "taken back":
            _undo_all(journal, context)
            return
        failed: Exception | None = None
    except (ClawftError, OSError) as error:
        failed = error
    message = f"This failed half way, and will be {fate} by the next weft command ({journal.what}): {_why(why)}"
    path = _path_of(failed or why)
    hint = f"Repair that first, then run: weft skills verify ({_why(failed)})" if failed else "Run: weft skills verify"
    raise Refused("install-unfinished", message, path=path, hint=hint) from why


def _undo_all(journal: TransactionJournal, context: TransactionContext) -> None:
    """Make everything as it was before a transaction. Raises: ClawftError, OSError."""
    going, coming = _sort(journal.moves)
    for move in reversed(coming):
        if _is_done(move):
            _undo(move)
    _sweep(journal, NEW)  # which makes room for the locks
    for text in journal.texts:
        _change_text(text, text.content, text.before)
    if journal.lock is not None:
        _edit_lock(journal.lock, journal.lock.before)
    for move in reversed(going):
        if inode_of(move.target) is None and inode_of(move.hidden) == move.old:
            os.rename(move.hidden, move.target)
    for root in {os.path.dirname(move.target) for move in journal.moves}:
        with suppress(FileNotFoundError):
            sync_folder(root)
    _undo_decisions(journal, context)
    if has_transaction(context.reviewer.stores.audit, journal.id):
        done = list_done(journal, journal.after.approvals)
        context.reviewer.stores.audit.write_all([entry._replace(decision=FAILED) for entry in done])
    discard_transaction(journal, context.journals)
    context.reviewer.prune()


def _undo_decisions(journal: TransactionJournal, context: TransactionContext) -> None:
    """Nothing is written where nothing changed: it may be that these files cannot be."""
    before, approvals = journal.before, context.reviewer.stores.approvals
    if {override for override in context.overrides.load() if override.path in journal.places} != set(before.overrides):
        context.overrides.replace(journal.places, before.overrides)
    if [approval for approval in approvals.load() if is_about(approval, journal.places)] != list(before.approvals):
        approvals.replace(journal.places, before.approvals)


def discard_transaction(journal: TransactionJournal, journals: TransactionJournals) -> None:
    """Remove what a transaction hid, and its journal; what cannot be removed is left to the next. Raises: OSError."""
    if _sweep(journal, NEW, REMOVED):
        journals.end(journal)
    else:
        journals.shrink(journal)


def _sweep(journal: TransactionJournal, *marks: str) -> bool:
    """Remove hidden folders; whether none is left."""
    starts = tuple(f"{mark}{journal.id}-" for mark in marks)
    swept = True
    for root in journal.roots:
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in [name for name in os.listdir(root) if name.startswith(starts)]:
                try:
                    _remove(os.path.join(root, name))
                except OSError:
                    swept = False
    return swept


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        remove_tree(path)
    else:
        os.unlink(path)


def inode_of(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a folder, without following links; None where nothing is there."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _is_done(move: FolderMove) -> bool:
    now = inode_of(move.target)
    return now == move.new if move.new is not None else now != move.old


def _can_place(move: FolderMove) -> bool:
    """Return whether all is as it was when the transaction was written down."""
    there = inode_of(move.target) in (move.old, None)
    if move.new is None:
        return there
    return there and inode_of(move.hidden) == move.new and compute_digest(move.hidden).value == move.digest


def _check(move: FolderMove) -> None:
    """Raises: Refused for what changed since it was looked at."""
    if inode_of(move.target) != move.old:
        message = "Something else was put there meanwhile"
        raise Refused("install-changed", message, path=move.target, hint="Look at it, and try again")
    if move.new is not None and compute_digest(move.hidden).value != move.digest:
        message = "The skill changed after it was looked at"
        raise Refused("install-changed", message, path=move.target, hint="Nothing was installed; try again")


def _place(move: FolderMove) -> None:
    """Raises: OSError."""
    if move.new is None:
        with suppress(FileNotFoundError):
            os.rename(move.target, move.hidden)
    elif inode_of(move.target) is None:
        os.rename(move.hidden, move.target)
    else:
        exchange_folders(move.hidden, move.target)


def _undo(move: FolderMove) -> None:
    """Take a new folder out of its place; what was there comes back. Raises: OSError."""
    if inode_of(move.hidden) is None:
        os.rename(move.target, move.hidden)
    else:
        exchange_folders(move.hidden, move.target)


def _edit_lock(edit: LockEdit, wanted: Mapping[str, LockedSkill | None]) -> None:
    """Change some entries of the lock that is there. Raises: ClawftError, OSError."""
    before = load_lock(edit.path)
    lock = {name: skill for name, skill in {**before, **wanted}.items() if skill is not None}
    if lock == before and (lock or edit.existed or not os.path.lexists(edit.path)):
        return
    if lock or edit.existed:
        write_lock(edit.path, without_missing(lock.values()))
    else:
        os.unlink(edit.path)


def without_missing(skills: Iterable[LockedSkill]) -> list[LockedSkill]:
    """The skills of a lock, none of which depends on what the lock does not have."""
    found = {skill.name: skill for skill in skills}
    return [
        structs.replace(locked, dependencies=left)
        if (left := tuple(name for name in locked.dependencies if name in found)) != locked.dependencies
        else locked
        for locked in found.values()
    ]


def _change_text(text: FileEdit, old: str | None, new: str | None) -> bool:
    """Replace a file; False for one that is neither what it was nor what it is to be. Raises: Unreadable, OSError."""
    content = read_optional(text.path, MAX_BYTES)
    now = None if content is None else content.decode(*TEXT)
    if now == new:
        return True
    if now != old:
        return False
    if new is None:
        os.unlink(text.path)
        return True
    os.makedirs(os.path.dirname(text.path), mode=0o755, exist_ok=True)
    replace_file(text.path, new.encode(*TEXT), text.mode)
    return True


def _unfinished(what: str, error: ClawftError | OSError) -> Diagnostic:
    which = f" ({what})" if what else ""
    message = f"An installation was broken off, and what is left to do cannot be done{which}: {_why(error)}"
    path = _path_of(error)
    hint = (get_hint(error, path) if isinstance(error, OSError) else error.hint) or "Repair that, then try again"
    return Diagnostic("install-unfinished", "warning", message, path, 0, hint)


def _why(error: BaseException | None) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error) or type(error).__name__


def _path_of(error: BaseException) -> str:
    return error.diagnostic.path if isinstance(error, ClawftError) else str(getattr(error, "filename", "") or "")
