"""What the evaluation knows of a value: its constants, what it stands for, and the marks that flow into it."""

from collections.abc import Iterable
from typing import Any

from clawft.scan.facts import Kind

__all__ = ["CHARACTER", "HOLE", "Function", "Mark", "Scope", "Value", "join", "text_of"]

HOLE = "\0"  # stands in a text for a part that is only known at run time
CHARACTER = "character"  # what one letter of a text stands for: it is no path, and no address
MAX_CONSTANTS = 32
MANY = 24
MAX_TEXT = 400_000


class Mark:
    """A fact in the making: sources are still added to it."""

    __slots__ = ("kind", "module", "offset", "sources", "target", "via")

    def __init__(self, kind: Kind, target: str, offset: int, via: str, module: Any) -> None:
        self.kind, self.target, self.offset, self.via, self.module = kind, target, offset, via, module
        self.sources: dict[Any, None] = {}


class Function:
    """A function of the text: what it takes, what it does, and where its free names are found."""

    __slots__ = ("active", "body", "effects", "module", "name", "parameters", "runs", "scope", "seen", "summary")

    def __init__(self, name: str, parameters: list[Any], body: list[Any], scope: "Scope", module: Any) -> None:
        self.name, self.parameters, self.body, self.scope, self.module = name, parameters, body, scope, module
        self.summary: Value | None = None  # what it gives when nothing is known of its arguments
        self.seen = 0  # how often something had been stored when that was found out
        self.runs = 0
        self.active = False
        self.effects = False  # it does something by itself


class Scope:
    """Names and their values, inside out."""

    __slots__ = ("closed", "names", "parent")

    def __init__(self, parent: "Scope | None", *, closed: bool = False) -> None:
        self.names: dict[str, Value] = {}
        self.parent = parent
        self.closed = closed  # names set inside stay inside

    def find(self, name: str) -> "Value | None":
        scope: Scope | None = self
        while scope is not None:
            value = scope.names.get(name)
            if value is not None:
                return value
            scope = scope.parent
        return None

    def holder(self, name: str) -> "Scope":
        """The scope that a new value of a name belongs to."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            if scope.closed:
                break
            scope = scope.parent
        return self


class Value:
    """What is known of a value."""

    __slots__ = ("consts", "function", "handle", "items", "keys", "marks", "ref")

    def __init__(
        self,
        consts: tuple[Any, ...] = (),
        marks: tuple[Mark, ...] = (),
        ref: str = "",
        items: "list[tuple[Any, Value]] | None" = None,
    ) -> None:
        self.consts, self.marks, self.ref, self.items = consts, marks, ref, items
        self.function: Function | None = None
        self.handle: Mark | None = None  # the file it writes to

    @property
    def const(self) -> Any:
        """The constant, when it is the only one and known to its end."""
        if len(self.consts) != 1:
            return None
        one = self.consts[0]
        return None if isinstance(one, str) and HOLE in one else one

    def get(self, key: Any) -> "Value | None":
        """An element by its key or its number."""
        if self.items is None:
            return None
        if isinstance(key, int):
            return self.items[key][1] if -len(self.items) <= key < len(self.items) else None
        if len(self.items) > MANY:
            if not hasattr(self, "keys"):  # made once one is asked for
                self.keys: dict[Any, Value] = {}
                for name, value in self.items:
                    self.keys.setdefault(name, value)
            return self.keys.get(key)
        for name, value in self.items:
            if name == key:
                return value
        return None

    def texts(self) -> list[str]:
        """Its constants as texts."""
        return [text_of(one) for one in self.consts if isinstance(one, str | bytes)]

    def with_marks(self, marks: Iterable[Mark]) -> "Value":
        found = Value(self.consts, merge(self.marks, marks), self.ref, self.items)
        found.function, found.handle = self.function, self.handle
        return found


def merge(first: tuple[Mark, ...], second: Iterable[Mark]) -> tuple[Mark, ...]:
    if not second:
        return first
    if not first and isinstance(second, tuple) and len(second) <= 64:
        return second
    seen = dict.fromkeys(first)
    seen.update(dict.fromkeys(second))
    return tuple(seen)[:64]


def join(values: Iterable[Value]) -> Value:
    """A value that may be any of several."""
    found = list(values)
    if len(found) == 1:
        return found[0]
    consts: dict[Any, None] = {}
    marks: dict[Mark, None] = {}
    result = Value()
    for one in found:
        for const in one.consts:
            if len(consts) < MAX_CONSTANTS:
                consts[const] = None
        marks.update(dict.fromkeys(one.marks))
        result.ref = result.ref or one.ref
        result.function = result.function or one.function
        result.handle = result.handle or one.handle
        if one.items is not None and (result.items is None or len(one.items) > len(result.items)):
            result.items = one.items
    result.consts, result.marks = tuple(consts), tuple(marks)[:64]
    return result


def text_of(const: Any) -> str:
    """A constant as text; bytes as UTF-8 where they are that."""
    if isinstance(const, bytes):
        try:
            return const.decode("utf-8")
        except UnicodeDecodeError:
            return const.decode("latin-1")
    return const if isinstance(const, str) else str(const)
