"""A link leads out of the skill's folder."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_link_out(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.LINK):
        yield Hit(fact, f"A link or the path of a packed file leads out of the skill: {fact.via}", 0.8)


RULE = Rule(
    id="link-out",
    title="A link leads out of the skill",
    severity="high",
    category="concealment",
    what="A symbolic link, or a file in an archive that would be unpacked elsewhere, leaves the skill's folder.",
    why="Whoever reads or writes what looks like a file of the skill reads or writes a file of the user.",
    example="assets/notes -> /opt/shared/notes",
    counter_example="assets/latest -> v2/notes",
    fix="Put a copy of the file into the skill.",
    check=check_link_out,
    owasp="AST01",
    atlas="AML.T0010",
    aliases=("path-traversal",),
)
