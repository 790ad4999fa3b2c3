"""All tools by name. Built once; a filter gives another view and changes nothing (R78, R81)."""

from collections.abc import Iterable, Iterator

from clawft.tools.tool import Tool
from clawft.trust.patterns import names_tool, takes_tool

__all__ = ["Registry"]


class Registry:
    """An ordered, immutable set of tools."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def view(self, allowed: tuple[str, ...] | None = None, denied: tuple[str, ...] = ()) -> "Registry":
        """The tools that `allowed` speaks of (None: all), without those that `denied` takes away as a whole.

        What the arguments of a pattern leave of a tool is decided when it is used.
        """
        return Registry(
            tool
            for tool in self
            if (allowed is None or names_tool(allowed, tool.name)) and not takes_tool(denied, tool.name)
        )
