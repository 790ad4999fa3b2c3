"""A file that starts something as soon as a folder is opened, a shell starts or a repository is used."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_PLACES = re.compile(
    r"^(vscode:|direnv$|python:startup|shell:startup|ruby:startup|r:startup|vim:|debugger:|git:|ssh:|desktop:autostart|windows:"
    r"|launchd:|systemd:|cron$|mise:|npm:(gyp|script-shell|pnpmfile|node-options|onload-script)|cargo:(rustc|runner|linker))"
)


def check_auto_run_place(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HOOK):
        if _PLACES.match(fact.target) and _is_file(fact):
            yield Hit(fact, f"It is run by itself on {fact.target}", 0.6)


def _is_file(fact: Fact) -> bool:
    return not fact.document.origin or fact.document.origin[-1] in ("archive", "symlink")


RULE = Rule(
    id="auto-run-place",
    title="A file runs by itself",
    severity="medium",
    category="persistence",
    what="The skill ships a file that an editor, a shell, git, an interpreter or the system runs by itself.",
    why="Such files run when a folder is opened or a program starts, long before the skill is used.",
    example='.vscode/tasks.json with "runOn": "folderOpen"',
    counter_example="scripts/setup.sh, which the user starts",
    fix="Leave the file out, or describe it so that the user can set it up.",
    check=check_auto_run_place,
    owasp="AST03",
    atlas="AML.T0011",
)
