"""A file is not what its name or its beginning says."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_WAYS = frozenset({"wrong-type", "trailing-data", "unlisted-member", "binary-tail"})


def check_disguised_file(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target in _WAYS:
            yield Hit(fact, f"{fact.document.path} is not what it seems: {fact.via}", 0.6)


RULE = Rule(
    id="disguised-file",
    title="A file that is not what it seems",
    severity="high",
    category="concealment",
    what="Text under the name of a picture, data after the end of a picture, or a packed file that the archive hides.",
    why="Nobody opens a picture to read it, so what is hidden there stays unread until something runs it.",
    example="assets/logo.png holds text",
    counter_example="assets/logo.png holds a picture",
    fix="Name files by what they hold, and remove what does not belong.",
    check=check_disguised_file,
    owasp="AST04",
    atlas="AML.T0068",
)
