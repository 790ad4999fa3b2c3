"""Values and calls under evaluation."""

from collections.abc import Callable, Iterable
from typing import Any

from clawft.scanner.facts import Kind

HOLE = "\0"  # stands in a text for a part that is only known at run time
CHARACTER = "character"  # the reference of one letter of a text: it is no path, and no address
MAX_CONSTANTS = 32
MANY = 24
MAX_TEXT = 400_000


class DraftFact:
    """A fact in the making: sources are still added to it."""

    __slots__ = ("kind", "module", "offset", "sources", "target", "via")

    def __init__(self, kind: Kind, target: str, offset: int, via: str, module: Any) -> None:
        self.kind, self.target, self.offset, self.via, self.module = kind, target, offset, via, module
        self.sources: dict[Any, None] = {}


class ProgramFunction:
    """A function of the text: what it takes, what it does, and where its free names are found."""

    __slots__ = ("active", "body", "effects", "module", "name", "parameters", "runs", "scope", "seen", "summary")

    def __init__(self, name: str, parameters: list[Any], body: list[Any], scope: "ProgramScope", module: Any) -> None:
        self.name, self.parameters, self.body, self.scope, self.module = name, parameters, body, scope, module
        self.summary: ProgramValue | None = None  # what it gives when nothing is known of its arguments
        self.seen = 0  # how often something had been stored when that was found out
        self.runs = 0
        self.active = False
        self.effects = False  # it does something by itself


class ProgramScope:
    """Names and their values, inside out."""

    __slots__ = ("closed", "names", "parent")

    def __init__(self, parent: "ProgramScope | None", *, closed: bool = False) -> None:
        self.names: dict[str, ProgramValue] = {}
        self.parent = parent
        self.closed = closed  # names set inside stay inside

    def find(self, name: str) -> "ProgramValue | None":
        scope: ProgramScope | None = self
        while scope is not None:
            value = scope.names.get(name)
            if value is not None:
                return value
            scope = scope.parent
        return None

    def holder(self, name: str) -> "ProgramScope":
        """The scope that a new value of a name belongs to."""
        scope: ProgramScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            if scope.closed:
                break
            scope = scope.parent
        return self


class ProgramValue:
    """A value under evaluation, as far as it is known."""

    __slots__ = ("consts", "function", "handle", "items", "keys", "marks", "ref")

    def __init__(
        self,
        consts: tuple[Any, ...] = (),
        marks: tuple[DraftFact, ...] = (),
        ref: str = "",
        items: "list[tuple[Any, ProgramValue]] | None" = None,
    ) -> None:
        self.consts, self.marks, self.ref, self.items = consts, marks, ref, items
        self.function: ProgramFunction | None = None
        self.handle: DraftFact | None = None  # the file it writes to

    @property
    def const(self) -> Any:
        """The constant, when it is the only one and known to its end."""
        if len(self.consts) != 1:
            return None
        one = self.consts[0]
        return None if isinstance(one, str) and HOLE in one else one

    def get(self, key: Any) -> "ProgramValue | None":
        """An element by its key or its number."""
        if self.items is None:
            return None
        if isinstance(key, int):
            return self.items[key][1] if -len(self.items) <= key < len(self.items) else None
        if len(self.items) > MANY:
            if not hasattr(self, "keys"):  # made once one is asked for
                self.keys: dict[Any, ProgramValue] = {}
                for name, value in self.items:
                    self.keys.setdefault(name, value)
            return self.keys.get(key)
        for name, value in self.items:
            if name == key:
                return value
        return None

    def texts(self) -> list[str]:
        """Its constants as texts."""
        return [text_of(const) for const in self.consts if isinstance(const, str | bytes)]

    def with_marks(self, marks: Iterable[DraftFact]) -> "ProgramValue":
        found = ProgramValue(self.consts, merge_marks(self.marks, marks), self.ref, self.items)
        found.function, found.handle = self.function, self.handle
        return found


def make_list(values: Iterable[ProgramValue], marks: tuple[DraftFact, ...] = ()) -> ProgramValue:
    """A list of values."""
    return ProgramValue((), marks, "", [(None, value) for value in values])


def merge_marks(first: tuple[DraftFact, ...], second: Iterable[DraftFact]) -> tuple[DraftFact, ...]:
    if not second:
        return first
    if not first and isinstance(second, tuple) and len(second) <= 64:
        return second
    seen = dict.fromkeys(first)
    seen.update(dict.fromkeys(second))
    return tuple(seen)[:64]


def join_values(values: Iterable[ProgramValue]) -> ProgramValue:
    """A value that may be any of several."""
    found = list(values)
    if len(found) == 1:
        return found[0]
    consts: dict[Any, None] = {}
    marks: dict[DraftFact, None] = {}
    result = ProgramValue()
    for value in found:
        for const in value.consts:
            if len(consts) < MAX_CONSTANTS:
                consts[const] = None
        marks.update(dict.fromkeys(value.marks))
        result.ref = result.ref or value.ref
        result.function = result.function or value.function
        result.handle = result.handle or value.handle
        if value.items is not None and (result.items is None or len(value.items) > len(result.items)):
            result.items = value.items
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


class ProgramCall:
    """One call."""

    __slots__ = ("arguments", "callee", "items", "named", "offset", "owner", "ref")

    def __init__(
        self,
        offset: int,
        ref: str,
        arguments: list[ProgramValue],
        named: dict[str, ProgramValue],
        owner: ProgramValue | None = None,
        *node: Any,
    ) -> None:
        self.offset, self.ref, self.arguments, self.named, self.owner = offset, ref, arguments, named, owner
        self.callee: Any = node[0] if node else None
        self.items: Any = node[1] if len(node) > 1 else None

    @property
    def receiver(self) -> ProgramValue:
        """The object of a method."""
        return self.owner or ProgramValue()

    def skip(self) -> "ProgramCall":
        """The call without its first argument."""
        return ProgramCall(self.offset, self.ref, self.arguments[1:], {})

    def first(self, *names: str) -> ProgramValue:
        return self._argument(0, names)

    def second(self, *names: str) -> ProgramValue:
        return self._argument(1, names)

    def _argument(self, index: int, names: tuple[str, ...]) -> ProgramValue:
        if index < len(self.arguments):
            return self.arguments[index]
        for name in names:
            if name in self.named:
                return self.named[name]
        return ProgramValue()

    def marks(self, start: int = 0) -> tuple[DraftFact, ...]:
        """Return the marks that flow into the call by its arguments."""
        found: dict[DraftFact, None] = {}
        for argument in (*self.arguments[start:], *self.named.values()):
            found.update(dict.fromkeys(argument.marks))
        return tuple(found)


# What a call does: it gets the evaluation, the call and what its table row says, and gives the value of the call.
Effect = Callable[[Any, ProgramCall, str], ProgramValue]
