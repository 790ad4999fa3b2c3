"""The settings and their types: for errors and listings, for CLAWFT_ variables, and for values typed on a command
line."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, ValidationError

from clawft.config.keys import DuplicateKey, Path, is_free, is_plugin_env, is_skill_env, join_path, nest, normalise_keys
from clawft.config.loader import SECTIONS, ConfigLayer, check_layer, decode_json, section_type
from clawft.config.secret import EnvValue, SecretRef, find_secrets, names_secret
from clawft.errors import ClawftError, Refused, find_close


class SettingProblem(Struct, frozen=True):
    """A problem with the value at a path; the message is '' where there is no such setting."""

    path: Path
    message: str = ""


def walk_sections() -> Iterator[tuple[str, type[Struct]]]:
    """Yield every table of settings by its path; NAME is a name that the user chooses, [] an entry of a list."""
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
    return tuple(member.value for member in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


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


def find_problem(value: Any, kind: Any, convert: Callable[[Any, Any], Any], path: Path) -> SettingProblem | None:
    """The first thing wrong with a value of a type, deepest first."""
    inner = plain(kind)
    if is_struct(inner) and isinstance(value, dict):
        kinds = fields_of(inner)
        unknown = next((key for key in value if key not in kinds), None)
        if unknown is not None:
            return SettingProblem((*path, unknown))
        below = [(key, child, kinds[key]) for key, child in value.items()]
    elif get_origin(inner) is dict and isinstance(value, dict):
        below = [(key, child, get_args(inner)[1]) for key, child in value.items()]
    elif get_origin(inner) is tuple and isinstance(value, list):
        below = [(index, child, get_args(inner)[0]) for index, child in enumerate(value)]
    else:
        below = []
    problems = (find_problem(child, kind, convert, (*path, key)) for key, child, kind in below)
    return next(filter(None, problems), None) or _check(value, kind, convert, path)


def _check(value: Any, kind: Any, convert: Callable[[Any, Any], Any], path: Path) -> SettingProblem | None:
    try:
        convert(value, kind)
    except ValidationError as error:
        choices = choices_of(kind)
        # The parser's own words would quote the value, which may be a secret that was put in the wrong place.
        message = f"expected {_either(choices)}" if choices else str(error).partition(" - at `$")[0]
        return SettingProblem(path, f"{message[0].lower()}{message[1:]}")
    return None


def _either(choices: tuple[Any, ...]) -> str:
    *first, last = (f"`{choice}`" for choice in choices)
    return f"{', '.join(first)} or {last}"


def find_close_setting(path: Path) -> str:
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


_PREFIX = "CLAWFT_"


def load_overrides(environ: Mapping[str, str], values: Mapping[str, Any]) -> list[ConfigLayer]:
    """One layer per variable, in order of their names. Raises: ClawftError for one that sets nothing there is."""
    return [
        _load(name, environ, values)
        for name in sorted(environ)
        if name.startswith(_PREFIX) and "__" in name.removeprefix(_PREFIX)
    ]


def _load(variable: str, environ: Mapping[str, str], values: Mapping[str, Any]) -> ConfigLayer:
    path = _path_of(variable, values)
    if "" in path:
        raise ClawftError("config-unknown-key", f"{variable} names no setting", path=variable)
    layer = ConfigLayer(variable, nest(path, _value_of(variable, environ[variable], path)))
    check_layer(layer, environ, strict=False)
    return layer


def _path_of(variable: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The path a variable means; a name that the files have in another case, or with dashes, is that name."""
    path: tuple[str, ...] = ()
    table: Any = values
    for part in variable.removeprefix(_PREFIX).split("__"):
        key = part.lower()
        if is_free(path):
            known = table if isinstance(table, Mapping) else {}
            key = next((name for name in known if name.lower().replace("-", "_") == key), _new_name(part, path))
        path = (*path, key)
        table = table.get(key) if isinstance(table, Mapping) else None
    return path


def _new_name(part: str, path: tuple[str, ...]) -> str:
    """A name that no file has: variables keep their case, and skills, hooks and headers are written with dashes."""
    if path[-1] == "env":
        return part
    name = part.lower()
    dashed = path in (("skills", "entries"), ("hooks", "entries"), ("plugins", "entries")) or path[-1] == "headers"
    return name.replace("_", "-") if dashed else name


def _value_of(variable: str, text: str, path: tuple[str, ...]) -> Any:
    """Lists and tables are written as JSON; a text for anything but a text is read as what it is meant to be."""
    kind = find_kind(path)
    inner = plain(kind)
    if inner is Any or (text[:1] in ("[", "{") and inner is not str):
        try:
            return normalise_keys(decode_json(text), is_free, path)
        except DuplicateKey as error:
            raise ClawftError("config-invalid", f"{variable} sets a key twice", path=variable) from error
        except (ValueError, RecursionError):
            return text
    if inner in (bool, int, float):
        try:
            return msgspec.convert(text, inner, strict=False)
        except msgspec.ValidationError:
            return text
    return text


_PREFIXES = {"env": "env", "key": "keystore"}


def parse_typed(
    path: tuple[str, ...],
    text: str,
    environ: Mapping[str, str],
    schemas: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    literal: bool = False,
) -> Any:
    """Parse what the user typed for a setting. Lists and tables are typed as JSON or TOML, a secret as `env:NAME` or
    `key:NAME`.

    Raises: ClawftError; Refused for a secret in plain text, unless it is meant `literal`.
    """
    kind = find_kind(path)
    inner = plain(kind)
    if inner is SecretRef or (inner is Any and _is_free_secret(path, environ, schemas or {})):
        return _parse_secret(path, text, environ, literal=literal)
    if inner is EnvValue:
        return _parse_variable(path, text, environ, literal=literal)
    if inner is str or choices_of(kind) == tuple(filter(_is_text, choices_of(kind))) != ():
        return text
    if inner is Any:
        try:
            return _parse_structure(text, path)
        except ValueError:
            return text
    if inner in (bool, int, float) or choices_of(kind):
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            return _number(text)  # the check of the whole says what was expected
    try:
        return _parse_structure(text, path)
    except ValueError as error:
        example = '["a", "b"]' if get_origin(inner) is tuple else '{ name = "value" }'
        message = f"{join_path(path)}: this is neither JSON nor TOML"
        raise ClawftError("config-invalid", message, hint=f"Write it as {example}") from error


def _is_free_secret(
    path: tuple[str, ...], environ: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether a text at this path, in a table that weft does not define, would be a secret."""
    return any(found == path for found, _ in find_secrets(nest(path, "x"), environ, schemas=schemas))


def _number(text: str) -> int | float | str:
    """A number that is out of range is still a number."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _parse_structure(text: str, path: tuple[str, ...]) -> Any:
    """JSON or a TOML value. Raises: ValueError."""
    try:
        value = decode_json(text)
    except (ValueError, RecursionError):
        try:
            document = tomllib.loads(f"value = {text}")
        except RecursionError as error:
            raise ValueError("too deep") from error
        if len(document) != 1:
            raise ValueError("more than one value") from None
        value = document["value"]
    return normalise_keys(value, is_free, path)


def _parse_variable(path: tuple[str, ...], text: str, environ: Mapping[str, str], *, literal: bool) -> Any:
    """A variable of a skill may be a plain text, unless its name says that it is a secret."""
    meant = text.startswith("{") or text.partition(":")[0] in _PREFIXES
    if not literal and (meant or names_secret(path[-1])):
        return _parse_secret(path, text, environ, literal=False)
    return text


def _parse_secret(path: tuple[str, ...], text: str, environ: Mapping[str, str], *, literal: bool) -> Any:
    if literal:
        return text
    kind, colon, name = text.partition(":")
    written: Any = {_PREFIXES[kind]: name} if colon and kind in _PREFIXES else text
    if text.startswith("{"):
        try:
            written = _parse_structure(text, path)
        except ValueError:
            written = None
    secret = SecretRef.parse(written, environ)
    if secret is not None and (secret.env or secret.keystore):
        return {"env": secret.env} if secret.env else {"keystore": secret.keystore}
    key = join_path(path)
    hint = f"Put it into a variable and run: weft config set {key} env:NAME (or pass --literal)"
    if is_skill_env(path[:-1]) or is_plugin_env(path[:-1]):
        hint = f"Run: weft {path[0]} env {path[2]} {path[-1]} (or pass --literal)"
    raise Refused("secret-literal", f"{key} is a secret, and would stand in the file in plain text", hint=hint)
