"""Decisions of the user, kept in one small file that only the user may read: all of it is replaced at once."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import lock_file, read_regular, replace_file

__all__ = ["Codes", "Records"]

MAX_BYTES = 8 << 20
LOCK_S = 10.0

T = TypeVar("T", bound=Struct)


class Codes(Struct, frozen=True):
    """How errors about the records are called: for a file that makes no sense, is open to others, or is in use."""

    damaged: str
    unsafe: str
    busy: str


class Records(Generic[T]):
    """The records of one kind, read when they are asked for; `noun` names them in errors."""

    def __init__(self, path: str, kind: type[T], noun: str, codes: Codes) -> None:
        self.path = path
        self.kind = kind
        self.noun = noun
        self.codes = codes

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
            return msgspec.json.decode(data, type=tuple[self.kind, ...])  # type: ignore[name-defined]
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"The {self.noun} cannot be read: {error}"
            raise ClawftError(self.codes.damaged, message, path=self.path, hint="Remove the file") from error

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
            replace_file(self.path, msgspec.json.format(encoded, indent=1))

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
