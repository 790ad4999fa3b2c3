"""What the user approved, by digest: a changed file asks again. One small file that only the user may read."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import lock_file, read_optional, replace_file

__all__ = ["Approval", "Approvals"]

MAX_BYTES = 8 << 20
LOCK_S = 10.0


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
        data = read_optional(self.path, MAX_BYTES)
        if data is None:
            return ()
        try:
            return msgspec.json.decode(data, type=tuple[Approval, ...])
        except msgspec.DecodeError as error:
            raise ClawftError(
                "approvals-damaged", f"The approvals cannot be read: {error}", path=self.path, hint="Remove the file"
            ) from error

    def has(self, kind: str, path: str, content: bytes) -> bool:
        """Whether this content was approved, at this place."""
        meant = (kind, path, _hash(content))
        return any((one.kind, one.path, one.digest) == meant for one in self.load())

    def add(self, kind: str, contents: Mapping[str, bytes]) -> None:
        """Approve files by path; the newest decision about a place takes the place of older ones."""
        if not contents:
            return
        at = datetime.now().astimezone().isoformat(timespec="seconds")
        made = [Approval(kind, path, _hash(content), at) for path, content in contents.items()]
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with self._locked():
            new = {(one.kind, one.path): one for one in (*self.load(), *made)}
            replace_file(self.path, msgspec.json.format(msgspec.json.encode(tuple(new.values())), indent=1))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time: two who approve at once both succeed."""
        descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not lock_file(descriptor, LOCK_S):
                raise ClawftError("approvals-busy", "Another program is changing the approvals", path=self.path)
            yield
        finally:
            os.close(descriptor)


def _hash(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()
