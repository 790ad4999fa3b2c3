"""Secrets of many kinds are gathered in one place."""

from collections.abc import Iterator

from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.languages import PROGRAMS
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.secrets import find_secret_path

__all__ = ["RULE"]

MANY = 3


def check_secrets_gathered(subject: Subject) -> Iterator[Hit]:
    read: dict[Document, dict[str, Fact]] = {}
    for fact in subject.of(Kind.READ):
        what = find_secret_path(fact.target)
        if what and what != "the .env file" and fact.document.language in PROGRAMS:
            read.setdefault(fact.document, {}).setdefault(what, fact)
    for kinds in read.values():
        if len(kinds) >= MANY:
            yield Hit(next(iter(kinds.values())), f"It reads {', '.join(sorted(kinds))}", 0.8)


RULE = Rule(
    id="secrets-gathered",
    title="Secrets of many kinds are gathered",
    severity="critical",
    category="exfiltration",
    what="One script reads the secrets of three or more unrelated programs.",
    why="No task needs SSH keys, cloud logins and browser cookies at once. Gathering them comes before sending them, "
    "and "
    "what a model is shown has left the machine already.",
    example="cat ~/.netrc ~/.aws/credentials ~/.ssh/id_ed25519",
    counter_example="cat ~/.aws/credentials",
    fix="Read the one login that the task needs.",
    check=check_secrets_gathered,
    owasp="AST01",
    atlas="AML.T0055",
)
