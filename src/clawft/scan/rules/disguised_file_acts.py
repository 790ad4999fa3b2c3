"""A program lies under the name or behind the end of another kind of file."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_WAYS = frozenset({"wrong-type", "trailing-data", "binary-tail"})
_ACTS = (
    Kind.EXEC,
    Kind.EVAL,
    Kind.SEND,
    Kind.FETCH,
    Kind.CONNECT,
    Kind.LISTEN,
    Kind.PERSIST,
    Kind.DELETE,
    Kind.OVERRIDE,
    Kind.CONCEAL,
    Kind.OBEY,
    Kind.TAMPER,
)


def check_disguised_file_acts(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(*_ACTS):
        way = next((one for one in fact.document.origin if one in _WAYS), "")
        if way and not fact.document.mention and fact.document.language not in ("html", "text"):
            yield Hit(
                fact, f"Code hidden in {fact.document.path.partition('!')[0]} acts: {fact.via or fact.target:.100}", 0.9
            )


RULE = Rule(
    id="disguised-file-acts",
    title="Code hidden in another kind of file",
    severity="critical",
    category="concealment",
    what="A script or an order stands in a file that its name or its beginning makes out to be a picture.",
    why="Code that is meant to be found has the name of code.",
    example="assets/logo.png holds a shell script that downloads a program",
    counter_example="assets/logo.svg holds a drawing",
    fix="Name the script as a script, or remove it.",
    check=check_disguised_file_acts,
    owasp="AST01",
    atlas="AML.T0011",
)
