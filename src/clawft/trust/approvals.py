"""What the user approved, by digest: a changed file asks again. One small file that only the user may read."""

import os
import tempfile
from contextlib import suppress

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_regular

__all__ = ["Approval", "Approvals"]

MAX_BYTES = 8 << 20


class Approval(Struct, frozen=True):
    """One decision: this content, at this place, may be used as what it is."""

    kind: str
    path: str
    digest: str
    at: str


class Approvals:
    """The approvals of one user, read when they are asked for."""

    def __init__(self, path: str) -> None:
        self.path = path

    def load(self) -> tuple[Approval, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is approved by accident."""
        try:
            data, _ = read_regular(self.path, MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        try:
            return msgspec.json.decode(data, type=tuple[Approval, ...])
        except msgspec.DecodeError as error:
            raise ClawftError(
                "approvals-damaged", f"The approvals cannot be read: {error}", path=self.path, hint="Remove the file"
            ) from error

    def has(self, kind: str, path: str, digest: str) -> bool:
        return any((one.kind, one.path, one.digest) == (kind, path, digest) for one in self.load())

    def add(self, *approvals: Approval) -> None:
        """Approve; the newest decision about a place takes the place of older ones."""
        new = {(one.kind, one.path): one for one in (*self.load(), *approvals)}
        folder = os.path.dirname(self.path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".approvals-")
        try:
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(tuple(new.values())), indent=1))
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
