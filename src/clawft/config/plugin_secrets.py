"""Secrets in the settings of a plugin, `[plugins.entries.ID.config]`: found by name, by the plugin's schema, or as a
reference `{ env = "NAME" }` or `{ keystore = "NAME" }`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from clawft.config.keys import Path
from clawft.config.secret import EnvValue, SecretRef, names_secret

__all__ = ["find_plugin_secrets", "replace_references"]

_MAX_NESTED = 8  # schemas in schemas, by anyOf and the like
_Schema = Mapping[str, Any]
_Schemas = Sequence[_Schema]


def find_plugin_secrets(value: Any, schema: _Schema | None, at: Path = ()) -> Iterator[tuple[Path, SecretRef]]:
    """Every secret in the settings of a plugin, with its path.

    A text is one if its key, the key of a table around it or the schema (`format: password`, `writeOnly`) says so. A
    reference is one wherever it stands, unless the schema wants a table there.
    """
    return _find_in_table(value, _expand(schema), at, secret=False) if isinstance(value, dict) else iter(())


def replace_references(
    config: Mapping[str, Any], schema: Mapping[str, Any] | None, replace: Callable[[Path, SecretRef], Any]
) -> dict[str, Any]:
    """Settings with something else in the place of each reference."""
    result: Any = deepcopy(dict(config))
    for path, secret in find_plugin_secrets(config, schema):
        if secret.is_reference:
            table = result
            for part in path[:-1]:
                table = table[part]
            table[path[-1]] = replace(path, secret)
    return dict(result)


def _find(value: Any, schemas: _Schemas, at: Path, *, secret: bool) -> Iterator[tuple[Path, SecretRef]]:
    reference = SecretRef.parse(value, {}) if isinstance(value, dict) else None
    secret = secret or any(one.get("format") == "password" or one.get("writeOnly") is True for one in schemas)
    if reference is not None and not any(map(_wants_table, schemas)):
        yield at, reference
    elif isinstance(value, dict):
        yield from _find_in_table(value, schemas, at, secret=secret)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _find(inner, _inner(schemas, "items"), (*at, index), secret=secret)
    elif secret and value and (isinstance(value, str) or _is_secret_number(value, at, schemas)):
        yield at, EnvValue(literal=str(value))


def _find_in_table(
    table: Mapping[str, Any], schemas: _Schemas, at: Path, *, secret: bool
) -> Iterator[tuple[Path, SecretRef]]:
    for key, value in table.items():
        named = names_secret(key) or names_secret(key.removesuffix("s"))
        yield from _find(value, _property(schemas, key), (*at, key), secret=secret or named)


def _is_secret_number(value: Any, at: Path, schemas: _Schemas) -> bool:
    """`pin_token = 1234` is one; `max_tokens = 1234` is not."""
    named = names_secret(next((part for part in reversed(at) if isinstance(part, str)), ""))
    return type(value) in (int, float) and (named or any(one.get("format") == "password" for one in schemas))


def _wants_table(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return "properties" in schema or "object" in (kind if isinstance(kind, list) else [kind])


def _property(schemas: _Schemas, key: str) -> _Schemas:
    named = [one["properties"][key] for one in schemas if key in (one.get("properties") or {})]
    return [found for one in named for found in _expand(one)] or _inner(schemas, "additionalProperties")


def _inner(schemas: _Schemas, keyword: str) -> _Schemas:
    return [found for one in schemas for found in _expand(one.get(keyword))]


def _expand(schema: Any, depth: int = 0) -> _Schemas:
    """A schema and the alternatives that it names."""
    if not isinstance(schema, Mapping) or depth > _MAX_NESTED:
        return ()
    inner = [one for keyword in ("anyOf", "oneOf", "allOf") for one in schema.get(keyword) or ()]
    return [schema, *(found for one in inner for found in _expand(one, depth + 1))]
