"""What a transaction is about to do, sealed and on disk before it does it: whoever is killed is finished by the next.

One folder of the user's serves both scopes: a project's files are a stranger's, and must not be able to start a move.
While a process lives it holds the lock of its transaction; all who change anything take turns by one more.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Refused
from clawft.files import lock_file, read_regular, replace_file
from clawft.trust.approvals import Approval
from clawft.trust.overrides import Override
from clawft.trust.seal import Seal

__all__ = ["MAX_BYTES", "Journal", "Journals", "Move", "Note", "Text"]

MAX_BYTES = 64 << 20
LOCK_S = 60.0  # installing several hundred skills is done sooner
_TURN, _SUFFIX, _ALIVE = "turn.lock", ".json", ".lock"
_LABEL = "installing"


class Move(Struct, frozen=True):
    """One folder that takes its place, or leaves it. Folders are known by device and inode, not by name."""

    target: str
    hidden: str  # beside it: where the new one is, and then the old one
    new: tuple[int, int] | None = None  # None: it is removed
    old: tuple[int, int] | None = None  # None: nothing is there
    digest: str = ""  # of the new one


class Text(Struct, frozen=True):
    """A file with its new content; None: it goes."""

    path: str
    content: str | None
    mode: int = 0o644


class Note(Struct, frozen=True):
    """What the audit log is told when it is done."""

    subject: str
    name: str
    digest: str = ""
    facts: dict[str, str] = {}


class Journal(Struct, frozen=True):
    """All of one transaction. Before it is `ready` it only tells where hidden folders may have been left."""

    id: str
    what: str = ""
    roots: tuple[str, ...] = ()
    ready: bool = False
    moves: tuple[Move, ...] = ()
    texts: tuple[Text, ...] = ()
    approvals: tuple[Approval, ...] = ()
    revoked: tuple[str, ...] = ()  # folders whose approvals and exceptions go
    overrides: tuple[Override, ...] = ()
    notes: tuple[Note, ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    seal: str
    journal: msgspec.Raw


class Journals:
    """The transactions of one user that are not over."""

    def __init__(self, folder: str, seal: Seal) -> None:
        self.folder = folder
        self._seal = seal

    def has_any(self) -> bool:
        """Whether a transaction is under way or was broken off: one look, for commands that only read."""
        try:
            return any(name != _TURN for name in os.listdir(self.folder))
        except (FileNotFoundError, NotADirectoryError):
            return False

    @contextmanager
    def begin(self, what: str, roots: tuple[str, ...]) -> Iterator[Journal]:
        """A new transaction, which nobody takes for broken off until this is left. Raises: ClawftError, OSError."""
        journal = Journal(os.urandom(8).hex(), what, roots)
        with self.turn():  # whoever looks for the broken ones sees none that is not locked yet
            path = self._path(journal.id, _ALIVE)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            lock_file(descriptor)
        try:
            self.write(journal)
            yield journal
        finally:
            os.close(descriptor)

    def write(self, journal: Journal) -> None:
        """Put it on disk. What is `ready` then will be done. Raises: ClawftError, OSError."""
        encoded = msgspec.json.encode(journal)
        content = msgspec.json.encode(_File(self._seal.sign(encoded, _LABEL), msgspec.Raw(encoded)))
        path = self._path(journal.id, _SUFFIX)
        if journal.ready:
            replace_file(path, content)
        else:  # no power is lost with it: it only helps to clean up
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(content)

    def end(self, journal: Journal) -> None:
        """It is over. Raises: OSError."""
        for ending in (_SUFFIX, _ALIVE):
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

    def list_broken(self) -> list[Journal]:
        """The transactions whose processes are gone, for who has the turn.

        Raises: ClawftError for one that is not ours, OSError.
        """
        try:
            names = [name for name in os.listdir(self.folder) if name != _TURN]
        except (FileNotFoundError, NotADirectoryError):
            return []
        for name in names:
            if name.startswith("."):  # half a journal: only who has the turn writes one, and that is us
                os.unlink(os.path.join(self.folder, name))
        ids = {name.rpartition(".")[0] for name in names if name.endswith((_SUFFIX, _ALIVE)) and name[0] != "."}
        return [journal for one in sorted(ids) if not self._lives(one) and (journal := self._load(one))]

    def _lives(self, transaction: str) -> bool:
        try:
            descriptor = os.open(self._path(transaction, _ALIVE), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not lock_file(descriptor)
        finally:
            os.close(descriptor)

    def _load(self, transaction: str) -> Journal | None:
        path = self._path(transaction, _SUFFIX)
        try:
            data = read_regular(path, MAX_BYTES)[0]
        except FileNotFoundError:  # it was killed before it began, or just ended
            self.end(Journal(transaction))
            return None
        try:
            file = msgspec.json.decode(data, type=_File)
            journal = msgspec.json.decode(file.journal, type=Journal)
        except (msgspec.DecodeError, RecursionError):
            self.end(Journal(transaction))  # cut off: what is ready is written whole
            return None
        if not self._seal.holds(bytes(file.journal), _LABEL, file.seal) or journal.id != transaction:
            message = "A note of an installation was written by something else than weft, so it is not followed"
            raise Refused("install-tampered", message, path=path, hint="Look at it, and remove the file")
        return structs.replace(journal, id=transaction)

    def _path(self, transaction: str, ending: str) -> str:
        return os.path.join(self.folder, f"{transaction}{ending}")
