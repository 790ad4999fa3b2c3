"""Settings of plugins: the variables they ask for, and whether they are on."""

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any, Literal

import click
from msgspec import Struct, structs

from clawft.app.app import App
from clawft.app.plugins import load_plugin_statuses
from clawft.cli.config_entries import VariableOwner, write_switches
from clawft.cli.options import open_here
from clawft.cli.output import CommandResult, one_line, say, show_diagnostic
from clawft.cli.plugins.description import plugin_json
from clawft.config.changes import EditedConfig
from clawft.config.extensions import PluginEntry, PluginsSettings
from clawft.config.secret import SecretRef
from clawft.errors import ClawftError, Diagnostic
from clawft.plugins.settings import is_reserved_variable
from clawft.trust.plugins import PluginStatus, get_plugin_entry
from clawft.trust.status import PLUGIN_STATES

Source = Literal["keystore", "config", "environment"]


class PluginVariable(Struct, frozen=True):
    """One variable. `source` says where its value comes from, None that there is none; `value` shows nothing."""

    name: str
    asked: bool
    granted: bool
    source: Source | None = None
    value: SecretRef | None = None
    steers: bool = False  # the loader or Python would obey it, so it is never passed on


def make_plugin_owner(status: PluginStatus) -> VariableOwner:
    """A plugin as one that is given variables."""
    return VariableOwner("plugin", status.id, status.id)


def list_variables(app: App, status: PluginStatus) -> list[PluginVariable]:
    """List the variables that a plugin asks for, then others that were set for it. Raises: ClawftError."""
    asked = status.found.manifest.permissions.env_vars if status.found.manifest else ()
    values = get_plugin_entry(status.found, app.own_config.plugins).env
    found = []
    for name in dict.fromkeys((*asked, *values)):
        value = values.get(name)
        granted = name in status.granted.env_vars
        source = _find_source(app, name, value)
        found.append(PluginVariable(name, name in asked, granted, source, value, is_reserved_variable(name)))
    return found


def _find_source(app: App, name: str, value: SecretRef | None) -> Source | None:
    if value is None:
        return "environment" if app.environ.get(name) else None
    if not value.is_known(app.environ):
        return None
    return "keystore" if value.keystore else "environment" if value.env else "config"


def find_missing(app: App, status: PluginStatus) -> list[str]:
    """Find requested variables without a value; for a plugin with a grant, only the granted ones."""
    manifest = status.found.manifest
    if manifest is None or not manifest.permissions.env_vars or status.state == "shadowed":
        return []
    try:
        found = list_variables(app, status)
    except ClawftError:  # the keys cannot be read, which `weft doctor` tells
        return []
    wanted = [
        variable
        for variable in found
        if variable.asked and not variable.steers and (variable.granted or status.grant is None)
    ]
    return [variable.name for variable in wanted if variable.source is None]


def add_missing_variables(app: App, statuses: Iterable[PluginStatus]) -> list[PluginStatus]:
    """Plugins with a word about the variables that have no value."""
    return [
        structs.replace(status, reasons=(*status.reasons, *render_missing_variables(app, status)))
        for status in statuses
    ]


def render_missing_variables(app: App, status: PluginStatus) -> list[Diagnostic]:
    """A word about the variables of a plugin that have no value."""
    missing = find_missing(app, status)
    if not missing:
        return []
    message = f"It asks for {', '.join(missing)}, which {'has' if len(missing) == 1 else 'have'} no value"
    hint = f"If it is needed: {make_plugin_owner(status).command(missing[0])}"
    return [Diagnostic("plugin-env-missing", "note", message, status.found.file, 0, hint)]


def grant_hint(status: PluginStatus, name: str) -> str:
    """Return the command that grants a variable to a plugin."""
    if status.grant is None:
        return f"weft plugins enable {quote(status.id)}"
    return f"weft plugins grant {quote(status.id)} --env {name}"


_REPORTED = ("plugin-withheld", "plugin-env-missing")  # also of a plugin that is ready


def load_as_enabled(app: App, chosen: Sequence[PluginStatus]) -> list[PluginStatus]:
    """Return the status that plugins would have if none were disabled. Raises: ClawftError."""
    statuses = load_plugin_statuses(app, _as_enabled(app.own_config.plugins, chosen))
    by_folder = {status.found.folder: status for status in statuses}
    return [by_folder.get(plugin.found.folder, plugin) for plugin in chosen]


def _as_enabled(settings: PluginsSettings, chosen: Sequence[PluginStatus]) -> PluginsSettings:
    entries = dict(settings.entries)
    for plugin in chosen:
        entries[plugin.id] = structs.replace(entries.get(plugin.id, PluginEntry()), enabled=True)
    return structs.replace(settings, enabled=True, entries=entries)


def write_enabled(app: App, ids: Sequence[str], *, enabled: bool) -> EditedConfig:
    """Have plugins on or off. Raises: ClawftError."""
    return write_switches(app, "plugins", ids, enabled=enabled)


def report_plugin_changes(meant: Sequence[PluginStatus], edited: EditedConfig | None, **more: Any) -> CommandResult:
    """The current state of plugins and what was written to the config."""
    app = open_here()
    now = {status.found.folder: status for status in load_plugin_statuses(app)}
    statuses = add_missing_variables(app, (now.get(plugin.found.folder, plugin) for plugin in meant))
    file_fields = {"path": edited.file if edited else None, "changed": edited is not None and edited.changed}

    def show() -> None:
        for plugin_status in statuses:
            click.echo(
                one_line(f"{plugin_status.id} is {plugin_status.state}: {PLUGIN_STATES.get(plugin_status.state, '')}")
            )
            for reason in plugin_status.reasons:
                if plugin_status.state != "ready" or reason.severity == "warning" or reason.code in _REPORTED:
                    show_diagnostic(reason, where="", indent="  ")
        if edited is not None and edited.changed:
            say(one_line(f"Written to {app.workspace.shorten(edited.file)}"))

    return CommandResult(
        "clawft.plugins.entries.v1",
        {"plugins": [plugin_json(plugin_status) for plugin_status in statuses], **file_fields, **more},
        show,
        int(any(plugin_status.state != "ready" for plugin_status in statuses)),
    )
