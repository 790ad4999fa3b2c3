"""A skill with a borrowed name that leads to a stranger's packages."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of
from clawft.scan.vocabulary.packages import find_namesake

__all__ = ["RULE"]

_ADDRESS = re.compile(r"https?://[^\s'\"`<>)\]]{4,300}")
_SOURCE = re.compile(r"registry|/simple\b|pypi|npm|packages?\b|/index\b|mirror|download|release", re.IGNORECASE)
_CLAIM = re.compile(r"\bdrop-?in\b|\breplacement for\b|\bofficial\b|\bfork of\b|\bcompatible with\b", re.IGNORECASE)


def check_imitating_skill(subject: Subject) -> Iterator[Hit]:
    name = (subject.skill.name if subject.skill else subject.name).lower()
    imitated = find_namesake(name)
    if not imitated:
        return
    for document in subject.documents:
        if document.path != "SKILL.md" or document.origin:
            continue
        claimed = _CLAIM.search(document.text) is not None
        for match in _ADDRESS.finditer(document.text):
            if is_foreign(subject, match[0]) and (claimed or _SOURCE.search(match[0])):
                fact = Fact(Kind.FETCH, match[0], document, document.line_at(match.start()), match[0])
                yield Hit(fact, f"{name} borrows the name of {imitated} and leads to {host_of(match[0])}", 0.75)
                return


RULE = Rule(
    id="imitating-skill",
    title="A skill with a borrowed name leads to a stranger",
    severity="critical",
    category="supply-chain",
    what="The name of the skill is that of a well-known package but for a letter, and its text leads to a foreign "
    "host for packages, or claims to stand in for the real one.",
    why="It is made to be taken for the package, and to bring the stranger's code with it.",
    example="name: reqeusts, with packages from https://registry.example.net",
    counter_example="name: requests-helper, with links to https://github.com",
    fix="Give it a name of its own, and use the public registry.",
    check=check_imitating_skill,
    owasp="AST02",
    atlas="AML.T0010",
)
