"""A skill that may be used as it is now: its text, the digest it was read with, and what it was granted."""

from msgspec import Struct

from clawft.format.model import Skill
from clawft.scan.findings import Power

__all__ = ["AtWork", "Cleared"]


class AtWork(Struct, frozen=True, forbid_unknown_fields=True):
    """A skill whose text a model follows, as far as it bears on what may be done: its patterns of tools as they are
    written, the folder that they speak of, and the hosts that a stranger's was approved with.

    It is a value without the skill: it limits a fork in another process as it does here.
    """

    name: str
    digest: str
    folder: str  # '' for a command, which has no files of its own
    allowed_tools: tuple[str, ...]
    disallowed_tools: tuple[str, ...]
    stranger: bool
    hosts: tuple[str, ...]


class Cleared(Struct, frozen=True):
    """`granted` is the power that the user saw when they approved a stranger's skill; None for one of their own."""

    skill: Skill
    digest: str
    stranger: bool = False
    granted: Power | None = None

    def at_work(self, folder: str) -> AtWork:
        """What of it bears on calls while its text is followed."""
        skill, hosts = self.skill, self.granted.network if self.granted else ()
        return AtWork(
            skill.name, self.digest, folder, skill.allowed_tools, skill.disallowed_tools, self.stranger, hosts
        )
