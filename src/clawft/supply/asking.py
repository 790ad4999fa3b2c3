"""From references to skills that are staged, with all that they need: what everybody who installs does first."""

from collections.abc import Callable, Mapping, Sequence

from clawft.sources.choose import Sources
from clawft.sources.model import Reference
from clawft.supply.choosing import Choice, find_chosen
from clawft.supply.dependencies import bring_needed
from clawft.supply.install import Tell, Transaction
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged

__all__ = ["Asking"]


class Asking:
    """Who asks for skills. `here` tells the versions of all skills there are, by name."""

    def __init__(self, sources: Sources, scans: Scans, here: Callable[[], Mapping[str, str]]) -> None:
        self._sources = sources
        self._scans = scans
        self._here = here

    async def stage(
        self, transaction: Transaction, references: Sequence[Reference], choice: Choice, tell: Tell | None
    ) -> list[Staged]:
        """Download, read and scan them beside their places. Raises: ClawftError."""
        finders = [find_chosen(self._sources, one, choice) for one in references]
        staged = await transaction.stage(finders, self._scans, tell)
        return await bring_needed(transaction, self._sources, staged, self._scans, self._here)
