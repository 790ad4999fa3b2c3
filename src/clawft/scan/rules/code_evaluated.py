"""Code made at run time is run."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_code_evaluated(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.EVAL):
        yield Hit(fact, "Code made at run time is run", 0.6)


RULE = Rule(
    id="code-evaluated",
    title="Code made at run time is run",
    severity="medium",
    category="execution",
    what="`eval`, `exec`, `new Function` or the like runs a string as code.",
    why="What it runs cannot be read beforehand, and input may end up in it.",
    example="eval(user_input)",
    counter_example="json.loads(user_input)",
    fix="Parse the input, or call a function by name from a fixed table.",
    check=check_code_evaluated,
    owasp="AST06",
    atlas="AML.T0050",
    aliases=("dynamic-code-execution", "dynamic-code-eval", "dynamic-function-constructor", "suspicious-require"),
)
