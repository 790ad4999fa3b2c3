"""Decisions of the user, in one small sealed file that only the user may read: all of it is replaced at once."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import check_json_version, lock_file, read_regular, replace_file, why_damaged
from clawft.trust.seal import Seal

__all__ = ["Codes", "Records"]

MAX_BYTES = 8 << 20
LOCK_S = 10.0
VERSION = 1  # of both files: it is not written as long as it is 1, so that every weft reads them
_ATTEMPTS = 5
_AGAIN = "Look at what it holds, then move it away, and decide again"

T = TypeVar("T", bound=Struct)


class Codes(Struct, frozen=True):
    """How errors about the records are called: a file that makes no sense, is open to others, in use, or not ours."""

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
    """Which records are the newest, by their hash: two while they are being replaced. An older file does not count."""

    seal: str
    newest: tuple[str, ...]
    version: int = 1


class Records(Generic[T]):
    """The records of one kind, read when they are asked for; `noun` names them in errors."""

    def __init__(self, path: str, kind: type[T], noun: str, codes: Codes, seal: Seal) -> None:
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
        """The hashes of what may stand in the file now, and why that cannot be told. Where it is not told, nothing may:
        it is told before a file is written, so whoever removed it may have put back an older one."""
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
        newest = tuple(one for one in hashes if one)
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
    """What a seal is for: the version too, so that nobody makes a file count as one of another version."""
    return noun if version == 1 else f"{noun} {version}"


def _join(hashes: Sequence[str]) -> bytes:
    return "\n".join(hashes).encode()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
