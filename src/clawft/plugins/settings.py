"""What a plugin is given of the user's: its settings, and the variables that it was granted by name."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from clawft.config.keys import Path, join_path
from clawft.config.masking import Secrets, is_odd
from clawft.config.plugin_secrets import find_plugin_secrets, replace_references
from clawft.config.plugins import PluginEntry, PluginsSettings
from clawft.config.secret import SecretRef, names_secret
from clawft.errors import ClawftError
from clawft.format.schema import check_arguments
from clawft.trust.audit import Audit
from clawft.trust.plugins import PluginStanding, entry_of_plugin

__all__ = ["fill_config", "is_steering", "note_given", "take_config", "take_env"]

_STEERS = ("LD_", "PYTHON", "GLIBC_TUNABLES")  # these are told to the loader or to Python, before any grant counts


def take_config(standing: PluginStanding, entry: PluginEntry, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a plugin, with the secrets that they refer to and the defaults of their schema.

    Raises: ClawftError for a reference to what is not set, or to what the schema does not allow.
    """
    found, schema = standing.found, standing.found.manifest.config_schema if standing.found.manifest else None

    def resolve(path: Path, secret: SecretRef) -> str:
        value = secret.resolve(environ)
        if not value:
            key = join_path(("plugins", "entries", standing.id, "config", *path))
            named = secret.env or f"the stored key '{secret.keystore}'"
            message = f"Its setting {join_path(path)} refers to {named}, and {secret.env or 'it'} is not set"
            hint = f"Set it, or run: weft config set '{key}' --unset"
            raise ClawftError("plugin-config", message, path=found.file, hint=hint)
        return value

    config = replace_references(entry.config, schema, resolve)
    problem = check_arguments(config, schema) if schema else ""
    if problem:
        message = f"Its settings are not as its config_schema says: {problem}"
        raise ClawftError("plugin-config", message, path=found.file)
    return fill_config(config, schema)


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
    entry, manifest = entry_of_plugin(standing.found, settings), standing.found.manifest
    hidden = [name for name, value in env.items() if _is_secret(name, value, entry)]
    written = [*find_plugin_secrets(entry.config if config else {}, manifest.config_schema if manifest else None)]
    secrets.add([*(env[name] for name in hidden), *(str(_get(config, path)) for path, _ in written)])
    digest = standing.grant.digest if standing.grant else ""
    rule = f'plugins.entries."{standing.id}"'
    for name in (*hidden, *(one.env or one.keystore for _, one in written if one.is_reference)):
        audit.write("secret", name, decision="used", rule=rule, digest=digest, detail={"plugin": standing.id})


def _get(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _is_secret(name: str, value: str, entry: PluginEntry) -> bool:
    """Not every variable is one: to mask a language or a folder would spoil ordinary texts."""
    return (name in entry.env and entry.env[name].is_reference) or names_secret(name) or is_odd(value)
