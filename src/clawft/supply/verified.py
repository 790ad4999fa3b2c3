"""What a look at installed skills tells: one value for each folder and lock."""

from typing import Literal

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.locks.compare import SAME, Difference

__all__ = ["Checked", "State", "Verified"]

State = Literal["same", "changed", "missing", "unknown"]


class Checked(Struct, frozen=True, omit_defaults=True):
    """One folder of one skill, against one lock. `unknown`: the lock does not tell what it was."""

    name: str
    scope: str
    client: str
    folder: str
    lock: str
    state: State
    version: str = ""
    difference: Difference = SAME
    why: str = ""
    signature: str = ""  # what it is worth now, where the lock says that there is one
    ours: bool = False  # the lock is our own


class Verified(Struct, frozen=True):
    """All that was looked at, and what there is to say of locks that could not be read."""

    locks: tuple[str, ...] = ()
    checked: tuple[Checked, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def join(self, other: "Verified") -> "Verified":
        said = (*self.diagnostics, *other.diagnostics)
        return Verified((*self.locks, *other.locks), (*self.checked, *other.checked), said)

    @property
    def ok(self) -> bool:
        """Whether nothing differs from a lock, and every lock could be read."""
        return not self.diagnostics and all(one.state in ("same", "unknown") for one in self.checked)
