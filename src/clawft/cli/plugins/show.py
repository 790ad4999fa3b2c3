"""`weft plugins show ID`: all there is to know about one plugin."""

import json
import os
from typing import Any

import click
import msgspec
from msgspec import Struct

from clawft.app.app import App
from clawft.app.plugins import find_plugin, load_plugin_contents, load_plugin_statuses
from clawft.cli.completion import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, diagnostic_lines, one_line
from clawft.cli.plugins.description import (
    permission_lines,
    permissions_json,
    plugin_json,
    render_contents,
    render_granted,
    render_kind,
    render_no_permissions,
)
from clawft.cli.plugins.settings import add_missing_variables
from clawft.config.listing import redact
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic
from clawft.plugins.runtime import log_path
from clawft.sandbox.wasm import load_wasm
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import PluginContents
from clawft.skills.parse.plugin import PluginManifest
from clawft.trust.plugins import PluginStatus, check_fit, compare_permissions, get_plugin_entry
from clawft.trust.status import PLUGIN_STATES

_DIALECTS = {"clawft": "clawft", "agent-plugins": "Agent Plugins 1.0", "claude": "Claude Code"}


@click.command("show")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@format_option
def command(plugin_id: str) -> CommandResult:
    """Show one plugin: what it brings, asks for and was granted, its settings, and why it is as it is.

    ID may be the last part of an id, or the name of a folder.
    """
    app = open_here()
    status = find_plugin(load_plugin_statuses(app), plugin_id)
    (status,) = add_missing_variables(app, [status])
    diagnostics = (*_reasons(app, status), *load_plugin_contents(app, status.found).diagnostics)
    fields = plugin_json(status) | {"reasons": [diagnostic_json(diagnostic) for diagnostic in diagnostics]}

    def show() -> None:
        for line in plugin_detail_lines(app, status):
            click.echo(line)

    return CommandResult("clawft.plugins.show.v1", {**fields, **_details(app, status)}, show)


def plugin_detail_lines(app: App, status: PluginStatus) -> list[str]:
    """All there is to know about a plugin, to be read."""
    (status,) = add_missing_variables(app, [status])
    found, manifest = status.found, status.found.manifest
    shorten = app.workspace.shorten
    facts = [("Plugin", status.id), ("From", f"{found.scope} ({shorten(found.folder)})")]
    if manifest is not None:
        facts[1:1] = [
            ("Name", manifest.name if manifest.name != manifest.id else ""),
            ("Description", manifest.description or ""),
            ("Version", manifest.version),
            ("Author", manifest.author or ""),
            ("Needs", f"clawft {manifest.min_clawft_version}" if manifest.min_clawft_version else ""),
            ("Dialect", _DIALECTS[manifest.dialect] if manifest.dialect != "clawft" else ""),
            ("Runs", render_kind(found)),
        ]
    facts.append(("State", f"{status.state}: {PLUGIN_STATES.get(status.state, '')}"))
    lines = [f"{label}: {one_line(value)}" for label, value in facts if value]
    contents = load_plugin_contents(app, found)
    if manifest is not None:
        lines += _manifest_lines(app, status, manifest, contents)
    for reason in (*_reasons(app, status), *contents.diagnostics):
        where = shorten(reason.where) if reason.path != found.file else f"line {reason.line}" if reason.line else ""
        lines += diagnostic_lines(reason, where=where)
    return lines


def _manifest_lines(app: App, status: PluginStatus, manifest: PluginManifest, contents: PluginContents) -> list[str]:
    digest, log = compute_digest(status.found.folder).value, log_path(app.workspace.user_dir, status.id)
    return [
        *render_contents(manifest, contents),
        *_permission_lines(status, manifest),
        *_setting_lines(app, status, manifest),
        *_component_lines(app, status),
        *([one_line(f"Data: {app.workspace.shorten(_data_dir(app, status))}")] if manifest.has_code else []),
        *([one_line(f"Log: {app.workspace.shorten(log)}")] if os.path.exists(log) else []),
        f"Digest: {digest or 'none'}{_granted_on(status, digest)}",
    ]


def _permission_lines(status: PluginStatus, manifest: PluginManifest) -> list[str]:
    asked, has = manifest.permissions, status.granted
    if asked == Permissions():
        return [render_no_permissions(manifest)]
    return ["Asks for:", *permission_lines(asked, lambda key: render_granted(key, has))]


def _setting_lines(app: App, status: PluginStatus, manifest: PluginManifest) -> list[str]:
    """Its settings: what each is for, and what it is set to."""
    lines = []
    for name, about, value, is_set in _settings(app, status, manifest):
        shown = "not set" if value is None else json.dumps(value, ensure_ascii=False)
        description = f": {about}" if about else ""
        lines.append(
            "  " + one_line(f"{name} = {shown}{' (default)' if value is not None and not is_set else ''}{description}")
        )
    return [f'Settings, in plugins.entries."{status.id}".config:', *lines] if lines else []


def _settings(app: App, status: PluginStatus, manifest: PluginManifest) -> list[tuple[str, str, Any, bool]]:
    """Name, what it is for, value, and whether the config sets it."""
    properties = (manifest.config_schema or {}).get("properties")
    config = get_plugin_entry(status.found, app.own_config.plugins).config
    if not isinstance(properties, dict):
        return []
    path, schemas = ("plugins", "entries", status.id, "config"), {status.id: manifest.config_schema or {}}
    shown = redact(path, config, app.environ, schemas) if config else {}
    settings = []
    for name, schema in properties.items():
        about = schema if isinstance(schema, dict) else {}
        value = app.secrets.mask_value(shown.get(name, about.get("default")))
        settings.append((name, str(about.get("description") or ""), value, name in config))
    return settings


class _Component(Struct, frozen=True):
    """The file of a component, how large it is as it runs, if that is known, and what keeps it from running."""

    path: str
    bytes: int = 0
    problem: Diagnostic | None = None


def _find_component(app: App, status: PluginStatus) -> _Component | None:
    manifest = status.found.manifest
    if manifest is None or not manifest.wasm_module:
        return None

    path = os.path.join(status.found.folder, manifest.wasm_module)
    if status.grant is None and path.endswith(".wat"):
        return _Component(manifest.wasm_module)  # text of an untrusted plugin is not assembled just to be shown
    try:
        return _Component(manifest.wasm_module, len(load_wasm(path, app.own_config.plugins.wasm)))
    except ClawftError as error:
        return _Component(manifest.wasm_module, problem=error.diagnostic)


def _component_lines(app: App, status: PluginStatus) -> list[str]:
    component = _find_component(app, status)
    if component is None:
        return []
    if component.problem is not None:
        return [one_line(f"Component: {component.path}, which cannot be run: {component.problem.message}")]
    if not component.bytes:
        return [one_line(f"Component: {component.path}")]
    limit = app.own_config.plugins.wasm.max_bytes
    return [one_line(f"Component: {component.path}, {component.bytes:,} bytes of {limit:,} that are allowed")]


def _data_dir(app: App, status: PluginStatus) -> str:
    return os.path.join(app.workspace.user_dir, "plugin-data", status.id)


def _granted_on(status: PluginStatus, digest: str) -> str:
    grant = status.grant
    return f" (granted on {grant.at[:10]} by {grant.by})" if grant is not None and grant.digest == digest else ""


def _reasons(app: App, status: PluginStatus) -> tuple[Diagnostic, ...]:
    """Return the reasons for a plugin's state, its manifest's diagnostics, and what it would lack if it waits."""
    found, manifest = status.found, status.found.manifest
    if manifest is None:
        return status.reasons
    waits = status.state == "untrusted"
    fit = check_fit(found, manifest.permissions, app.workspace, app.config.tools.web) if waits else ()
    return tuple(dict.fromkeys((*status.reasons, *manifest.diagnostics, *fit)))


def _details(app: App, status: PluginStatus) -> dict[str, Any]:
    manifest = status.found.manifest
    if manifest is None:
        return {}
    component = _find_component(app, status)
    return {
        "author": manifest.author,
        "min_clawft_version": manifest.min_clawft_version,
        "manifest": status.found.file,
        "declared": {
            "tools": msgspec.to_builtins(manifest.tools),
            "stages": msgspec.to_builtins(manifest.stages),
            "servers": msgspec.to_builtins(manifest.servers),
        },
        "withheld": permissions_json(compare_permissions(status.granted, manifest.permissions)),
        "settings": [
            {"name": name, "description": about, "value": value, "set": is_set}
            for name, about, value, is_set in _settings(app, status, manifest)
        ],
        "component": _component_json(component) if component else None,
        "data_dir": _data_dir(app, status),
        "log": log_path(app.workspace.user_dir, status.id),
        "digest": compute_digest(status.found.folder).value or None,
    }


def _component_json(component: _Component) -> dict[str, Any]:
    problem = diagnostic_json(component.problem) if component.problem else None
    return {"path": component.path, "bytes": component.bytes or None, "problem": problem}
