"""Sealed records: small files of the user's decisions with a message authentication code under a secret key."""

import hashlib
import hmac
import os
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, Refused
from clawft.files import check_json_version, create_file, get_hint, lock_file, read_regular, replace_file, why_damaged

KEY_NAME = "trust.key"
KEY_BYTES = 32
_MAX_BYTES = 1 << 20  # what is longer than a key is damaged, and said to be
_EXPOSED = 0o077  # any right of the group or of others


class Seal:
    """Signs with the key of a file, which is made when something is first signed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._key = b""

    def __repr__(self) -> str:
        return f"Seal({self.path!r})"

    def sign(self, content: bytes, label: str) -> str:
        """The seal of a content; `label` says what it is for, so that no seal fits elsewhere. Raises: ClawftError."""
        return _compute(self._load() or self._make(), content, label)

    def holds(self, content: bytes, label: str, mac: str) -> bool:
        """Return whether this is the seal of the content; never without a key. Raises: ClawftError, as `sign` does."""
        key = self._load()
        return bool(key) and hmac.compare_digest(_compute(key, content, label).encode(), mac.encode())

    @property
    def is_missing(self) -> bool:
        """Return whether there is no key, so that no seal can hold. Raises: ClawftError, as `sign` does."""
        return not self._load()

    def _load(self) -> bytes:
        """The key; nothing where there is none yet. It is read once."""
        if self._key:
            return self._key
        try:
            key, status = read_regular(self.path, _MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        if stat.S_IMODE(status.st_mode) & _EXPOSED or status.st_uid not in (os.geteuid(), 0):
            message = "Others may read or change the key that seals your approvals and the audit log"
            hint = f"If nobody did: chmod 600 {shlex.quote(self.path)}; else remove it, and approve again"
            raise Refused("seal-exposed", message, path=self.path, hint=hint)
        if len(key) != KEY_BYTES:
            message = f"The key that seals your approvals and the audit log has {len(key)} bytes, not {KEY_BYTES}"
            lost = "what you approved, allowed and granted is lost, and the audit log begins anew"
            hint = f"Restore it from a backup; or move it away: then {lost}"
            raise Refused("seal-damaged", message, path=self.path, hint=hint)
        self._key = key
        return key

    def _make(self) -> bytes:
        """A new key; or the one that another process made meanwhile."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            create_file(self.path, os.urandom(KEY_BYTES))
        except OSError as error:
            message = f"No key to seal approvals with can be written: {error.strerror}"
            hint = get_hint(error, self.path)
            raise ClawftError("seal-unwritable", message, path=self.path, hint=hint) from error
        key = self._load()
        if not key:  # removed at once: nothing is signed with no key at all
            raise ClawftError("seal-unwritable", "The key to seal approvals with does not stay", path=self.path)
        return key


def _compute(key: bytes, content: bytes, label: str) -> str:
    return hmac.digest(key, label.encode() + b"\0" + content, "sha256").hex()


MAX_BYTES = 8 << 20
LOCK_S = 10.0
VERSION = 1  # of both files: it is not written as long as it is 1, so that every weft reads them
_ATTEMPTS = 5
_AGAIN = "Look at what it holds, then move it away, and decide again"

T = TypeVar("T", bound=Struct)


class RecordErrorCodes(Struct, frozen=True):
    """The error codes of a kind of records: for a file that is damaged, open to others, in use, or not sealed by
    weft."""

    damaged: str
    unsafe: str
    busy: str
    tampered: str


class _File(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The records as they are encoded, and the seal on just these bytes."""

    seal: str
    records: msgspec.Raw
    version: int = 1


class _Head(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The hashes of the newest records: two while they are being replaced. An older file does not count."""

    seal: str
    newest: tuple[str, ...]
    version: int = 1


class SealedRecords(Generic[T]):
    """The records of one kind, read when they are asked for; `noun` names them in errors."""

    def __init__(self, path: str, kind: type[T], noun: str, codes: RecordErrorCodes, seal: Seal) -> None:
        self.path = path
        self.kind = kind
        self.noun = noun
        self.codes = codes
        self._head_path = f"{os.path.splitext(path)[0]}.head"
        self._seal = seal

    def load(self) -> tuple[T, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is decided by accident."""
        return self._load()[0]

    def _load(self) -> tuple[tuple[T, ...], str]:
        """The records, and the hash of what they were read from; '' for no file."""
        for _ in range(_ATTEMPTS):
            newest, why = self._load_newest()
            records, found = self._load_file()
            if not found or found in newest:
                return records, found
            # They may just have been replaced.
        if why:
            head = os.path.basename(self._head_path)
            message = f"{head} {why}, so nobody can tell whether the {self.noun} are the newest: they count for nothing"
            raise self._damaged(message, head)
        message = f"The {self.noun} are an older copy, put back by something else than weft, so they count for nothing"
        raise ClawftError(self.codes.tampered, message, path=self.path, hint=_AGAIN)

    def _load_newest(self) -> tuple[tuple[str, ...], str]:
        """Load the hashes of what the file may hold now, and why they are not known. Without them no content is
        accepted: they are written before the file, so if they are missing, an older file may have been put back."""
        data = b""
        try:
            data = read_regular(self._head_path, MAX_BYTES)[0]
            check_json_version(data, VERSION, self._head_path)
            head = msgspec.json.decode(data, type=_Head)
        except (FileNotFoundError, NotADirectoryError):
            return (), "is missing"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return (), f"is damaged ({why_damaged(data, error)})"
        label = _label(f"{self.noun} newest", head.version)
        return (head.newest if self._seal.holds(_join(head.newest), label, head.seal) else ()), ""

    def _note_newest(self, *hashes: str) -> None:
        newest = tuple(hash_ for hash_ in hashes if hash_)
        head = _Head(self._seal.sign(_join(newest), f"{self.noun} newest"), newest)
        replace_file(self._head_path, msgspec.json.encode(head))

    def _load_file(self) -> tuple[tuple[T, ...], str]:
        try:
            data, status = read_regular(self.path, MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return (), ""
        if status.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(status.st_mode) & 0o022:
            message = f"Others may write the {self.noun}, so they count for nothing"
            raise ClawftError(self.codes.unsafe, message, path=self.path, hint=f"Run: chmod 600 {self.path}")
        check_json_version(data, VERSION, self.path)
        try:
            file = msgspec.json.decode(data, type=_File)
            records = msgspec.json.decode(file.records, type=tuple[self.kind, ...])  # type: ignore[name-defined]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            name = os.path.basename(self.path)
            message = f"{name} is damaged ({why_damaged(data, error)}): the {self.noun} in it are lost"
            raise self._damaged(message, name) from error
        if self._seal.is_missing:
            key = os.path.basename(self._seal.path)
            message = f"{key}, the key that seals the {self.noun}, is missing, so they count for nothing"
            raise self._damaged(message, key)
        if not self._seal.holds(bytes(file.records), _label(self.noun, file.version), file.seal):
            message = f"The {self.noun} were changed by something else than weft, so they count for nothing"
            raise ClawftError(self.codes.tampered, message, path=self.path, hint=_AGAIN)
        return records, _hash(bytes(file.records))

    def _damaged(self, message: str, restore: str) -> ClawftError:
        hint = f"Restore {restore} from a backup; or move {os.path.basename(self.path)} away, and decide again"
        return ClawftError(self.codes.damaged, message, path=self.path, hint=hint)

    def change(
        self, change: Callable[[tuple[T, ...]], Sequence[T]], commit: Callable[[], object] | None = None
    ) -> None:
        """Put what `change` makes of the records in their place. `commit` is called, under their lock, when they are on
        the disk and need only take their place; they do not if it raises. Raises: ClawftError, OSError.
        """
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with self._locked():
            known, before = self._load()
            new = tuple(change(known))
            if new == known and before:
                if commit is not None:
                    commit()
                return
            try:
                encoded = msgspec.json.encode(new)
            except UnicodeEncodeError as error:
                message = f"The {self.noun} cannot be written: the name of a folder is no text"
                raise ClawftError(self.codes.damaged, message, path=self.path, hint="Rename the folder") from error
            after = _hash(encoded)
            self._note_newest(after, before)  # who is stopped in between leaves either of them
            content = msgspec.json.encode(_File(self._seal.sign(encoded, self.noun), msgspec.Raw(encoded)))
            replace_file(self.path, content, commit=commit)
            with suppress(OSError):  # they are in place, and the next change notes it
                self._note_newest(after)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time: two who decide at once both succeed."""
        descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not lock_file(descriptor, LOCK_S):
                raise ClawftError(self.codes.busy, f"Another program is changing the {self.noun}", path=self.path)
            yield
        finally:
            os.close(descriptor)


def _label(noun: str, version: int) -> str:
    """Return the purpose of a seal, with the version, so that a file cannot pass as one of another version."""
    return noun if version == 1 else f"{noun} {version}"


def _join(hashes: Sequence[str]) -> bytes:
    return "\n".join(hashes).encode()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
