"""A transaction carried out: what goes, then the locks, then what comes, then what was approved.

In that order no stranger's skill stands in a folder of the user's without a lock that says so: it would pass for the
user's own. What fails is taken back, all of it; what was killed is finished by the next command. Either may be broken
off and done again: it changes nothing more. No transaction begins before those before it are over.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct, structs

from clawft.discovery.digest import compute_digest
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import get_hint, read_optional, replace_file, sync_folder
from clawft.locks.file import load_lock, write_lock
from clawft.locks.model import LockedSkill
from clawft.packing.place import GONE, NEW, exchange, remove_tree
from clawft.supply.journal import MAX_BYTES, TEXT, Journal, Journals, LockEdit, Move, Text
from clawft.supply.noting import list_done, list_undone
from clawft.trust.approvals import Approval, is_about
from clawft.trust.audit.select import has_transaction
from clawft.trust.desk import Desk
from clawft.trust.overrides import Overrides

__all__ = ["Hands", "carry_out", "give_up", "inode_of", "recover", "take_turn", "without_missing"]


class Hands(Struct, frozen=True):
    """What a transaction changes beside folders and locks."""

    journals: Journals
    desk: Desk
    overrides: Overrides


def carry_out(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    """Do what is written down, in the process that wrote it; what was approved and cannot be.

    Raises: ClawftError, OSError: then it is all taken back, unless the error is `install-unfinished`, which says what
    will become of it.
    """
    try:
        for move in journal.moves:
            _check(move)
        _place_all(journal, journal.moves)
        said = _decide(journal, hands, logged=False)
    except BaseException as error:
        _take_back(journal, hands, error)
        raise
    return (*said, *_close(journal, hands))


def recover(hands: Hands) -> tuple[Diagnostic, ...]:
    """End what was broken off; what could not be done, and is tried again by the next command.

    To be called by every command that reads a lock, before it does. Raises: ClawftError for a journal that is not ours.
    """
    try:
        if not hands.journals.has_any():
            return ()
        with hands.journals.turn():
            return _settle(hands)
    except OSError as error:
        return (_unfinished("", error),)


@contextmanager
def take_turn(hands: Hands) -> Iterator[tuple[Diagnostic, ...]]:
    """The turn to change what is installed, with what there is to say of transactions before, which are over.

    Raises: Refused `install-unfinished` if one is not; ClawftError, OSError.
    """
    with hands.journals.turn():
        said = _settle(hands)
        for one in said:
            if one.code == "install-unfinished":
                raise Refused(one.code, one.message, path=one.path, hint=one.hint)
        yield said


def _settle(hands: Hands) -> tuple[Diagnostic, ...]:
    """End what was broken off, in the order in which it began. Raises: ClawftError, OSError."""
    said: list[Diagnostic] = []
    for journal in hands.journals.list_broken():
        try:
            said += _end(journal, hands)
        except (ClawftError, OSError) as error:
            said.append(_unfinished(journal.what, error))
            break  # what came after it waits
    return tuple(said)


def _end(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    """Raises: ClawftError, OSError."""
    if not journal.ready:
        give_up(journal, hands.journals)
        return ()
    if journal.undo:
        _undo_all(journal, hands)
        return ()
    left = [move for move in journal.moves if not _is_done(move)]
    lost = [move for move in left if not _can_place(move)]
    if lost:
        hands.journals.turn_back(journal)
        _undo_all(journal, hands)
        return tuple(_lost(journal, move) for move in lost)
    said = _place_all(journal, left, recovered=True)
    logged = has_transaction(hands.desk.stores.audit, journal.id)
    return (*said, *_decide(journal, hands, logged=logged), *_close(journal, hands))


def _place_all(journal: Journal, moves: Sequence[Move], *, recovered: bool = False) -> list[Diagnostic]:
    """Put folders and locks into their places; files that others changed meanwhile, where that is no error.

    Raises: ClawftError, OSError.
    """
    going, coming = _sort(moves)
    for move in going:
        _place(move)
    if journal.lock is not None:
        _edit_lock(journal.lock, journal.lock.after)
    said = []
    for text in journal.texts:
        if _change_text(text, text.before, text.content):
            continue
        if not recovered:
            message = "Another program changed its lock meanwhile"
            raise Refused("install-changed", message, path=text.path, hint="Nothing was installed; try again")
        said.append(_left_alone(journal, text))
    for move in coming:
        _place(move)
    for root in {os.path.dirname(move.target) for move in journal.moves}:
        sync_folder(root)
    return said


def _sort(moves: Sequence[Move]) -> tuple[list[Move], list[Move]]:
    """Folders that go, and those that come."""
    return [one for one in moves if one.new is None], [one for one in moves if one.new is not None]


def _decide(journal: Journal, hands: Hands, *, logged: bool) -> tuple[Diagnostic, ...]:
    """Record decisions about what is in its place. The log is told when only a rename is left to do.

    Raises: ClawftError, OSError.
    """
    stores = hands.desk.stores
    held: list[Approval] = []
    said = []
    for one in journal.after.approvals:
        try:
            stores.kept.keep(one.path, one.digest)
            held.append(one)
        except Refused as error:
            said.append(error.diagnostic)
    lines = [] if logged else list_done(journal, held)
    if journal.places:
        if {one.path for one in hands.overrides.load()}.intersection(journal.places) or journal.after.overrides:
            hands.overrides.replace(journal.places, journal.after.overrides)
        stores.approvals.replace(journal.places, held, lambda: stores.audit.write_all(lines))
    else:
        stores.audit.write_all(lines)
    return tuple(said)


def _close(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    """Remove what is left of a transaction that is done."""
    try:
        give_up(journal, hands.journals)  # who is killed in it is swept after by its roots
    except OSError as error:
        message = f"All is done, but the note of it cannot be removed ({journal.what}): {error.strerror}"
        path = str(error.filename or hands.journals.folder)
        return (Diagnostic("install-note-left", "warning", message, path, 0, get_hint(error, path)),)
    hands.desk.prune()
    return ()


def _take_back(journal: Journal, hands: Hands, why: BaseException) -> None:
    """Undo what was done of a transaction that failed. Raises: Refused where that fails too."""
    try:
        hands.journals.turn_back(journal)
        fate = "taken back"
    except OSError:
        fate = "finished"  # what is written down says so, and cannot be changed
    try:
        if fate == "taken back":
            _undo_all(journal, hands)
            return
        failed: Exception | None = None
    except (ClawftError, OSError) as error:
        failed = error
    message = f"This failed half way, and will be {fate} by the next weft command ({journal.what}): {_why(why)}"
    path = _path_of(failed or why)
    hint = f"Repair that first, then run: weft skills verify ({_why(failed)})" if failed else "Run: weft skills verify"
    raise Refused("install-unfinished", message, path=path, hint=hint) from why


def _undo_all(journal: Journal, hands: Hands) -> None:
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
    _undo_decisions(journal, hands)
    if has_transaction(hands.desk.stores.audit, journal.id):
        hands.desk.stores.audit.write_all(list_undone(journal))
    give_up(journal, hands.journals)
    hands.desk.prune()


def _undo_decisions(journal: Journal, hands: Hands) -> None:
    """Nothing is written where nothing changed: it may be that these files cannot be."""
    before, approvals = journal.before, hands.desk.stores.approvals
    if {one for one in hands.overrides.load() if one.path in journal.places} != set(before.overrides):
        hands.overrides.replace(journal.places, before.overrides)
    if [one for one in approvals.load() if is_about(one, journal.places)] != list(before.approvals):
        approvals.replace(journal.places, before.approvals)


def give_up(journal: Journal, journals: Journals) -> None:
    """Remove what a transaction hid, and its journal; what cannot be removed is left to the next. Raises: OSError."""
    if _sweep(journal, NEW, GONE):
        journals.end(journal)
    else:
        journals.shrink(journal)


def _sweep(journal: Journal, *marks: str) -> bool:
    """Remove hidden folders; whether none is left."""
    starts = tuple(f"{mark}{journal.id}-" for mark in marks)
    swept = True
    for root in journal.roots:
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in [one for one in os.listdir(root) if one.startswith(starts)]:
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
    """Which folder is there: no link is followed. None for nothing."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _is_done(move: Move) -> bool:
    now = inode_of(move.target)
    return now == move.new if move.new is not None else now != move.old


def _can_place(move: Move) -> bool:
    """Whether all is as it was when the transaction was written down."""
    there = inode_of(move.target) in (move.old, None)
    if move.new is None:
        return there
    return there and inode_of(move.hidden) == move.new and compute_digest(move.hidden).value == move.digest


def _check(move: Move) -> None:
    """Raises: Refused for what changed since it was looked at."""
    if inode_of(move.target) != move.old:
        message = "Something else was put there meanwhile"
        raise Refused("install-changed", message, path=move.target, hint="Look at it, and try again")
    if move.new is not None and compute_digest(move.hidden).value != move.digest:
        message = "The skill changed after it was looked at"
        raise Refused("install-changed", message, path=move.target, hint="Nothing was installed; try again")


def _place(move: Move) -> None:
    """Raises: OSError."""
    if move.new is None:
        with suppress(FileNotFoundError):
            os.rename(move.target, move.hidden)
    elif inode_of(move.target) is None:
        os.rename(move.hidden, move.target)
    else:
        exchange(move.hidden, move.target)


def _undo(move: Move) -> None:
    """Take a new folder out of its place; what was there comes back. Raises: OSError."""
    if inode_of(move.hidden) is None:
        os.rename(move.target, move.hidden)
    else:
        exchange(move.hidden, move.target)


def _edit_lock(edit: LockEdit, wanted: Mapping[str, LockedSkill | None]) -> None:
    """Change some entries of the lock that is there. Raises: ClawftError, OSError."""
    before = load_lock(edit.path)
    lock = {name: one for name, one in {**before, **wanted}.items() if one is not None}
    if lock == before and (lock or edit.existed or not os.path.lexists(edit.path)):
        return
    if lock or edit.existed:
        write_lock(edit.path, without_missing(lock.values()))
    else:
        os.unlink(edit.path)


def without_missing(skills: Iterable[LockedSkill]) -> list[LockedSkill]:
    """The skills of a lock, none of which depends on what the lock does not have."""
    found = {one.name: one for one in skills}
    return [
        structs.replace(one, dependencies=left)
        if (left := tuple(name for name in one.dependencies if name in found)) != one.dependencies
        else one
        for one in found.values()
    ]


def _change_text(text: Text, old: str | None, new: str | None) -> bool:
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


def _left_alone(journal: Journal, text: Text) -> Diagnostic:
    message = f"Another program changed its lock since, so it does not say what was done ({journal.what})"
    return Diagnostic("install-lock-left", "warning", message, text.path, 0, "Run: weft skills verify")


def _lost(journal: Journal, move: Move) -> Diagnostic:
    message = f"An installation was broken off and its files are gone, so it was taken back ({journal.what})"
    return Diagnostic("install-lost", "warning", message, move.target, 0, "Install it again")


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
