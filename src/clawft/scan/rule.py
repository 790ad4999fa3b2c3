"""What a rule is: a page of text and a check over the facts of a skill."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from clawft.scan.facts import Fact
from clawft.scan.findings import Severity
from clawft.scan.subject import Subject

__all__ = ["Hit", "Rule"]


class Hit(Struct, frozen=True):
    """A fact that a rule objects to."""

    fact: Fact
    message: str
    confidence: float = 0.9


class Rule(Struct, frozen=True):
    """One rule: what it finds, why that matters, and the check itself."""

    id: str  # kebab-case and stable: overrides are bound to it
    title: str
    severity: Severity
    category: str  # exfiltration, execution, persistence, concealment, injection, supply-chain, sabotage, privilege, …
    what: str
    why: str
    example: str
    counter_example: str
    fix: str
    check: Callable[[Subject], Iterable[Hit]]
    owasp: str = ""  # AST01 … AST10 of the OWASP Agentic Skills Top 10
    atlas: str = ""  # a technique of MITRE ATLAS
    aliases: tuple[str, ...] = ()  # ids that other scanners know it by
