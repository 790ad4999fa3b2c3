"""The journal of a transaction: its steps, sealed and on disk before any is done, so that the next command finishes an
interrupted one.

One folder of the user's serves both scopes: a project's files are untrusted, and must not be able to start a move. A
living process holds the lock of its transaction; a second lock lets only one process change files at a time. The name
of a journal tells its direction: ID.json is carried out, ID.undo is rolled back. Changing the direction needs no disk
space.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Refused
from clawft.files import check_json_version, lock_file, read_regular, replace_file, sync_folder
from clawft.install.lockfile.file import parse_lock
from clawft.install.lockfile.model import LOCK_NAME, LockedSkill
from clawft.trust.approvals import Approval
from clawft.trust.overrides import Override
from clawft.trust.records import Seal

MAX_BYTES = 64 << 20
TEXT = ("utf-8", "surrogateescape")  # how files of others are decoded, and encoded again
LOCK_S = 60.0  # installing several hundred skills is done sooner
VERSION = 2  # 1 had the whole text of a lock in `texts`, and could not be taken back
_TURN, _SUFFIX, _UNDO, _ALIVE = "turn.lock", ".json", ".undo", ".lock"
_LABEL = "installing"


class FolderMove(Struct, frozen=True):
    """One folder that takes its place, or leaves it. Folders are known by device and inode, not by name."""

    target: str
    hidden: str  # beside it: where the new one is, and then the old one
    new: tuple[int, int] | None = None  # None: it is removed
    old: tuple[int, int] | None = None  # None: nothing is there
    digest: str = ""  # of the new one


class LockEdit(Struct, frozen=True):
    """The entries of our lock that change, by name, before and after; None: there is none."""

    path: str
    before: dict[str, LockedSkill | None] = {}
    after: dict[str, LockedSkill | None] = {}
    existed: bool = True


class FileEdit(Struct, frozen=True):
    """A file of another installer with its content before and after; None: there is none."""

    path: str
    content: str | None
    mode: int = 0o644
    before: str | None = None


class RecordedDecisions(Struct, frozen=True):
    """All approvals and exceptions there are for some folders."""

    approvals: tuple[Approval, ...] = ()
    overrides: tuple[Override, ...] = ()


class TransactionNote(Struct, frozen=True):
    """An audit log entry to write when the transaction is done."""

    subject: str
    name: str
    digest: str = ""
    facts: dict[str, str] = {}


class TransactionJournal(Struct, frozen=True):
    """All of one transaction. Before it is `ready` it only tells where hidden folders may have been left."""

    id: str
    what: str = ""
    roots: tuple[str, ...] = ()
    ready: bool = False
    moves: tuple[FolderMove, ...] = ()
    lock: LockEdit | None = None
    texts: tuple[FileEdit, ...] = ()
    places: tuple[str, ...] = ()  # the folders whose decisions change
    before: RecordedDecisions = RecordedDecisions()
    after: RecordedDecisions = RecordedDecisions()
    notes: tuple[TransactionNote, ...] = ()
    version: int = VERSION
    undo: bool = False  # it failed, and is to be taken back; said by the name of its file


class _Older(Struct, frozen=True):
    """A journal of version 1."""

    id: str
    what: str = ""
    roots: tuple[str, ...] = ()
    ready: bool = False
    moves: tuple[FolderMove, ...] = ()
    texts: tuple[FileEdit, ...] = ()
    approvals: tuple[Approval, ...] = ()
    revoked: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    notes: tuple[TransactionNote, ...] = ()
    version: int = 1


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    seal: str
    journal: msgspec.Raw


class TransactionJournals:
    """The transactions of one user that are not over."""

    def __init__(self, folder: str, seal: Seal) -> None:
        self.folder = folder
        self._seal = seal

    def has_any(self) -> bool:
        """Return whether a transaction is under way or was broken off: one look, for who only reads. Raises:
        OSError."""
        try:
            return any(name != _TURN for name in os.listdir(self.folder))
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            if os.path.lexists(self.folder):
                raise
            return False  # what is above it is no folder

    @contextmanager
    def begin(self, what: str, roots: tuple[str, ...]) -> Iterator[TransactionJournal]:
        """A new transaction, which nobody takes for broken off until this is left. Raises: ClawftError, OSError."""
        journal = TransactionJournal(os.urandom(8).hex(), what, roots)
        with self.turn():  # a search for interrupted transactions sees none that is not locked yet
            path = self._path(journal.id, _ALIVE)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            lock_file(descriptor)
        try:
            self.write(journal)
            yield journal
        finally:
            os.close(descriptor)

    def write(self, journal: TransactionJournal) -> None:
        """Put it on disk. What is `ready` then will be done. Raises: ClawftError, OSError."""
        encoded = msgspec.json.encode(journal)
        content = msgspec.json.encode(_File(self._seal.sign(encoded, _LABEL), msgspec.Raw(encoded)))
        path = self._path(journal.id, _SUFFIX)
        if journal.ready:
            replace_file(path, content)
        else:  # no power is lost with it: it only helps to clean up
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(content)

    def mark_undone(self, journal: TransactionJournal) -> None:
        """Mark a transaction as to be rolled back, by this process or the next one that finds it. Raises: OSError."""
        with suppress(FileNotFoundError):  # it was turned before
            os.rename(self._path(journal.id, _SUFFIX), self._path(journal.id, _UNDO))
            sync_folder(self.folder)

    def shrink(self, journal: TransactionJournal) -> None:
        """It is over, but hidden folders are left: let it only tell where. Raises: ClawftError, OSError."""
        self.write(TransactionJournal(journal.id, journal.what, journal.roots))
        with suppress(FileNotFoundError):
            os.unlink(self._path(journal.id, _UNDO))

    def end(self, journal: TransactionJournal) -> None:
        """It is over. Raises: OSError."""
        for ending in (_SUFFIX, _UNDO, _ALIVE):
            with suppress(FileNotFoundError):
                os.unlink(self._path(journal.id, ending))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One at a time moves folders and writes locks. Raises: ClawftError, OSError."""
        for folder in (os.path.dirname(self.folder), self.folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(self.folder, _TURN), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not lock_file(descriptor, LOCK_S):
                message = "Another process is installing or removing skills"
                raise ClawftError("install-busy", message, path=self.folder, hint="Try again when it is done")
            yield
        finally:
            os.close(descriptor)

    def list_interrupted(self) -> list[TransactionJournal]:
        """The transactions whose processes are gone, the oldest first, for who has the turn.

        Raises: ClawftError for one that is not ours or of a newer version, OSError.
        """
        try:
            names = [name for name in os.listdir(self.folder) if name != _TURN]
        except (FileNotFoundError, NotADirectoryError):
            return []
        for name in names:
            if name.startswith("."):  # half a journal: only who has the turn writes one, and that is us
                os.unlink(os.path.join(self.folder, name))
        endings = (_SUFFIX, _UNDO, _ALIVE)
        ids = {name.rpartition(".")[0] for name in names if name.endswith(endings) and name[0] != "."}
        found = [loaded for id_ in ids if not self._lives(id_) and (loaded := self._load(id_))]
        return [journal for _, journal in sorted(found, key=lambda one: (one[0], one[1].id))]

    def _lives(self, transaction: str) -> bool:
        try:
            descriptor = os.open(self._path(transaction, _ALIVE), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not lock_file(descriptor)
        finally:
            os.close(descriptor)

    def _load(self, transaction: str) -> tuple[int, TransactionJournal] | None:
        """Load a journal, and when it was written; None where it does not exist."""
        for ending in (_UNDO, _SUFFIX):
            path = self._path(transaction, ending)
            try:
                data, status = read_regular(path, MAX_BYTES)
                break
            except FileNotFoundError:
                continue
        else:  # it was killed before it began, or just ended
            self.end(TransactionJournal(transaction))
            return None
        try:
            file = msgspec.json.decode(data, type=_File)
        except (msgspec.DecodeError, RecursionError):
            self.end(TransactionJournal(transaction))  # cut off: what is ready is written whole
            return None
        journal = None
        if self._seal.holds(bytes(file.journal), _LABEL, file.seal):
            check_json_version(file.journal, VERSION, path)
            older = msgspec.json.decode(file.journal, type=_Older)
            journal = (
                _migrate(older) if older.version == 1 else msgspec.json.decode(file.journal, type=TransactionJournal)
            )
        if journal is None or journal.id != transaction:
            message = "A note of an installation was written by something else than weft, so it is not followed"
            raise Refused("install-tampered", message, path=path, hint="Look at it, and remove the file")
        return status.st_mtime_ns, structs.replace(journal, undo=ending == _UNDO)

    def _path(self, transaction: str, ending: str) -> str:
        return os.path.join(self.folder, f"{transaction}{ending}")


def _migrate(older: _Older) -> TransactionJournal:
    """A journal of version 1 as one of today: of the lock that it has as a text, the skills that it is about."""
    lock, texts = None, []
    for text in older.texts:
        if os.path.basename(text.path) == LOCK_NAME and text.content is not None:
            entries = parse_lock(text.content.encode(), text.path)
            lock = LockEdit(text.path, after={note.name: entries.get(note.name) for note in older.notes})
        else:
            texts.append(structs.replace(text, before=text.content))  # what it was is not known: it is left alone
    return TransactionJournal(
        older.id,
        older.what,
        older.roots,
        older.ready,
        older.moves,
        lock,
        tuple(texts),
        list_places(older.approvals, older.overrides, older.revoked),
        after=RecordedDecisions(older.approvals, older.overrides),
        notes=older.notes,
    )


def list_places(
    approvals: Iterable[Approval], overrides: Iterable[Override], folders: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the folders that decisions are about, with others."""
    paths = (*folders, *(approval.path for approval in approvals), *(override.path for override in overrides))
    return tuple(dict.fromkeys(paths))
