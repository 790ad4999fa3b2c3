"""One program to be run confined, all decided: what both sandboxes take."""

from collections.abc import Mapping

from msgspec import Struct

from clawft.sandbox.confinement import Limits
from clawft.sandbox.proxy import Gate
from clawft.sandbox.view import View

__all__ = ["Job", "signal_code"]

_SIGNALS = 31


class Job(Struct, frozen=True):
    """`gate` stands before the hosts that it may reach; None where there is no network for it. `quiet_s` is how long a
    connection to one is kept on which nothing moves."""

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    view: View
    limits: Limits
    gate: Gate | None = None
    quiet_s: float = 300.0


def signal_code(code: int) -> int:
    """The code of a program as its parent would see it: what was ended by a signal comes out as 128 and more."""
    return 128 - code if 128 < code <= 128 + _SIGNALS else code
