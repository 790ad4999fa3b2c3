"""Characters that hide, overwrite or reorder what is shown."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_WAYS = frozenset(
    {
        "zero-width",
        "tag-characters",
        "variation-selectors",
        "bidi",
        "ansi",
        "backspace",
        "carriage-return",
        "nul-padding",
        "far-away",
    }
)


def check_invisible_characters(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target in _WAYS:
            yield Hit(fact, f"What is shown is not what is written ({fact.target.replace('-', ' ')}): {fact.via}", 0.6)


RULE = Rule(
    id="invisible-characters",
    title="What is shown is not what is written",
    severity="high",
    category="concealment",
    what="Invisible characters inside words, characters that reverse or overwrite text, or text far out of sight.",
    why="The reader who approves the skill sees another text than the agent that follows it.",
    example="A word with a zero-width space between its letters",
    counter_example="An emoji that is joined of three",
    fix="Remove these characters.",
    check=check_invisible_characters,
    owasp="AST04",
    atlas="AML.T0068",
)
