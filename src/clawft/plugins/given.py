"""What a plugin is given of the user's: its settings, and the variables that it was granted by name."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from clawft.config.masking import Secrets, is_odd
from clawft.config.plugins import PluginEntry, PluginsSettings
from clawft.config.secret import names_secret
from clawft.trust.audit import Audit
from clawft.trust.plugins import PluginStanding, entry_of_plugin

__all__ = ["fill_config", "is_steering", "note_given", "take_env"]

_STEERS = ("LD_", "PYTHON", "GLIBC_TUNABLES")  # these are told to the loader or to Python, before any grant counts


def fill_config(config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings with the defaults of their schema, at every depth."""
    filled = dict(deepcopy(config))
    for name, inner in ((schema or {}).get("properties") or {}).items():
        if not isinstance(inner, Mapping):
            continue
        if name not in filled and "default" in inner:
            filled[name] = deepcopy(inner["default"])
        below = filled.get(name)
        if isinstance(below, dict) or (below is None and name not in filled and _has_defaults(inner)):
            filled[name] = fill_config(below or {}, inner)
    return filled


def _has_defaults(schema: Mapping[str, Any]) -> bool:
    """Whether a table that nobody wrote would hold something."""
    if schema.get("required"):
        return False
    inner = (schema.get("properties") or {}).values()
    return any(isinstance(one, Mapping) and ("default" in one or _has_defaults(one)) for one in inner)


def take_env(standing: PluginStanding, entry: PluginEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """The granted variables that are set, in the plugin's own settings or else in the environment.

    Raises: ClawftError.
    """
    found: dict[str, str] = {}
    for name in standing.permissions.env_vars:
        value = entry.env[name].resolve(environ) if name in entry.env else environ.get(name, "")
        if value and not is_steering(name):
            found[name] = value
    return found


def is_steering(name: str) -> bool:
    """Whether a variable is never passed on, granted or not."""
    return name.upper().startswith(_STEERS)


def note_given(
    standing: PluginStanding,
    settings: PluginsSettings,
    given: tuple[Mapping[str, Any], Mapping[str, str]],
    secrets: Secrets,
    audit: Audit,
) -> None:
    """No text may hold the secrets that a plugin gets, and each is a line of the audit log.

    Raises: Refused if that cannot be written.
    """
    config, env = given
    entry = entry_of_plugin(standing.found, settings)
    hidden = [name for name, value in env.items() if _is_secret(name, value, entry)]
    secrets.add([*(env[name] for name in hidden), *_find_secret_values(config)])
    digest = standing.grant.digest if standing.grant else ""
    for name in hidden:
        rule = f'plugins.entries."{standing.id}"'
        audit.write("secret", name, decision="used", rule=rule, digest=digest, detail={"plugin": standing.id})


def _is_secret(name: str, value: str, entry: PluginEntry) -> bool:
    """Not every variable is one: to mask a language or a folder would spoil ordinary texts."""
    return (name in entry.env and entry.env[name].is_reference) or names_secret(name) or is_odd(value)


def _find_secret_values(config: Mapping[str, Any]) -> Iterator[str]:
    for name, value in config.items():
        if isinstance(value, str) and names_secret(name):
            yield value
        elif isinstance(value, Mapping):
            yield from _find_secret_values(value)
