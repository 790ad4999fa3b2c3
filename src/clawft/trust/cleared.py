"""A skill that may be used as it is now: its text, the digest it was read with, and what it was granted."""

from msgspec import Struct

from clawft.format.model import Skill
from clawft.scan.findings import Power

__all__ = ["Cleared"]


class Cleared(Struct, frozen=True):
    """`granted` is the power that the user saw when they approved a stranger's skill; None for one of their own."""

    skill: Skill
    digest: str
    stranger: bool = False
    granted: Power | None = None
