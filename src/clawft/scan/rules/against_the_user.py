"""Something is done against the user: unseen, unasked, or for a stranger's good."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.nearby import orders
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


_TABLES = (".csv", ".tsv", ".json", ".html", ".htm")  # cells and labels: what stands near is not said together


def check_against_the_user(subject: Subject) -> Iterator[Hit]:
    for fact in orders(subject, Kind.HARM):
        if not fact.document.path.lower().endswith(_TABLES):
            yield Hit(fact, f"It acts on {fact.target} ({fact.via[:80]}), and: {fact.sources[0].via[:80]}", 0.75)


RULE = Rule(
    id="against-the-user",
    title="Something is done against the user",
    severity="high",
    category="concealment",
    what=(
        "The text tells of an act on the user's data, files, money, rights, results or good name, and within a few "
        "sentences that the user is not told, not asked or misled, or that a stranger gains by it."
    ),
    why="What helps the user can be told to the user. What is done behind the user serves somebody else.",
    example="The originals are overwritten after the export; users are not told.",
    counter_example="The originals are overwritten after the export, once the user has agreed.",
    fix="Tell the user what is done, and ask before it cannot be undone.",
    check=check_against_the_user,
    owasp="AST01",
    atlas="AML.T0048",
)
