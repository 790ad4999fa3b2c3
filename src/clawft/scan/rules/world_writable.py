"""A folder outside the skill is opened to everyone, or handed to root."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_OPEN = re.compile(r"^(0?777|a\+rwx|\+rwx|o\+w|ugo\+rwx|a\+w)\s+(-R\s+)?(/|~)")


def check_world_writable(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.PERMIT):
        if _OPEN.match(fact.target):
            yield Hit(fact, f"Everyone may write to {fact.target.split()[-1]} from now on", 0.8)


RULE = Rule(
    id="world-writable",
    title="A path outside the skill is opened to everyone",
    severity="high",
    category="privilege",
    what="The rights of a file or folder outside the skill are set so that everyone may change it.",
    why="Any other program or user can then change what is run or read from there.",
    example="chmod -R 777 /srv/notes",
    counter_example="chmod +x scripts/run.sh",
    fix="Give rights to the one user who needs them.",
    check=check_world_writable,
    owasp="AST03",
    atlas="AML.T0048",
    aliases=("unsafe-permissions",),
)
