"""Packages come from another place than their registry."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of
from clawft.scan.vocabulary.packages import parse_package

__all__ = ["RULE"]


def check_package_from_odd_place(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        if package.address and is_foreign(subject, package.address):
            how = "also looked for" if package.extra else "installed"
            yield Hit(fact, f"Packages are {how} at {host_of(package.address)}, which is no public registry", 0.6)


RULE = Rule(
    id="package-from-odd-place",
    title="Packages come from another place than their registry",
    severity="high",
    category="supply-chain",
    what="A package is installed from an archive or an index on a host that is no registry and no known vendor's.",
    why="With a second index, whoever runs it can answer for the name of any package (dependency confusion).",
    example="pip install --extra-index-url https://pkgs.example.net/simple internal-auth",
    counter_example="pip install internal-auth",
    fix="Use the public registry, or pin names to the private one.",
    check=check_package_from_odd_place,
    owasp="AST02",
    atlas="AML.T0010",
)
