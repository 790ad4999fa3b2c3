"""The skill's own name is nearly that of a well-known package."""

from collections.abc import Iterator

from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.packages import find_namesake

__all__ = ["RULE"]


def check_borrowed_name(subject: Subject) -> Iterator[Hit]:
    name = (subject.skill.name if subject.skill else subject.name).lower()
    imitated = find_namesake(name)
    head = next((one for one in subject.documents if one.path == "SKILL.md" and not one.origin), None)
    if imitated and head is not None:
        yield Hit(_fact(head, name), f"The skill is called {name}; the well-known name is {imitated}", 0.4)


def _fact(document: Document, name: str) -> Fact:
    at = max(0, document.text.lower().find(name))
    return Fact(Kind.INSTALL, f"skill:{name}", document, document.line_at(at), name)


RULE = Rule(
    id="borrowed-name",
    title="The skill has a borrowed name",
    severity="low",
    category="supply-chain",
    what="The name of the skill differs from a well-known name by a letter.",
    why="It may be a slip, or made to be installed by mistake.",
    example="name: reqeusts-helper",
    counter_example="name: requests-helper",
    fix="Give it a name of its own.",
    check=check_borrowed_name,
    owasp="AST04",
    atlas="AML.T0010",
)
