"""The variables of one plugin: what it asks for, what it was granted, and where each value comes from."""

from collections.abc import Iterable
from shlex import quote
from typing import Literal

from msgspec import Struct, structs

from clawft.app import App
from clawft.cli._supply import Owner
from clawft.config.secret import SecretRef
from clawft.errors import ClawftError, Diagnostic
from clawft.plugging import plugin_settings
from clawft.plugins.given import is_steering
from clawft.trust.plugins import PluginStanding, entry_of_plugin

__all__ = ["Variable", "add_missing", "find_missing", "find_owner", "grant_hint", "list_variables", "tell_missing"]

Source = Literal["keystore", "config", "environment"]


class Variable(Struct, frozen=True):
    """One variable. `source` says where its value comes from, None that there is none; `value` shows nothing."""

    name: str
    asked: bool
    granted: bool
    source: Source | None = None
    value: SecretRef | None = None
    steers: bool = False  # the loader or Python would obey it, so it is never passed on


def find_owner(standing: PluginStanding) -> Owner:
    """A plugin as one that is given variables."""
    return Owner("plugin", standing.id, standing.id)


def list_variables(app: App, standing: PluginStanding) -> list[Variable]:
    """What a plugin asks for, then what else was set for it. Raises: ClawftError."""
    asked = standing.found.manifest.permissions.env_vars if standing.found.manifest else ()
    given = entry_of_plugin(standing.found, plugin_settings(app)).env
    found = []
    for name in dict.fromkeys((*asked, *given)):
        value = given.get(name)
        granted = name in standing.granted.env_vars
        source = _find_source(app, name, value)
        found.append(Variable(name, name in asked, granted, source, value, is_steering(name)))
    return found


def _find_source(app: App, name: str, value: SecretRef | None) -> Source | None:
    if value is None:
        return "environment" if app.environ.get(name) else None
    if not value.is_known(app.environ):
        return None
    return "keystore" if value.keystore else "environment" if value.env else "config"


def find_missing(app: App, standing: PluginStanding) -> list[str]:
    """What a plugin asks for and has no value; of one that was granted something, only what it was granted."""
    manifest = standing.found.manifest
    if manifest is None or not manifest.permissions.env_vars or standing.state == "shadowed":
        return []
    try:
        found = list_variables(app, standing)
    except ClawftError:  # the keys cannot be read, which `weft doctor` tells
        return []
    wanted = [one for one in found if one.asked and not one.steers and (one.granted or standing.grant is None)]
    return [one.name for one in wanted if one.source is None]


def add_missing(app: App, standings: Iterable[PluginStanding]) -> list[PluginStanding]:
    """Plugins with a word about the variables that have no value."""
    return [structs.replace(one, reasons=(*one.reasons, *tell_missing(app, one))) for one in standings]


def tell_missing(app: App, standing: PluginStanding) -> list[Diagnostic]:
    """A word about the variables of a plugin that have no value."""
    missing = find_missing(app, standing)
    if not missing:
        return []
    message = f"It asks for {', '.join(missing)}, which {'has' if len(missing) == 1 else 'have'} no value"
    hint = f"If it is needed: {find_owner(standing).command(missing[0])}"
    return [Diagnostic("plugin-env-missing", "note", message, standing.found.file, 0, hint)]


def grant_hint(standing: PluginStanding, name: str) -> str:
    """How a plugin is granted a variable."""
    if standing.grant is None:
        return f"weft plugins enable {quote(standing.id)}"
    return f"weft plugins grant {quote(standing.id)} --env {name}"
