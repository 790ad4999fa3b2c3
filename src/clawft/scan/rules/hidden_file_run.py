"""Code is taken from a hidden or temporary file and run."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_HIDDEN = re.compile(r"^(/tmp|/var/tmp|/dev/shm|\$TMPDIR|%temp%|\$env:temp)[/\\](.*[/\\])?\.[\w-]", re.IGNORECASE)


def check_hidden_file_run(subject: Subject) -> Iterator[Hit]:
    for run in subject.of(Kind.EXEC, Kind.EVAL, Kind.LOAD):
        if run.kind is Kind.EXEC:
            paths = [] if " -c" in run.target or " -e" in run.target else run.target.split()[:3]
        else:
            paths = [one.target for one in subject.trace(run) if one.kind is Kind.READ]
        hidden = [path for path in paths if _HIDDEN.match(path)]
        if hidden:
            yield Hit(run, f"{hidden[0]}, a hidden file in a folder that anyone may write to, is run", 0.85)


RULE = Rule(
    id="hidden-file-run",
    title="A hidden temporary file is run",
    severity="critical",
    category="concealment",
    what="Code is read from a hidden file in a temporary folder, and run.",
    why="Nothing of the skill put it there for a reader to see: such files are where downloaded payloads wait.",
    example='exec(open("/tmp/.cache").read())',
    counter_example='exec(open("scripts/build.py").read())',
    fix="Keep code inside the skill's folder under a name that can be seen.",
    check=check_hidden_file_run,
    owasp="AST01",
    atlas="AML.T0050",
)
