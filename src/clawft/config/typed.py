"""A value as it is typed on a command line, as the setting's own type."""

import tomllib
from collections.abc import Mapping
from typing import Any, get_origin

import msgspec

from clawft.config.keys import is_free, is_plugin_env, is_skill_env, join_path, normalise_keys
from clawft.config.load import decode_json
from clawft.config.schema import choices_of, find_kind, plain
from clawft.config.secret import EnvValue, SecretRef, find_secrets, names_secret
from clawft.errors import ClawftError, Refused

__all__ = ["parse_typed"]

_PREFIXES = {"env": "env", "key": "keystore"}


def parse_typed(
    path: tuple[str, ...],
    text: str,
    environ: Mapping[str, str],
    schemas: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    literal: bool = False,
) -> Any:
    """What to write for a setting. Lists and tables are typed as JSON or TOML, a secret as `env:NAME` or `key:NAME`.

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
    """Whether a text at this place, whose settings are somebody else's, would be a secret."""
    values: Any = "x"
    for key in reversed(path):
        values = {key: values}
    return any(found == path for found, _ in find_secrets(values, environ, schemas=schemas))


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
