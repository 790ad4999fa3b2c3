"""What the user approved, by digest: a changed file asks again. One small file that only the user may read."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from clawft.trust.records import Codes, Records

__all__ = ["Approval", "Approvals"]


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
        codes = Codes("approvals-damaged", "approvals-unsafe", "approvals-busy")
        self._records = Records(path, Approval, "approvals", codes)

    def load(self) -> tuple[Approval, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is approved by accident."""
        return self._records.load()

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
        self._records.change(lambda known: tuple({(one.kind, one.path): one for one in (*known, *made)}.values()))


def _hash(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()
