"""Where plugins have skills, commands, agents and hooks, for an app. Light: a list of skills asks it every time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawft.config.load import own_values
from clawft.discovery.plugin_folders import has_plugins

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.discovery.plugin_cache import Places

__all__ = ["load_plugin_places"]


def load_plugin_places(app: "App") -> "Places | None":
    """Where the plugins that may bring something have it; None where there are none."""
    if not has_plugins(app.workspace, lambda: _read_settings(app), app.cache_dir):
        return None  # as most users: nothing of all that is loaded
    from clawft.discovery.plugin_cache import load_places

    return load_places(app.workspace, _read_settings(app), app.environ, app.cache_dir, lambda: _find(app))


def _read_settings(app: "App") -> Mapping[str, Any]:
    return own_values(app.config, app.workspace.user_dir, "plugins")


def _find(app: "App") -> "Places":
    from clawft.joining import find_places

    return find_places(app)
