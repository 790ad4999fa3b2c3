"""A path that root owns, or that the system runs from, is opened to everyone."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_OPEN = re.compile(r"^(0?777|a\+rwx|\+rwx|o\+w|ugo\+rwx|a\+w)\s+(?:-R\s+)?(?P<path>/\S*|~\S*)")
_SYSTEM = re.compile(r"^/(etc|usr|bin|sbin|lib\w*|boot|root)?(/|$)(?!local/share|share)")
_ROOT = re.compile(r"^(?:-R\s+)?root\b\S*\s+(?P<path>/\S*)")


def check_root_trap(subject: Subject) -> Iterator[Hit]:
    owned = [match["path"] for fact in subject.of(Kind.PERMIT) if (match := _ROOT.match(fact.target))]
    for fact in subject.of(Kind.PERMIT):
        opened = _OPEN.match(fact.target)
        if opened and _is_trap(opened["path"], owned, fact):
            yield Hit(fact, f"Everyone may change {opened['path']}, which root or the system uses", 0.75)


def _is_trap(path: str, owned: list[str], fact: Fact) -> bool:
    if "fence" in fact.document.origin and not owned:
        return False
    return path in owned or _SYSTEM.match(path) is not None


RULE = Rule(
    id="root-trap",
    title="What root uses is opened to everyone",
    severity="critical",
    category="privilege",
    what="A path is given to root and opened to everyone at once, or a folder that the system runs from is.",
    why="Whoever changes it next acts with root's rights: it is a way up that stays.",
    example="chmod 777 /srv/common; sudo chown -R root:wheel /srv/common",
    counter_example="sudo chown -R $USER /srv/common",
    fix="Give rights to the one user who needs them.",
    check=check_root_trap,
    owasp="AST03",
    atlas="AML.T0048",
)
