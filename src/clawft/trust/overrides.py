"""What the user allows though the scanner objects: one rule, for one content of one skill, for a while, and why.

Nothing inside a skill can make an exception for it (R125): this file of the user's is the only place.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime

from msgspec import Struct

from clawft.scan.findings import Power
from clawft.scan.screening import Objection
from clawft.trust.records import Codes, Records
from clawft.trust.seal import Seal

__all__ = ["NEVER", "Override", "Overrides"]

NEVER = "never"


class Override(Struct, frozen=True):
    """One exception. It holds while the content, and what the rule finds in it, is what the user saw."""

    rule: str
    name: str
    path: str  # the folder of the skill
    digest: str
    mark: str  # of what the rule found, which may lie where the digest does not look
    because: str
    by: str
    at: str
    expires: str  # a time with its zone, or "never"
    power: Power = Power()  # what the skill could do then, to tell what changed since

    def why_void(self, objection: Objection, digest: str, now: datetime) -> str:
        """Why it does not hold for this objection; nothing if it does."""
        if not digest or digest != self.digest:
            return "the skill changed since"
        if objection.mark != self.mark:
            return "the rule finds something else now"
        try:
            over = self.expires != NEVER and datetime.fromisoformat(self.expires) <= now
        except (ValueError, TypeError):  # no time, or one without its zone
            return "when it ends cannot be told"
        return f"it ended on {self.expires[:10]}" if over else ""


class Overrides:
    """The exceptions of one user, read when they are asked for."""

    def __init__(self, path: str, seal: Seal) -> None:
        self.path = path
        codes = Codes("overrides-damaged", "overrides-unsafe", "overrides-busy", "overrides-tampered")
        self._records = Records(path, Override, "overrides", codes, seal)

    def load(self) -> tuple[Override, ...]:
        """All of them, the ended ones too. Raises: ClawftError for a file that cannot be understood."""
        return self._records.load()

    def add(self, made: Iterable[Override], commit: Callable[[], object] | None = None) -> None:
        """Record exceptions; the newest for a rule and a skill takes the place of older ones.

        `commit` as for `Records.change`. Raises: ClawftError.
        """
        new = tuple(made)
        self._records.change(
            lambda known: tuple({(one.path, one.rule): one for one in (*known, *new)}.values()), commit
        )

    def replace(self, folders: Collection[str], made: Iterable[Override]) -> None:
        """Let these be all exceptions for skills in some folders. Raises: ClawftError."""
        new = tuple(made)
        self._records.change(lambda known: (*(one for one in known if one.path not in folders), *new))

    def remove(self, path: str, rule: str = "") -> tuple[Override, ...]:
        """Take back the exceptions for a skill, or for one rule of it; those that were there. Raises: ClawftError."""
        taken: list[Override] = []

        def keep(known: tuple[Override, ...]) -> list[Override]:
            taken.extend(one for one in known if one.path == path and rule in ("", one.rule))
            return [one for one in known if one not in taken]

        self._records.change(keep)
        return tuple(taken)
