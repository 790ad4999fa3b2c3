"""The subject of a scan: one skill as documents and facts, which is all that a rule may look at."""

from functools import cached_property

from msgspec import Struct

from clawft.format.model import Skill
from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind, trace
from clawft.scan.findings import Gap

__all__ = ["Subject"]

SHORTEST = 4  # of the paths that are followed from one text to another


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

    @cached_property
    def written(self) -> dict[str, list[Fact]]:
        """What is written into each path, as far as something flows into it."""
        paths: dict[str, list[Fact]] = {}
        for fact in self.by_kind[Kind.WRITE]:
            if fact.sources and len(fact.target) >= SHORTEST:
                paths.setdefault(fact.target, []).append(fact)
        return paths

    def trace(self, fact: Fact) -> list[Fact]:
        """Everything that flows into a fact, nearest first, each once; a file carries what was written into it."""
        return trace(fact, self._carried)

    def _carried(self, fact: Fact) -> list[Fact]:
        if not self.written:
            return []
        if fact.kind is Kind.READ:
            return self.written.get(fact.target, [])
        if fact.kind is Kind.EXEC:
            words = fact.target.split()[:3]
            return [one for word in words for one in self.written.get(word, ())]
        if fact.kind is Kind.SEND and fact.via.startswith("git"):  # a push sends the whole tree
            return [one for many in self.written.values() for one in many if one.document is fact.document]
        return []

    def of(self, *kinds: Kind) -> list[Fact]:
        """The facts of some kinds, in the order found."""
        return [fact for kind in kinds for fact in self.by_kind[kind]]
