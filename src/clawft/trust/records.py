"""Decisions of the user, in one small sealed file that only the user may read: all of it is replaced at once."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import lock_file, read_regular, replace_file
from clawft.trust.seal import Seal

__all__ = ["Codes", "Records"]

MAX_BYTES = 8 << 20
LOCK_S = 10.0
_AGAIN = "Look at what it holds, remove the file, and decide again"

T = TypeVar("T", bound=Struct)


class Codes(Struct, frozen=True):
    """How errors about the records are called: a file that makes no sense, is open to others, in use, or not ours."""

    damaged: str
    unsafe: str
    busy: str
    tampered: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    """The records as they are encoded, and the seal on just these bytes."""

    seal: str
    records: msgspec.Raw


class Records(Generic[T]):
    """The records of one kind, read when they are asked for; `noun` names them in errors."""

    def __init__(self, path: str, kind: type[T], noun: str, codes: Codes, seal: Seal) -> None:
        self.path = path
        self.kind = kind
        self.noun = noun
        self.codes = codes
        self._seal = seal

    def load(self) -> tuple[T, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is decided by accident."""
        try:
            data, status = read_regular(self.path, MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        if status.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(status.st_mode) & 0o022:
            message = f"Others may write the {self.noun}, so they count for nothing"
            raise ClawftError(self.codes.unsafe, message, path=self.path, hint=f"Run: chmod 600 {self.path}")
        try:
            file = msgspec.json.decode(data, type=_File)
            records = msgspec.json.decode(file.records, type=tuple[self.kind, ...])  # type: ignore[name-defined]
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"The {self.noun} cannot be read: {error}"
            raise ClawftError(self.codes.damaged, message, path=self.path, hint=_AGAIN) from error
        if not self._seal.holds(bytes(file.records), self.noun, file.seal):
            message = f"The {self.noun} were changed by something else than weft, so they count for nothing"
            raise ClawftError(self.codes.tampered, message, path=self.path, hint=_AGAIN)
        return records

    def change(self, change: Callable[[tuple[T, ...]], Sequence[T]]) -> None:
        """Put what `change` makes of the records in their place. Raises: ClawftError."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with self._locked():
            new = tuple(change(self.load()))
            try:
                encoded = msgspec.json.encode(new)
            except UnicodeEncodeError as error:
                message = f"The {self.noun} cannot be written: the name of a folder is no text"
                raise ClawftError(self.codes.damaged, message, path=self.path, hint="Rename the folder") from error
            replace_file(
                self.path, msgspec.json.encode(_File(self._seal.sign(encoded, self.noun), msgspec.Raw(encoded)))
            )

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
