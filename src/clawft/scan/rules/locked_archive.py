"""An archive in the skill cannot be looked into."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_locked_archive(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.LOCKED):
        if fact.document.language == "binary":
            yield Hit(fact, f"{fact.document.path} cannot be looked into: {fact.via}", 0.7)
        else:
            yield Hit(fact, f"An archive that cannot be looked into is to be unpacked: {fact.via}", 0.7)


RULE = Rule(
    id="locked-archive",
    title="An archive that cannot be looked into",
    severity="high",
    category="concealment",
    what="The skill holds, or tells to unpack, an archive with a password or of a kind that scanners cannot open.",
    why="A password keeps scanners out, not thieves: it is how programs get past the check of what is downloaded.",
    example="assets/tool.zip, encrypted",
    counter_example="assets/examples.zip, open",
    fix="Ship the files as they are.",
    check=check_locked_archive,
    owasp="AST08",
    atlas="AML.T0010",
)
