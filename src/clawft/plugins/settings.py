"""The settings of a plugin with their defaults and secrets, and the environment variables it was granted."""

from collections.abc import Mapping
from copy import deepcopy
from functools import reduce
from operator import getitem
from typing import Any

from clawft.config.extensions import PluginEntry, PluginsSettings, find_plugin_secrets, replace_references
from clawft.config.keys import Path, join_path
from clawft.config.redaction import Secrets, is_odd
from clawft.config.secret import SecretRef, names_secret
from clawft.errors import ClawftError
from clawft.skills.parse.schema import check_arguments
from clawft.trust.audit import AuditLog
from clawft.trust.plugins import PluginStatus, get_plugin_entry

_STEERS = ("LD_", "PYTHON", "GLIBC_TUNABLES")  # the loader or Python reads these, before any permission is checked


def resolve_plugin_config(status: PluginStatus, entry: PluginEntry, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a plugin, with the secrets that they refer to and the defaults of their schema.

    Raises: ClawftError for a reference to what is not set, or to what the schema does not allow.
    """
    found, schema = status.found, status.found.manifest.config_schema if status.found.manifest else None

    def resolve(path: Path, secret: SecretRef) -> str:
        value = secret.resolve(environ)
        if not value:
            key = join_path(("plugins", "entries", status.id, "config", *path))
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
    return add_config_defaults(config, schema)


def add_config_defaults(config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings with the defaults of their schema, at every depth."""
    filled = dict(deepcopy(config))
    for name, inner in ((schema or {}).get("properties") or {}).items():
        if not isinstance(inner, Mapping):
            continue
        if name not in filled and "default" in inner:
            filled[name] = deepcopy(inner["default"])
        below = filled.get(name)
        if isinstance(below, dict) or (below is None and name not in filled and _has_defaults(inner)):
            filled[name] = add_config_defaults(below or {}, inner)
    return filled


def _has_defaults(schema: Mapping[str, Any]) -> bool:
    """Return whether a table that nobody wrote would hold something."""
    if schema.get("required"):
        return False
    inner = (schema.get("properties") or {}).values()
    return any(
        isinstance(subschema, Mapping) and ("default" in subschema or _has_defaults(subschema)) for subschema in inner
    )


def find_granted_env(status: PluginStatus, entry: PluginEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """The granted variables that are set, in the plugin's own settings or else in the environment.

    Raises: ClawftError.
    """
    found: dict[str, str] = {}
    for name in status.permissions.env_vars:
        value = entry.env[name].resolve(environ) if name in entry.env else environ.get(name, "")
        if value and not is_reserved_variable(name):
            found[name] = value
    return found


def is_reserved_variable(name: str) -> bool:
    """Return whether a variable is never passed on, granted or not."""
    return name.upper().startswith(_STEERS)


def record_secrets(
    status: PluginStatus,
    settings: PluginsSettings,
    config_and_env: tuple[Mapping[str, Any], Mapping[str, str]],
    secrets: Secrets,
    audit: AuditLog,
) -> None:
    """No text may hold the secrets that a plugin gets, and each is a line of the audit log.

    Raises: Refused if that cannot be written.
    """
    config: Any
    config, env = config_and_env
    entry, manifest = get_plugin_entry(status.found, settings), status.found.manifest
    hidden = [name for name, value in env.items() if _is_secret(name, value, entry)]
    written = [*find_plugin_secrets(entry.config if config else {}, manifest.config_schema if manifest else None)]
    secrets.add([*(env[name] for name in hidden), *(str(reduce(getitem, path, config)) for path, _ in written)])
    digest = status.grant.digest if status.grant else ""
    rule = f'plugins.entries."{status.id}"'
    for name in (*hidden, *(secret.env or secret.keystore for _, secret in written if secret.is_reference)):
        audit.write("secret", name, decision="used", rule=rule, digest=digest, detail={"plugin": status.id})


def _is_secret(name: str, value: str, entry: PluginEntry) -> bool:
    """Not every variable is one: to mask a language or a folder would spoil ordinary texts."""
    return (name in entry.env and entry.env[name].is_reference) or names_secret(name) or is_odd(value)
