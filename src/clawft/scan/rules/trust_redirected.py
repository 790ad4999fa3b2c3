"""Whom the machine trusts, or where a well-known name leads, is changed."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import is_trusted
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.vendors import KNOWN, registrable

__all__ = ["RULE"]

_STORE = re.compile(
    r"ca-certificates|/pki/|/ssl/certs|trust(ed)?[-_. ]?(root|anchors?|store|cert)|keychains?/",
    re.IGNORECASE,
)
_HOSTS = re.compile(r"(^|[/\\])etc[/\\]hosts$", re.IGNORECASE)
_NAME = re.compile(r"\b(?:[a-z0-9-]+\.)+[a-z]{2,}\b")


def check_trust_redirected(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.WRITE):
        if _STORE.search(fact.target) and _is_strange(subject, fact):
            yield Hit(fact, f"A stranger's certificate is put among those that are trusted ({fact.target})", 0.85)
        elif _HOSTS.search(fact.target):
            names = [name for name in _NAME.findall(fact.document.text_of(fact.line)) if registrable(name) in KNOWN]
            if names:
                yield Hit(fact, f"{names[0]} is made to lead elsewhere", 0.85)


def _is_strange(subject: Subject, fact: Fact) -> bool:
    sources = subject.trace(fact)
    return any(one.kind is Kind.FETCH and not is_trusted(subject, one.target) for one in sources)


RULE = Rule(
    id="trust-redirected",
    title="Whom the machine trusts is changed",
    severity="critical",
    category="privilege",
    what="A downloaded certificate is put among those that are trusted, or the name of a well-known host is led "
    "elsewhere.",
    why="From then on a stranger can read and change what the user exchanges with services that look genuine.",
    example="echo '203.0.113.9 github.com' | sudo tee -a /etc/hosts",
    counter_example="echo '127.0.0.1 notes.test' | sudo tee -a /etc/hosts",
    fix="Leave both to the user.",
    check=check_trust_redirected,
    owasp="AST03",
    atlas="AML.T0048",
)
