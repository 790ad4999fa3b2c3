"""Values of PowerShell: one, or a list of them."""

from collections.abc import Iterable

from clawft.scan.facts import Fact
from clawft.scan.languages.commands import Value, join_sources

__all__ = ["Item", "sources_in"]

Item = Value | list[Value]


def sources_in(values: Iterable[Value]) -> tuple[Fact, ...]:
    return join_sources(*[one.sources for one in values])
