"""What is wrong with a request, in words that help: which values there are, which fields, and what was meant."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import inspect, structs

from clawft.errors import find_close
from clawft.protocol.base import Request

__all__ = ["explain"]

_UNKNOWN = re.compile(r"Object contains unknown field `(.{1,60}?)`")
_VALUE = re.compile(r"Invalid enum value .* at `\$\.(\w+)")


def explain(error: Exception, kind: type[Request]) -> tuple[str, str]:
    """What is wrong, and a hint; '' where the words say all there is."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply", ""
    said, fields = str(error), {one.encode_name: one.type for one in structs.fields(kind)}
    if found := _UNKNOWN.search(said):
        close = find_close(found[1], fields)
        meant = f"Did you mean '{close}'? " if close else ""
        return said, f"{meant}It has {', '.join(fields)}"
    if (found := _VALUE.search(said)) and found[1] in fields:
        values = [*dict.fromkeys(_values(inspect.type_info(fields[found[1]])))]
        return said, f"One of {', '.join(repr(one) for one in values)}" if values else ""
    return said, ""


def _values(info: Any) -> Iterator[object]:
    """All values that are written down for a type, or for what it holds."""
    match info:
        case inspect.LiteralType(values=values):
            yield from values
        case inspect.EnumType(cls=cls):
            yield from (one.value for one in cls)
        case inspect.Metadata(type=one) | inspect.VarTupleType(item_type=one):
            yield from _values(one)
        case inspect.UnionType(types=types):
            for one in types:
                yield from _values(one)
