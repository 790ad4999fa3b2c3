"""Settings as people see them: each with its value and where it comes from. No secret is resolved or shown."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, structs

from clawft.config.keys import Path, is_free, join_path, nest, split_path
from clawft.config.loader import SECTIONS, Config, ConfigLayer
from clawft.config.redaction import Secrets, find_named, looks_secret
from clawft.config.schema import find_close_setting, find_kind
from clawft.config.secret import SecretRef, find_secrets
from clawft.config.syntax import find_line, locate_keys
from clawft.errors import ClawftError, find_close

DEFAULT = "default"
HIDDEN = "<hidden>"
Schemas = Mapping[str, Mapping[str, Any]]  # of plugins' settings, by the plugins' ids
_NO_SCHEMAS: Schemas = {}
_REFERENCE = re.compile(r"(?:\w+ )?\$\{\w+\}")  # `Bearer ${KEY}` gives nothing away


class Setting(Struct, frozen=True):
    """One setting. `source` is a file, a variable or `default`; `configured` tells of a secret whether it is there."""

    path: tuple[str, ...]
    value: Any
    source: str = DEFAULT
    line: int = 0
    configured: bool | None = None

    @property
    def key(self) -> str:
        return join_path(self.path)


def list_settings(
    config: Config, environ: Mapping[str, str], schemas: Schemas = _NO_SCHEMAS, *, defaults: bool = False
) -> list[Setting]:
    """Every setting that is set, and with `defaults` all others too; in the order of the sections."""
    masks = Secrets.of(config, environ, schemas)
    places = {layer.source: locate_keys(layer.data, toml=layer.source.endswith(".toml")) for layer in config.layers}
    found: dict[tuple[str, ...], Setting] = {}
    for entry in _show(config.values, environ, schemas):
        source = _source_of(entry.path, config.layers)
        line = find_line(entry.path, places[source])
        found[entry.path] = Setting(entry.path, masks.mask_value(entry.value), source, line, entry.configured)
    everything = {path: value for path, value in _defaults(config) if not _is_below(path, found)}
    if defaults:
        found = {path: found.get(path) or Setting(path, value) for path, value in everything.items()} | found
    order = {path: index for index, path in enumerate(everything)}
    sections = {name: index for index, name in enumerate(SECTIONS)}
    last = len(order)
    return sorted(found.values(), key=lambda one: (sections.get(one.path[0], last), order.get(one.path, last)))


def redact(
    path: tuple[str, ...], value: Any, environ: Mapping[str, str], schemas: Schemas = _NO_SCHEMAS, *, free: bool = True
) -> Any:
    """A value as it may be shown, given where it stands; None for UNSET. Not `free`: nothing of settings that are not
    this program's own, since nobody knows whether they are secret."""
    if value is UNSET:
        return None
    shown = list(_show(nest(path, value), environ, schemas))
    if not free:
        shown = [structs.replace(entry, value=HIDDEN) if find_kind(entry.path) is Any else entry for entry in shown]
    return find_values(shown, path) if shown else {}


def _is_below(path: Path, tables: Container[Path]) -> bool:
    return any(path[:length] in tables for length in range(1, len(path)))


def _show(values: Mapping[str, Any], environ: Mapping[str, str], schemas: Schemas) -> Iterator[Setting]:
    secrets = dict(find_secrets(values, environ, schemas=schemas))
    for path, value in leaves(values, secrets):
        secret = secrets.get(path)
        if secret is None:
            yield Setting(path, _hide(path, value, secrets))
        else:
            yield Setting(path, str(secret), configured=secret.is_configured(environ))


def leaves(
    values: Mapping[str, Any], secrets: Container[Path], at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every setting of nested tables with its path; a table that is a secret's reference is one setting."""
    for key, value in values.items():
        path = (*at, key)
        if isinstance(value, dict) and path not in secrets:
            yield from leaves(value, secrets, path)
        else:
            yield path, value


def _source_of(path: Path, layers: Sequence[ConfigLayer]) -> str:
    """The last layer that sets a path."""
    return next(layer.source for layer in reversed(layers) if _has(layer.values, path))


def _has(values: Any, path: Path) -> bool:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def _hide(path: Path, value: Any, secrets: Mapping[Path, SecretRef]) -> Any:
    """Hide what variables and headers hold, which may be a secret, and everything that looks like one."""
    if path in secrets:
        return str(secrets[path])
    if isinstance(value, str):
        supplied = path[-2:-1] in (("env",), ("headers",)) and is_free(path[:-1])
        if _REFERENCE.fullmatch(value):
            return value
        return HIDDEN if supplied or looks_secret(value) else _hide_named(value)
    if isinstance(value, dict):
        return {key: _hide((*path, key), inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        shown = [_hide((*path, index), inner, secrets) for index, inner in enumerate(value)]
        return [_hide_named(element, before) for before, element in zip(["", *shown], shown, strict=False)]
    return msgspec.to_builtins(value)


def _hide_named(text: Any, option: Any = "") -> Any:
    """An argument or a setting without the secrets that it names, or that the option before it names."""
    if isinstance(text, str):
        for secret in find_named(text, str(option)):
            text = text.replace(secret, HIDDEN)
    return text


def _defaults(config: Config) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every setting there is with what it has now, in the order of the sections."""
    for name in SECTIONS:
        yield from _fields(getattr(config, name), (name,))


def _fields(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _fields(getattr(value, name), (*path, name))
    elif isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _fields(inner, (*path, name))
    else:
        yield path, msgspec.to_builtins(value, enc_hook=str)


def get_path(text: str) -> tuple[str, ...]:
    """A dotted key of a setting or a table of them. Raises: ClawftError with the close match."""
    try:
        path = split_path(text)
    except ValueError as error:
        hint = "A key has parts and dots: skills.load.watch"
        raise ClawftError("config-unknown-key", f"'{text}' is no key", hint=hint) from error
    for length in range(1, len(path) + 1):
        if find_kind(path[:length]) is None:
            kind = "setting" if length > 1 else "section"
            hint = " ".join(filter(None, [find_close_setting(path[:length]), "Run: weft config show --all"]))
            message = f"There is no {kind} '{join_path(path[:length])}'"
            raise ClawftError("config-unknown-key", message, hint=hint)
    return path


def find_values(settings: Sequence[Setting], path: tuple[str, ...]) -> Any:
    """Return the value of a setting, or all values of a table by name. Raises: ClawftError where there is no such
    setting."""
    below = [setting for setting in settings if setting.path[: len(path)] == path]
    if not below:
        known = {setting.path[len(path) - 1] for setting in settings if setting.path[: len(path) - 1] == path[:-1]}
        close = find_close(path[-1], known)
        hint = f"Did you mean '{join_path((*path[:-1], close))}'?" if close else "Run: weft config show"
        raise ClawftError("config-unknown-key", f"Nothing sets '{join_path(path)}'", hint=hint)
    if below[0].path == path:
        return below[0].value
    values: dict[str, Any] = {}
    for entry in below:
        table = values
        for part in entry.path[len(path) : -1]:
            table = table.setdefault(part, {})
        table[entry.path[-1]] = entry.value
    return values
