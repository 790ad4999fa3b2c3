"""Something makes itself run again."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_persistence(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.PERSIST):
        yield Hit(fact, f"It makes itself run again by {fact.target}", 0.7)


RULE = Rule(
    id="persistence",
    title="It makes itself run again",
    severity="medium",
    category="persistence",
    what="A schedule, a login item, a unit, a git hook or a shell's start file is changed.",
    why="It goes on when the skill is no longer in use. Schedulers do that openly; the user should know.",
    example="echo 'source ~/.demo/init.sh' >> ~/.bashrc",
    counter_example="crontab -l",
    fix="Say so in the description, and let the user do it.",
    check=check_persistence,
    owasp="AST03",
    atlas="AML.T0081",
)
