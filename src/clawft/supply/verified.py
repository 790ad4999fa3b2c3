"""What a look at installed skills tells: one value for each folder and lock."""

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.locks.compare import SAME, Difference

if TYPE_CHECKING:  # which takes long to import
    from clawft.signing.check import Signature

__all__ = ["SIGNATURE", "Checked", "State", "Verified", "compare_signature"]

State = Literal["same", "changed", "missing", "untrusted", "unknown"]
SIGNATURE = ".clawft-signature"  # as in signing/


class Checked(Struct, frozen=True, omit_defaults=True):
    """One folder of one skill, against one lock.

    `untrusted`: it is what was installed, and who signed it counts no more. `unknown`: the lock does not tell.
    """

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


def compare_signature(found: "Signature", *, known: bool) -> Difference:
    """What differs where a signature counts no more; nothing if only its key does not. `known`: to the lock."""
    if found.state == "unsigned":
        return Difference(missing=(SIGNATURE,))
    if found.state == "bad":
        return Difference(changed=(SIGNATURE,)) if known else Difference(extra=(SIGNATURE,))
    return SAME
