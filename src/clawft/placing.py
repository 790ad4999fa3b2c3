"""Where plugins have skills, commands and agents, for an app. Light: a list of skills asks it every time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawft.config.load import own_values
from clawft.discovery.plugin_folders import has_plugins as has_any

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.discovery.locations import Location
    from clawft.discovery.plugin_cache import Places

__all__ = ["has_plugins", "load_plugin_places"]


def has_plugins(app: "App") -> bool:
    """Whether there is anything where plugins are looked for: most users have none, and load none of that."""
    return has_any(app.workspace, lambda: _read_settings(app), app.cache_dir)


def load_plugin_places(app: "App") -> "Places | None":
    """Where the plugins that may bring something have it; None where there are none."""
    if not has_plugins(app):
        return None
    from clawft.discovery.plugin_cache import load_places

    return load_places(app.workspace, _read_settings(app), app.environ, app.cache_dir, lambda: _find(app))


def _read_settings(app: "App") -> Mapping[str, Any]:
    return own_values(app.config, app.workspace.user_dir, "plugins")


def _find(app: "App") -> "tuple[tuple[Location, ...], tuple[Location, ...]]":
    from clawft.joining import find_places

    return find_places(app)
