"""A call under evaluation: its name, its arguments, and the object it is made on."""

from collections.abc import Callable
from typing import Any

from clawft.scan.languages.code.values import Mark, Value

__all__ = ["Call", "Effect"]


class Call:
    """One call."""

    __slots__ = ("arguments", "callee", "items", "named", "offset", "owner", "ref")

    def __init__(
        self,
        offset: int,
        ref: str,
        arguments: list[Value],
        named: dict[str, Value],
        owner: Value | None = None,
        *node: Any,
    ) -> None:
        self.offset, self.ref, self.arguments, self.named, self.owner = offset, ref, arguments, named, owner
        self.callee: Any = node[0] if node else None
        self.items: Any = node[1] if len(node) > 1 else None

    def first(self, *names: str) -> Value:
        return self._argument(0, names)

    def second(self, *names: str) -> Value:
        return self._argument(1, names)

    def _argument(self, index: int, names: tuple[str, ...]) -> Value:
        if index < len(self.arguments):
            return self.arguments[index]
        for name in names:
            if name in self.named:
                return self.named[name]
        return Value()

    def marks(self, start: int = 0) -> tuple[Mark, ...]:
        """What flows into the call by its arguments."""
        found: dict[Mark, None] = {}
        for one in (*self.arguments[start:], *self.named.values()):
            found.update(dict.fromkeys(one.marks))
        return tuple(found)


# What a call does: it gets the evaluation, the call and what its table row says, and gives the value of the call.
Effect = Callable[[Any, Call, str], Value]
