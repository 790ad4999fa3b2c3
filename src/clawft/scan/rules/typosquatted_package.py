"""A package is installed whose name is nearly that of a well-known one."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.packages import find_imitated, parse_package

__all__ = ["RULE"]


def check_typosquatted_package(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        imitated = find_imitated(package.manager, package.name)
        if imitated:
            yield Hit(fact, f"{package.name} is installed; the well-known package is {imitated}", 0.75)


RULE = Rule(
    id="typosquatted-package",
    title="A package with a borrowed name",
    severity="high",
    category="supply-chain",
    what="The name of a package differs from a well-known one by a letter, by look-alike characters or by a promise "
    "such as -security-patch.",
    why="Such names are registered to be installed by mistake. Installing runs the code of whoever registered it.",
    example="pip install reqeusts",
    counter_example="pip install requests",
    fix="Install the package that was meant.",
    check=check_typosquatted_package,
    owasp="AST02",
    atlas="AML.T0010",
)
