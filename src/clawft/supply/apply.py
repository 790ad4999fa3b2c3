"""A transaction carried out: what goes, then the locks, then what comes, then what was approved.

In that order no stranger's skill stands in a folder of the user's without a lock that says so: it would pass for the
user's own. Done again it changes nothing more.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct, structs

from clawft.discovery.digest import compute_digest
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import read_optional, sync_folder
from clawft.packing.place import GONE, NEW, exchange, remove_tree
from clawft.supply.journal import MAX_BYTES, Journal, Journals, Move, Text
from clawft.supply.noting import list_entries, list_overrides
from clawft.trust.desk import Desk
from clawft.trust.overrides import Overrides

__all__ = ["Hands", "carry_out", "inode_of", "recover", "recover_in_turn", "sweep"]


class Hands(Struct, frozen=True):
    """What a transaction changes beside folders and locks."""

    journals: Journals
    desk: Desk
    overrides: Overrides


def carry_out(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    """Do what is written down, in the process that wrote it; what was approved and cannot be.

    Until all is in place it is all taken back where something fails. Raises: ClawftError, OSError.
    """
    done: list[Move] = []
    before: list[Text] = []
    going, coming = _sort(journal.moves)
    try:
        for move in journal.moves:
            _check(move)
        for move in going:
            _place(move)
            done.append(move)
        for text in journal.texts:
            was = _read(text)
            _write(text, journal.id)
            before.append(was)
        for move in coming:
            _place(move)
            done.append(move)
        for root in {os.path.dirname(move.target) for move in journal.moves}:
            sync_folder(root)
    except BaseException:
        for move in reversed(done):
            _undo(move)
        for text in before:
            _write(text, journal.id)
        hands.journals.end(journal)
        sweep(journal)
        raise
    return _conclude(journal, hands)


def recover(hands: Hands) -> tuple[Diagnostic, ...]:
    """Finish what killed processes left, and remove what they only prepared; what could not be done.

    To be called by every command that reads a lock, before it does. Raises: ClawftError, OSError.
    """
    if not hands.journals.has_any():
        return ()
    with hands.journals.turn():
        return recover_in_turn(hands)


def recover_in_turn(hands: Hands) -> tuple[Diagnostic, ...]:
    """The same for who has the turn already. Raises: ClawftError, OSError."""
    said: list[Diagnostic] = []
    for journal in hands.journals.list_broken():
        try:
            said += _roll_forward(journal, hands) if journal.ready else _drop(journal, hands)
        except (ClawftError, OSError) as error:
            said.append(_unfinished(journal, error))
    return tuple(said)


def _roll_forward(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    """Raises: ClawftError, OSError."""
    lost = [move for move in journal.moves if not _is_done(move) and not _can_place(move)]
    if lost and not any(map(_is_done, journal.moves)):
        _drop(journal, hands)
        return tuple(_lost(journal, move) for move in lost)
    left = [move for move in journal.moves if move not in lost and not _is_done(move)]
    going, coming = _sort(left)
    for move in going:
        _place(move)
    for text in journal.texts:
        _write(text, journal.id)
    for move in coming:
        _place(move)
    said = _conclude(journal, hands)
    return (*(_lost(journal, move) for move in lost), *said)


def _sort(moves: Sequence[Move]) -> tuple[list[Move], list[Move]]:
    """Folders that go, and those that come."""
    return [one for one in moves if one.new is None], [one for one in moves if one.new is not None]


def _drop(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    sweep(journal)
    hands.journals.end(journal)
    return ()


def _conclude(journal: Journal, hands: Hands) -> tuple[Diagnostic, ...]:
    """The rest, once folders and locks are as they are to be. Raises: ClawftError, OSError."""
    hands.desk.write_down(list_entries(journal.notes))
    said = hands.desk.approve_placed(journal.approvals, list_overrides(journal.overrides))
    if journal.revoked:
        hands.desk.revoke_folders(journal.revoked)
        for folder in {one.path for one in hands.overrides.load()}.intersection(journal.revoked):
            hands.overrides.remove(folder)
    if journal.overrides:
        hands.overrides.add(journal.overrides)
    sweep(journal)  # before its end: who is killed here is swept after by its roots
    hands.journals.end(journal)
    return said


def sweep(journal: Journal) -> None:
    """Remove what a transaction hid; one that cannot be removed stays hidden."""
    for text in journal.texts:
        with suppress(OSError):
            os.unlink(_temporary(text, journal.id))
    marks = tuple(f"{mark}{journal.id}-" for mark in (NEW, GONE))
    for root in journal.roots:
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in [one for one in os.listdir(root) if one.startswith(marks)]:
                with suppress(OSError):
                    _remove(os.path.join(root, name))


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
    """What was there comes back; what cannot be put back is finished by the next command instead. Raises: OSError."""
    if move.new is None:
        os.rename(move.hidden, move.target)
    elif move.old is None:
        os.rename(move.target, move.hidden)
    else:
        exchange(move.hidden, move.target)


def _read(text: Text) -> Text:
    """A file as it is now. Raises: Unreadable."""
    content = read_optional(text.path, MAX_BYTES)
    return structs.replace(text, content=None if content is None else content.decode("utf-8", "surrogateescape"))


def _write(text: Text, transaction: str) -> None:
    """Replace a file, by way of one whose name tells whose it is. Raises: OSError."""
    if text.content is None:
        with suppress(FileNotFoundError):
            os.unlink(text.path)
        return
    os.makedirs(os.path.dirname(text.path), mode=0o755, exist_ok=True)
    temporary = _temporary(text, transaction)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, text.mode)
    with open(descriptor, "wb") as file:
        file.write(text.content.encode("utf-8", "surrogateescape"))
        file.flush()
        os.fsync(descriptor)
    os.replace(temporary, text.path)
    sync_folder(os.path.dirname(text.path))


def _temporary(text: Text, transaction: str) -> str:
    folder, name = os.path.split(text.path)
    return os.path.join(folder, f".{name}.{transaction}.tmp")


def _lost(journal: Journal, move: Move) -> Diagnostic:
    message = f"An installation was broken off, and its files are gone ({journal.what})"
    return Diagnostic("install-lost", "warning", message, move.target, 0, "Run: weft skills verify")


def _unfinished(journal: Journal, error: ClawftError | OSError) -> Diagnostic:
    why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    message = f"An installation was broken off and cannot be finished ({journal.what}): {why}"
    path = getattr(error, "filename", "") or ""
    hint = "Mend that; the next command goes on with it"
    return Diagnostic("install-unfinished", "warning", message, str(path), 0, hint)
