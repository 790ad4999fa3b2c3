"""`weft plugins show ID`: all there is to know about one plugin."""

import json
import os
from typing import Any

import click
import msgspec
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import diagnostic_lines, one_line, print_json
from clawft.cli.plugins._json import permissions_json, plugin_json
from clawft.cli.plugins._variables import add_missing
from clawft.cli.plugins._words import brought_lines, kind_line, nothing_line, permission_lines, say_held
from clawft.config.listing import redact
from clawft.contracts import Permissions
from clawft.describe.diagnostics import to_json
from clawft.discovery.digest import compute_digest
from clawft.discovery.plugin_contents import PluginContents
from clawft.errors import ClawftError, Diagnostic
from clawft.format.plugin import PluginManifest
from clawft.plugging import find_plugin, load_plugin_contents, load_plugin_standings, plugin_settings
from clawft.plugins.log import log_path
from clawft.trust.plugin_fit import check_fit
from clawft.trust.plugins import PLUGIN_STATES, PluginStanding, entry_of_plugin

__all__ = ["command", "detail_lines"]

_DIALECTS = {"clawft": "clawft", "agent-plugins": "Agent Plugins 1.0", "claude": "Claude Code"}


@click.command("show")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@format_option
def command(plugin_id: str, output: str) -> None:
    """Show one plugin: what it brings, asks for and was granted, its settings, and why it is as it is.

    ID may be the last part of an id, or the name of a folder.
    """
    app = open_here()
    standing = find_plugin(load_plugin_standings(app), plugin_id)
    if output == "json":
        (standing,) = add_missing(app, [standing])
        said = (*_reasons(app, standing), *load_plugin_contents(app, standing.found).diagnostics)
        fields = plugin_json(standing) | {"reasons": [to_json(one) for one in said]}
        return print_json("clawft.plugins.show.v1", **fields, **_details(app, standing))
    for line in detail_lines(app, standing):
        click.echo(line)
    return None


def detail_lines(app: App, standing: PluginStanding) -> list[str]:
    """All there is to know about a plugin, to be read."""
    (standing,) = add_missing(app, [standing])
    found, manifest = standing.found, standing.found.manifest
    shorten = app.workspace.shorten
    facts = [("Plugin", standing.id), ("From", f"{found.scope} ({shorten(found.folder)})")]
    if manifest is not None:
        facts[1:1] = [
            ("Name", manifest.name if manifest.name != manifest.id else ""),
            ("Description", manifest.description or ""),
            ("Version", manifest.version),
            ("Author", manifest.author or ""),
            ("Needs", f"clawft {manifest.min_clawft_version}" if manifest.min_clawft_version else ""),
            ("Dialect", _DIALECTS[manifest.dialect] if manifest.dialect != "clawft" else ""),
            ("Runs", kind_line(found)),
        ]
    facts.append(("State", f"{standing.state}: {PLUGIN_STATES.get(standing.state, '')}"))
    said = [f"{label}: {one_line(value)}" for label, value in facts if value]
    contents = load_plugin_contents(app, found)
    if manifest is not None:
        said += _manifest_lines(app, standing, manifest, contents)
    for one in (*_reasons(app, standing), *contents.diagnostics):
        where = shorten(one.where) if one.path != found.file else f"line {one.line}" if one.line else ""
        said += diagnostic_lines(one, where=where)
    return said


def _manifest_lines(
    app: App, standing: PluginStanding, manifest: PluginManifest, contents: PluginContents
) -> list[str]:
    digest = compute_digest(standing.found.folder).value
    return [
        *brought_lines(manifest, contents),
        *_permission_lines(standing, manifest),
        *_setting_lines(app, standing, manifest),
        *_component_lines(app, standing),
        *([one_line(f"Data: {app.workspace.shorten(_data_dir(app, standing))}")] if manifest.has_code else []),
        *([one_line(f"Log: {app.workspace.shorten(_log_file(app, standing))}")] if _has_log(app, standing) else []),
        f"Digest: {digest or 'none'}{_granted_on(standing, digest)}",
    ]


def _permission_lines(standing: PluginStanding, manifest: PluginManifest) -> list[str]:
    asked, has = manifest.permissions, standing.granted
    if asked == Permissions():
        return [nothing_line(manifest)]
    return ["Asks for:", *permission_lines(asked, lambda key: say_held(key, has))]


def _setting_lines(app: App, standing: PluginStanding, manifest: PluginManifest) -> list[str]:
    """Its settings: what each is for, and what it is set to."""
    lines = []
    for name, about, value, is_set in _settings(app, standing, manifest):
        shown = "not set" if value is None else json.dumps(value, ensure_ascii=False)
        says = f": {about}" if about else ""
        lines.append(
            "  " + one_line(f"{name} = {shown}{' (default)' if value is not None and not is_set else ''}{says}")
        )
    return [f'Settings, in plugins.entries."{standing.id}".config:', *lines] if lines else []


def _settings(app: App, standing: PluginStanding, manifest: PluginManifest) -> list[tuple[str, str, Any, bool]]:
    """Name, what it is for, value, and whether the config sets it."""
    properties = (manifest.config_schema or {}).get("properties")
    given = entry_of_plugin(standing.found, plugin_settings(app)).config
    if not isinstance(properties, dict):
        return []
    path, schemas = ("plugins", "entries", standing.id, "config"), {standing.id: manifest.config_schema or {}}
    shown = redact(path, given, app.environ, schemas) if given else {}
    said = []
    for name, schema in properties.items():
        about = schema if isinstance(schema, dict) else {}
        value = app.secrets.mask_value(shown.get(name, about.get("default")))
        said.append((name, str(about.get("description") or ""), value, name in given))
    return said


class _Component(Struct, frozen=True):
    """The file of a component, how large it is as it runs, if that is known, and what keeps it from running."""

    path: str
    bytes: int = 0
    problem: Diagnostic | None = None


def _find_component(app: App, standing: PluginStanding) -> _Component | None:
    manifest = standing.found.manifest
    if manifest is None or not manifest.wasm_module:
        return None
    from clawft.sandbox.wasm import load_wasm

    path = os.path.join(standing.found.folder, manifest.wasm_module)
    if standing.grant is None and path.endswith(".wat"):
        return _Component(manifest.wasm_module)  # a stranger's text is not assembled to be looked at
    try:
        return _Component(manifest.wasm_module, len(load_wasm(path, plugin_settings(app).wasm)))
    except ClawftError as error:
        return _Component(manifest.wasm_module, problem=error.diagnostic)


def _component_lines(app: App, standing: PluginStanding) -> list[str]:
    component = _find_component(app, standing)
    if component is None:
        return []
    if component.problem is not None:
        return [one_line(f"Component: {component.path}, which cannot be run: {component.problem.message}")]
    if not component.bytes:
        return [one_line(f"Component: {component.path}")]
    limit = plugin_settings(app).wasm.max_bytes
    return [one_line(f"Component: {component.path}, {component.bytes:,} bytes of {limit:,} that are allowed")]


def _data_dir(app: App, standing: PluginStanding) -> str:
    return os.path.join(app.workspace.user_dir, "plugin-data", standing.id)


def _log_file(app: App, standing: PluginStanding) -> str:
    return log_path(app.workspace.user_dir, standing.id)


def _has_log(app: App, standing: PluginStanding) -> bool:
    return os.path.exists(_log_file(app, standing))


def _granted_on(standing: PluginStanding, digest: str) -> str:
    grant = standing.grant
    return f" (granted on {grant.at[:10]} by {grant.by})" if grant is not None and grant.digest == digest else ""


def _reasons(app: App, standing: PluginStanding) -> tuple[Diagnostic, ...]:
    """Why a plugin is as it is, what there is to say of its manifest either way, and what one that waits would lack."""
    found, manifest = standing.found, standing.found.manifest
    if manifest is None:
        return standing.reasons
    waits = standing.state == "untrusted"
    fit = check_fit(found, manifest.permissions, app.workspace, app.config.tools.web) if waits else ()
    return tuple(dict.fromkeys((*standing.reasons, *manifest.diagnostics, *fit)))


def _details(app: App, standing: PluginStanding) -> dict[str, Any]:
    manifest = standing.found.manifest
    if manifest is None:
        return {}
    component = _find_component(app, standing)
    return {
        "author": manifest.author,
        "min_clawft_version": manifest.min_clawft_version,
        "manifest": standing.found.file,
        "declared": {
            "tools": msgspec.to_builtins(manifest.tools),
            "stages": msgspec.to_builtins(manifest.stages),
            "servers": msgspec.to_builtins(manifest.servers),
        },
        "withheld": permissions_json(_withheld(standing, manifest)),
        "settings": [
            {"name": name, "description": about, "value": value, "set": is_set}
            for name, about, value, is_set in _settings(app, standing, manifest)
        ],
        "component": _component_json(component) if component else None,
        "data_dir": _data_dir(app, standing),
        "log": _log_file(app, standing),
        "digest": compute_digest(standing.found.folder).value or None,
    }


def _component_json(component: _Component) -> dict[str, Any]:
    problem = to_json(component.problem) if component.problem else None
    return {"path": component.path, "bytes": component.bytes or None, "problem": problem}


def _withheld(standing: PluginStanding, manifest: PluginManifest) -> Permissions:
    from clawft.trust.plugins import compare_permissions

    return compare_permissions(standing.granted, manifest.permissions)
