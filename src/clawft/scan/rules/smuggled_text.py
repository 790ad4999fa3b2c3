"""A message is written in characters that nobody sees."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_WAYS = frozenset({"tag-characters", "variation-selectors", "zero-width", "whitespace"})
_MIN_LETTERS = 8


def check_smuggled_text(subject: Subject) -> Iterator[Hit]:
    said = {
        (one.path, one.line): one.text
        for one in subject.documents
        if one.origin and one.origin[-1] in _WAYS and sum(c.isalpha() for c in one.text) >= _MIN_LETTERS
    }
    for fact in subject.of(Kind.HIDDEN):
        text = said.get((fact.document.path, fact.line)) if fact.target in _WAYS else None
        if text:
            yield Hit(fact, f"Invisible characters say: {' '.join(text.split())[:120]}", 0.95)


RULE = Rule(
    id="smuggled-text",
    title="A message in invisible characters",
    severity="critical",
    category="concealment",
    what="Characters that are never drawn (tags, variation selectors, zero width, blanks at line ends) spell a text.",
    why="Models read such text, people cannot. There is no honest use for it in a skill.",
    example="A sentence followed by tag characters that spell an order",
    counter_example="A flag emoji, which is made of tag characters, too",
    fix="Remove the invisible characters.",
    check=check_smuggled_text,
    owasp="AST01",
    atlas="AML.T0068",
    aliases=("encoded-instructions",),
)
