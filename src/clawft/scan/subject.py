"""The subject of a scan: one skill as documents and facts, which is all that a rule may look at."""

from functools import cached_property

from msgspec import Struct

from clawft.format.model import Skill
from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.findings import Gap

__all__ = ["Subject"]


class Subject(Struct, dict=True, eq=False):
    """A skill under examination."""

    path: str
    name: str
    skill: Skill | None
    documents: list[Document]
    facts: list[Fact]
    gaps: list[Gap]

    @cached_property
    def by_kind(self) -> dict[Kind, list[Fact]]:
        kinds: dict[Kind, list[Fact]] = {kind: [] for kind in Kind}
        for fact in self.facts:
            kinds[fact.kind].append(fact)
        return kinds

    def of(self, *kinds: Kind) -> list[Fact]:
        """The facts of some kinds, in the order found."""
        return [fact for kind in kinds for fact in self.by_kind[kind]]
