"""Validation of arguments against the JSON Schema of a third-party tool.

Only what is understood is accepted: a schema with any other keyword is refused as a whole, since what it forbids would
pass. Patterns are matched in linear time and the work is bounded, so that no schema can hang a turn.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

MAX_SCHEMA = 32 * 1024  # characters of one, as JSON
MAX_STEPS = 50_000
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and value == int(value),
}
_WORDS = {"object": "an object", "array": "a list", "string": "a text", "boolean": "true or false", "null": "null"}
_ABOUT = frozenset({
    "title", "description", "default", "examples", "format", "writeOnly", "deprecated", "$schema", "$comment",
})  # fmt: skip
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LISTS = ("anyOf", "oneOf", "allOf")
_INNER = ("items", "additionalProperties", "not")
_OTHERS = ("type", "enum", "const", "properties", "required", "uniqueItems", "pattern")
_KNOWN = _ABOUT.union(_COUNTS, _BOUNDS, _LISTS, _INNER, _OTHERS)
_OUTERMOST = _ABOUT | {"type", "properties", "required", "additionalProperties", "minProperties", "maxProperties"}
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Unresolved(str):
    """A text that is not known yet, in the place of a reference to a secret: only its type is checked."""

    __slots__ = ()


def check_schema(schema: Mapping[str, Any]) -> str:
    """Return why a schema cannot be that of a tool's arguments; '' if it can."""
    if schema.get("type", "object") != "object":
        return "its type is not 'object'"
    if len(json.dumps(schema)) > MAX_SCHEMA:
        return f"it has more than {MAX_SCHEMA} characters"
    problem = next(_find_problems(dict(schema)), "") or _find_untold(schema)
    if problem:
        return problem
    unnamed = next((name for name in schema.get("required", ()) if name not in schema.get("properties", {})), None)
    return (
        "" if unnamed is None or "additionalProperties" in schema else f"it requires '{unnamed}' and does not define it"
    )


def _find_untold(schema: Mapping[str, Any]) -> str:
    """Find what a model provider would reject in a schema; '' if nothing. One such tool would make every request of the
    conversation fail."""
    further = next((key for key in schema if key not in _OUTERMOST), None)
    if further is not None:
        return f"'{further}' may not stand outermost"
    odd = next((name for name in schema.get("properties", ()) if not _PROPERTY.fullmatch(name)), None)
    return "" if odd is None else f"'{odd[:40]}' cannot be the name of an argument"


def _find_problems(schema: Any) -> Iterator[str]:  # noqa: C901  (one rule for each keyword)
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield "a part of it is no schema"
        return
    for key, value in schema.items():
        if key not in _KNOWN:
            yield f"'{key[:40]}' is not understood"
        elif key == "type" and not _is_type(value):
            yield f"there is no type {str(value)[:40]!r}"
        elif key in _COUNTS and not (type(value) is int and value >= 0):
            yield f"'{key}' is no count"
        elif key in _BOUNDS and not (_is_number(value) and (key != "multipleOf" or value > 0)):
            yield f"'{key}' is no number that could be meant"
        elif key in ("enum", *_LISTS) and not (isinstance(value, list) and value):
            yield f"'{key}' is no list"
        elif key == "required" and not (
            isinstance(value, list) and all(isinstance(required_name, str) for required_name in value)
        ):
            yield "'required' is no list of names"
        elif key == "uniqueItems" and not isinstance(value, bool):
            yield "'uniqueItems' is neither true nor false"
        elif key == "pattern":
            yield from _pattern_problem(value)
        elif key == "properties":
            if not isinstance(value, dict):
                yield "'properties' is no mapping"
                return
            for inner in value.values():
                yield from _find_problems(inner)
        elif key in _LISTS:
            for inner in value:
                yield from _find_problems(inner)
        elif key in _INNER:
            yield from _find_problems(value)


def _is_type(value: Any) -> bool:
    named = value if isinstance(value, list) else [value]
    return bool(named) and all(isinstance(type_name, str) and type_name in _TYPES for type_name in named)


def _pattern_problem(value: Any) -> Iterator[str]:
    try:
        _compile(value)
    except (TypeError, ValueError):
        yield f"the pattern {str(value)[:40]!r} is not understood"


def _compile(pattern: Any) -> Any:
    """Raises: TypeError, ValueError."""
    import re2  # type: ignore[import-untyped]  # few schemas have a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise ValueError(str(error)) from error


def check_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return what is wrong with arguments, by a schema that was checked; '' if they match it.

    A name that the schema does not define is wrong unless the schema explicitly allows additional ones.
    """
    whole = {"additionalProperties": False, **schema, "type": "object"}
    check = _Check()
    try:
        problem = next(check.find(dict(arguments), whole, ""), "")
    except RecursionError:
        return "they are nested too deep"
    return "there is too much of them to be checked" if check.left < 0 else problem


class _Check:
    """One check of one value, with what is left of its work."""

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def find(self, value: Any, schema: Any, at: str) -> Iterator[str]:
        """Yield the problems of a value at a place, in order."""
        self.left -= 1
        if self.left < 0:
            yield "too much"  # whatever else is found, that is what is said in the end
            return
        if isinstance(schema, bool):
            if not schema:
                yield f"{_name(at)} is not expected"
            return
        wrong = _find_type(value, schema, at)
        if wrong or isinstance(value, Unresolved):
            yield from [wrong] if wrong else ()
            return
        yield from self._find_alike(value, schema, at)
        if isinstance(value, str):
            yield from _find_text(value, schema, at)
        elif _is_number(value):
            yield from _find_number(value, schema, at)
        elif isinstance(value, list):
            yield from self._find_list(value, schema, at)
        elif isinstance(value, dict):
            yield from self._find_object(value, schema, at)

    def _find_alike(self, value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
        """Yield the problems that values of any type can have."""
        if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
            shown = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"][:12])
            yield f"{_name(at)} should be one of {shown}"
        if "const" in schema and not _same(value, schema["const"]):
            yield f"{_name(at)} should be {json.dumps(schema['const'], ensure_ascii=False)[:80]}"
        for inner in schema.get("allOf", ()):
            yield from self.find(value, inner, at)
        if "anyOf" in schema and not any(self._holds(value, option) for option in schema["anyOf"]):
            yield f"{_name(at)} is none of what it may be"
        if "oneOf" in schema and sum(self._holds(value, option) for option in schema["oneOf"]) != 1:
            yield f"{_name(at)} is not exactly one of what it may be"
        if "not" in schema and self._holds(value, schema["not"]):
            yield f"{_name(at)} is what it must not be"

    def _holds(self, value: Any, schema: Any) -> bool:
        return next(self.find(value, schema, ""), None) is None

    def _find_list(self, value: list[Any], schema: dict[str, Any], at: str) -> Iterator[str]:
        yield from _find_count(len(value), schema, "Items", f"{_name(at)} should have", "items")
        if schema.get("uniqueItems") and len({_key(element) for element in value}) < len(value):
            yield f"{_name(at)} holds something twice"
        if "items" in schema:
            for index, element in enumerate(value):
                yield from self.find(element, schema["items"], f"{at}[{index}]")

    def _find_object(self, value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{_name(_join(at, name))} is missing"
        yield from _find_count(len(value), schema, "Properties", f"{_name(at)} should have", "entries")
        further = schema.get("additionalProperties", True)
        for name, member in value.items():
            yield from self.find(member, properties.get(name, further), _join(at, name))


def _find_type(value: Any, schema: dict[str, Any], at: str) -> str:
    named = schema.get("type")
    if named is None:
        return ""
    names = named if isinstance(named, list) else [named]
    if any(_TYPES[name](value) for name in names):
        return ""
    wanted = " or ".join(_WORDS.get(name, f"{'an' if name[0] in 'aeiou' else 'a'} {name}") for name in names)
    return f"{_name(at)} should be {wanted}"


def _find_text(value: str, schema: dict[str, Any], at: str) -> Iterator[str]:
    yield from _find_count(len(value), schema, "Length", f"{_name(at)} should have", "characters")
    if "pattern" in schema and not _compile(schema["pattern"]).search(value.encode("utf-8", "replace").decode()):
        match schema.get("examples"):
            case [str(example), *_]:
                such = f", as {example[:80]} does"
            case _:
                such = ""
        yield f"{_name(at)} does not match {schema['pattern'][:80]}{such}"


def _find_number(value: float, schema: dict[str, Any], at: str) -> Iterator[str]:
    bounds: list[tuple[str, Callable[[Any, Any], bool], str]] = [
        ("minimum", lambda a, b: a >= b, "at least"),
        ("maximum", lambda a, b: a <= b, "at most"),
        ("exclusiveMinimum", lambda a, b: a > b, "more than"),
        ("exclusiveMaximum", lambda a, b: a < b, "less than"),
        ("multipleOf", lambda a, b: _exact(a) % _exact(b) == 0, "a multiple of"),
    ]
    for key, holds, words in bounds:
        if key in schema and not holds(value, schema[key]):
            yield f"{_name(at)} should be {words} {schema[key]}"


def _find_count(count: int, schema: dict[str, Any], of: str, start: str, unit: str) -> Iterator[str]:
    if count < schema.get(f"min{of}", 0):
        yield f"{start} at least {schema[f'min{of}']} {unit}"
    if f"max{of}" in schema and count > schema[f"max{of}"]:
        yield f"{start} at most {schema[f'max{of}']} {unit}"


def _is_number(value: Any) -> bool:
    """A finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0


def _exact(value: float) -> Fraction:
    """A number as it is written."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    return _key(one) == _key(other)


def _key(value: Any) -> str:
    """Alike for equal values of JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, float) and _is_number(value) and value == int(value):
        value = int(value)
    if isinstance(value, list):
        return f"[{','.join(_key(element) for element in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{_key(member)}' for name, member in sorted(value.items()))}}}"
    return json.dumps(value)


def _name(at: str) -> str:
    return f"'{at[:80]}'" if at else "the whole"


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name
