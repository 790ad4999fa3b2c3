"""The composition root of plugins: from an app to the plugins there are, with their state, and to those that run."""

import os
from typing import TYPE_CHECKING

from clawft.config.plugins import PluginsSettings, own_plugins
from clawft.discovery.plugins import FoundPlugin, load_plugins, plugin_folders
from clawft.errors import NotFound, find_close
from clawft.trust.plugins import PluginGrants, PluginStanding, judge_plugins

if TYPE_CHECKING:
    from clawft.app import App

__all__ = ["find_plugin", "load_found", "load_plugin_standings", "open_grants", "plugin_settings"]


def plugin_settings(app: "App") -> PluginsSettings:
    """What the user's own config says of plugins."""
    return own_plugins(app.config, app.workspace.user_dir, app.environ)


def open_grants(app: "App") -> PluginGrants:
    """What the user granted to plugins."""
    return PluginGrants(os.path.join(app.workspace.user_dir, "grants.json"), app.seal)


def load_found(app: "App", settings: PluginsSettings | None = None) -> tuple[FoundPlugin, ...]:
    """Every plugin there is, by its manifest alone."""
    load = (settings or plugin_settings(app)).load
    return load_plugins(plugin_folders(app.workspace, load.extra_dirs, entry_points=load.entry_points))


def load_plugin_standings(app: "App", *, by_digest: bool = True) -> tuple[PluginStanding, ...]:
    """Every plugin with its state, in order of precedence."""
    settings = plugin_settings(app)
    found = load_found(app, settings)
    return judge_plugins(found, settings, open_grants(app).load, by_digest=by_digest) if found else ()


def find_plugin(standings: tuple[PluginStanding, ...], reference: str) -> PluginStanding:
    """The plugin of an id, of the last part of an id, or of a folder's name. Raises: NotFound."""
    exact = [one for one in standings if one.id == reference]
    short = [one for one in standings if reference in (one.id.rpartition(".")[2], os.path.basename(one.found.folder))]
    named = exact or (short if len({one.id for one in short}) == 1 else [])
    if named:
        return next((one for one in named if one.state != "shadowed"), named[0])
    if short:
        hint = f"Say which: {', '.join(sorted({one.id for one in short}))}"
        raise NotFound("plugin-not-found", f"Several plugins are called '{reference}'", hint=hint)
    close = find_close(reference, (one.id for one in standings))
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft plugins list"
    raise NotFound("plugin-not-found", f"No plugin '{reference}'", hint=hint)
