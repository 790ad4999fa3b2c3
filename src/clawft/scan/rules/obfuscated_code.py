"""Long encoded strings in a program."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages import PROGRAMS
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_ESCAPES = re.compile(r"\\x[0-9a-fA-F]{2}(?:\\x[0-9a-fA-F]{2}){5}")
_BASE64 = tuple(re.compile(quote + r"[A-Za-z0-9+/]{200}") for quote in "\"'")  # apart: each is quick to look for


def check_obfuscated_code(subject: Subject) -> Iterator[Hit]:
    for document in subject.documents:
        if document.language not in PROGRAMS:
            continue
        at, way = _find(document.text)
        if way:
            fact = Fact(Kind.HIDDEN, way, document, document.line_at(at), document.text[at : at + 60])
            yield Hit(fact, f"A long string of {way} stands in a program", 0.5)


def _find(text: str) -> tuple[int, str]:
    if "\\x" in text and (found := _ESCAPES.search(text)):
        return found.start(), "\\x escapes"
    starts = [found.start() for pattern in _BASE64 if (found := pattern.search(text))]
    return (min(starts), "base64") if starts else (0, "")


RULE = Rule(
    id="obfuscated-code",
    title="Long encoded strings in a program",
    severity="low",
    category="concealment",
    what="A program holds a run of hexadecimal escapes, or a base64 string of 200 characters or more.",
    why="It may be a picture or a key. It may also be code; what it decodes to is looked at as well.",
    example='run("\\\\x63\\\\x75\\\\x72\\\\x6c\\\\x20\\\\x2d")',
    counter_example='colour = "\\\\x1b[31m"',
    fix="Keep data in files of its own, and code in the clear.",
    check=check_obfuscated_code,
    owasp="AST08",
    atlas="AML.T0068",
    aliases=("obfuscated-code-hex", "obfuscated-code-base64"),
)
