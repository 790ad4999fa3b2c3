"""A program that cannot be read is run, with more rights or behind the user's back."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_WORD = re.compile(r"[^\s\"';|&()<>]+")


def check_program_run_unseen(subject: Subject) -> Iterator[Hit]:
    programs = {_name(fact.document.path) for fact in subject.of(Kind.BINARY)}
    if not programs:
        return
    hushed = any(not fact.document.mention for fact in subject.of(Kind.CONCEAL))
    raised = {(fact.document.path, fact.line) for fact in subject.of(Kind.PRIVILEGE)}
    for run in subject.of(Kind.EXEC):
        started = programs.intersection(map(_name, _WORD.findall(run.target)))
        if started and not run.document.mention:
            how = (
                "with all rights"
                if (run.document.path, run.line) in raised
                else "behind the user's back"
                if hushed
                else ""
            )
            if how:
                yield Hit(run, f"{min(started)}, a program that cannot be read, is run {how}", 0.85)


def _name(path: str) -> str:
    return path.rpartition("/")[2].rpartition("!")[2].rpartition("\\")[2]


RULE = Rule(
    id="program-run-unseen",
    title="An unreadable program runs with all rights or in secret",
    severity="critical",
    category="execution",
    what="A program in the skill that cannot be read is started as administrator, or the user shall not know of it.",
    why="What cannot be read may do anything, and here it is given everything or kept from the user.",
    example="chmod +x assets/helper && sudo assets/helper",
    counter_example="./bin/format --check",
    fix="Ship the source, ask the user, and do without more rights.",
    check=check_program_run_unseen,
    owasp="AST01",
    atlas="AML.T0011",
)
