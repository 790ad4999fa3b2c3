"""Long encoded strings in a program."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages import PROGRAMS
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_RUN = re.compile(r"(?:\\x[0-9a-fA-F]{2}){6}|[\"'][A-Za-z0-9+/]{200,}={0,2}[\"']")


def check_obfuscated_code(subject: Subject) -> Iterator[Hit]:
    for document in subject.documents:
        if document.language in PROGRAMS and (found := _RUN.search(document.text)):
            way = "\\x escapes" if found[0].startswith("\\") else "base64"
            fact = Fact(Kind.HIDDEN, way, document, document.line_at(found.start()), found[0][:60])
            yield Hit(fact, f"A long string of {way} stands in a program", 0.5)


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
