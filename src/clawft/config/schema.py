"""What settings there are, and of which type: worked out from the sections, for errors, listings and edits."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct, ValidationError

from clawft.config.keys import Path, join_path
from clawft.config.load import SECTIONS, section_type
from clawft.errors import find_close

__all__ = ["Problem", "choices_of", "fields_of", "find_kind", "find_meant", "find_problem", "plain", "walk_sections"]


class Problem(Struct, frozen=True):
    """What is wrong with the value at a path; no message where there is no such setting."""

    path: Path
    message: str = ""


def walk_sections() -> Iterator[tuple[str, type[Struct]]]:
    """Every table of settings by its path; NAME stands for what the user chooses, [] for one of a list."""
    for name in SECTIONS:
        yield from _walk(name, section_type(name))


def _walk(path: str, kind: Any) -> Iterator[tuple[str, type[Struct]]]:
    kind = plain(kind)
    if is_struct(kind):
        yield path, kind
        for name, inner in fields_of(kind).items():
            yield from _walk(f"{path}.{name}", inner)
    elif get_origin(kind) is dict:
        yield from _walk(f"{path}.{'MODEL' if path.endswith('.models') else 'NAME'}", get_args(kind)[1])
    elif get_origin(kind) is tuple:
        yield from _walk(f"{path}[]", get_args(kind)[0])


def plain(kind: Any) -> Any:
    """A type without its limits and without None."""
    if get_origin(kind) is Annotated:
        return plain(get_args(kind)[0])
    arguments = get_args(kind)
    if NoneType in arguments:
        return plain(next(argument for argument in arguments if argument is not NoneType))
    return kind


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def fields_of(kind: type[Struct]) -> dict[str, Any]:
    """The settings of a table, with their types."""
    return get_type_hints(kind, include_extras=True)


def choices_of(kind: Any) -> tuple[Any, ...]:
    """The values a setting may have, where they can be listed."""
    kind = plain(kind)
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(one.value for one in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def find_kind(path: Sequence[str]) -> Any:
    """The type of the setting at a path; None where there is none. What other programs own may be Any."""
    kind: Any = section_type(path[0]) if path[0] in SECTIONS else None
    for part in path[1:]:
        kind = plain(kind)
        if is_struct(kind):
            kind = fields_of(kind).get(part)
        elif get_origin(kind) is dict:
            kind = get_args(kind)[1]
        elif kind is not Any:
            return None
    return kind


def find_problem(value: Any, kind: Any, convert: Callable[[Any, Any], Any], path: Path) -> Problem | None:
    """The first thing wrong with a value of a type, deepest first."""
    inner = plain(kind)
    if is_struct(inner) and isinstance(value, dict):
        kinds = fields_of(inner)
        unknown = next((key for key in value if key not in kinds), None)
        if unknown is not None:
            return Problem((*path, unknown))
        below = [(key, one, kinds[key]) for key, one in value.items()]
    elif get_origin(inner) is dict and isinstance(value, dict):
        below = [(key, one, get_args(inner)[1]) for key, one in value.items()]
    elif get_origin(inner) is tuple and isinstance(value, list):
        below = [(index, one, get_args(inner)[0]) for index, one in enumerate(value)]
    else:
        below = []
    problems = (find_problem(one, kind, convert, (*path, key)) for key, one, kind in below)
    return next(filter(None, problems), None) or _check(value, kind, convert, path)


def _check(value: Any, kind: Any, convert: Callable[[Any, Any], Any], path: Path) -> Problem | None:
    try:
        convert(value, kind)
    except ValidationError as error:
        choices = choices_of(kind)
        # The parser's own words would quote the value, which may be a secret that was put in the wrong place.
        message = f"expected {_either(choices)}" if choices else str(error).partition(" - at `$")[0]
        return Problem(path, f"{message[0].lower()}{message[1:]}")
    return None


def _either(choices: tuple[Any, ...]) -> str:
    *first, last = (f"`{choice}`" for choice in choices)
    return f"{', '.join(first)} or {last}"


def find_meant(path: Path) -> str:
    """The setting with the nearest name to one that is not there, in the same section if there is one."""
    key = str(path[-1])
    if len(path) == 1:
        close = find_close(key, SECTIONS)
        return f"Did you mean '{close}'?" if close else f"Sections are {', '.join(SECTIONS)}"
    kind = plain(find_kind([str(part) for part in path[:-1] if not isinstance(part, int)]))
    here = fields_of(kind) if is_struct(kind) else {}
    close = find_close(key, here)
    if close:
        return f"Did you mean '{join_path((*path[:-1], close))}'?"
    tables = dict(walk_sections())
    for names in ([name for name in tables if name.partition(".")[0] == path[0]], list(tables)):
        paths = {field: f"{name}.{field}" for name in reversed(names) for field in tables[name].__struct_fields__}
        close = find_close(key, paths)
        if close:
            return f"Did you mean '{paths[close]}'?"
    return ""
