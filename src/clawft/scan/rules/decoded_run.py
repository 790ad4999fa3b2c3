"""Something encoded is decoded and run."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_decoded_run(subject: Subject) -> Iterator[Hit]:
    for run in subject.of(Kind.EXEC, Kind.EVAL, Kind.LOAD):
        how = [one.target for one in subject.trace(run) if one.kind is Kind.DECODE]
        if how:
            yield Hit(run, f"Code hidden by {how[0] or 'an encoding'} is decoded and run", 0.9)


RULE = Rule(
    id="decoded-run",
    title="Encoded code is decoded and run",
    severity="critical",
    category="concealment",
    what="A string is decoded (base64, hex, rot13, compression, character codes …) and handed to a shell or an "
    "interpreter.",
    why="Code that has nothing to hide is written as code. Encoding it serves to get past readers and scanners.",
    example="echo ZWNobyBoaQ== | base64 -d | bash",
    counter_example="echo aGVsbG8= | base64 -d > greeting.txt",
    fix="Write the code in the clear.",
    check=check_decoded_run,
    owasp="AST01",
    atlas="AML.T0050",
)
