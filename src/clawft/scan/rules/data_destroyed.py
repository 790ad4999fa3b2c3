"""The user's data, the system or the backups are wiped."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_BROAD = re.compile(
    r"^(/|/\*(\.\w+)?|~|~/|~/\*|\$HOME/?\*?|/home(/\*)?/?|/Users(/\*)?/?|[A-Z]:\\\*?|%USERPROFILE%\\?\*?"
    r"|\$env:USERPROFILE\\?\*?|/(etc|usr|var|boot|bin|lib|opt|root)/?\*?"
    r"|~/(Documents|Desktop|Pictures|Library|Downloads)/?\*?|/dev/(sd[a-z]|nvme\d|disk\d|vd[a-z]|mapper).*)$",
    re.IGNORECASE,
)
_BACKUPS = re.compile(r"shadow ?copies|vssadmin|tmutil|time machine|wbadmin", re.IGNORECASE)


_ONE_FILE = ("unlink", "unlinkSync", "remove")  # they delete one file, whose name is not known


def check_data_destroyed(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.DELETE):
        target = fact.target.strip("\"'")
        if target.startswith("/dev/") and "fence" in fact.document.origin:
            continue  # how to wipe a disk, told to whoever asks
        if _BROAD.match(target) and not fact.via.endswith(_ONE_FILE):
            yield Hit(fact, f"{fact.target} is deleted as a whole", 0.85)
        elif _BACKUPS.search(fact.target):
            yield Hit(fact, f"Backups are deleted ({fact.target})", 0.8)


RULE = Rule(
    id="data-destroyed",
    title="The user's data or backups are wiped",
    severity="critical",
    category="sabotage",
    what="A home folder, a system folder, a disk or the backups are deleted or overwritten as a whole.",
    why="It cannot be undone.",
    example="rm -rf ~/Documents/*",
    counter_example="rm -rf build dist",
    fix="Delete only what the skill made, by name.",
    check=check_data_destroyed,
    owasp="AST01",
    atlas="AML.T0048",
    aliases=("destructive-delete",),
)
