"""The interface of a rule: the skill under examination, the rule's declaration and its hits."""

from collections.abc import Callable, Iterable
from functools import cached_property

from msgspec import Struct, structs

from clawft.scanner.facts import Document, Fact, Kind, trace
from clawft.scanner.findings import Gap, Severity
from clawft.skills.parse.model import Skill

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
        """The writes into each path that something flows into."""
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
            return [fact for word in words for fact in self.written.get(word, ())]
        if fact.kind is Kind.SEND and fact.via.startswith("git"):  # a push sends the whole tree
            return [write for writes in self.written.values() for write in writes if write.document is fact.document]
        return []

    def of(self, *kinds: Kind) -> list[Fact]:
        """The facts of some kinds, in the order found."""
        return [fact for kind in kinds for fact in self.by_kind[kind]]


class RuleHit(Struct, frozen=True):
    """A fact that a rule objects to."""

    fact: Fact
    message: str
    confidence: float = 0.9


class ScanRule(Struct, frozen=True):
    """One rule: what it finds and why that matters. As a decorator it is completed by the check itself."""

    id: str  # kebab-case and stable: overrides are bound to it
    title: str
    severity: Severity
    threat: str  # its category, AST01 … AST10 of the OWASP Agentic Skills Top 10, and a technique of MITRE ATLAS
    what: str
    why: str
    example: str
    counter_example: str
    fix: str
    aliases: tuple[str, ...] = ()  # ids that other scanners know it by
    check: Callable[[Subject], Iterable[RuleHit]] = lambda _: ()

    def __call__(self, check: Callable[[Subject], Iterable[RuleHit]]) -> "ScanRule":
        return structs.replace(self, check=check)

    @property
    def category(self) -> str:
        return self.threat.split()[0]

    @property
    def owasp(self) -> str:
        return self.threat.split()[1]

    @property
    def atlas(self) -> str:
        return self.threat.split()[2]
