"""A pickle runs a command when it is loaded."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_RUNS = re.compile(
    r"(?:os|posix|nt|subprocess|pty|commands|runpy|webbrowser|socket|ctypes|importlib|shutil|code|timeit|bdb|pdb|pip|urllib|requests)\."
    r"|(?:builtins|__builtin__)\.(?:eval|exec|compile|__import__|open)$"
)


def check_pickle_calls(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.LOAD):
        if fact.via.startswith("a pickle") and _RUNS.match(fact.target):
            yield Hit(fact, f"Loading {fact.document.path} calls {fact.target}", 0.95)


RULE = Rule(
    id="pickle-calls",
    title="A pickle that runs commands when it is loaded",
    severity="critical",
    category="execution",
    what="A serialised Python object names functions that run programs or code, to be called as it is loaded.",
    why="Data does not need to call `os.system`. Whoever loads the file runs what its author wants.",
    example="assets/model.pkl calls posix.system",
    counter_example="assets/model.pkl holds a dictionary of numbers",
    fix="Store data as JSON, or models as safetensors.",
    check=check_pickle_calls,
    owasp="AST01",
    atlas="AML.T0011",
)
