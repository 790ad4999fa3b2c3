"""Where plugins have skills, commands, agents and hooks, and where skills of MCP servers lie, for an app.

Light: a list of skills asks it every time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawft.config.load import own_values
from clawft.discovery.plugin_folders import has_plugins
from clawft.discovery.served import served_locations

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.discovery.locations import Location
    from clawft.discovery.plugin_cache import Places

__all__ = ["find_served_places", "load_plugin_places"]


def load_plugin_places(app: "App") -> "Places | None":
    """Where the plugins that may bring something have it; None where there are none."""
    if not has_plugins(app.workspace, lambda: _read_settings(app), app.cache_dir):
        return None  # as most users: nothing of all that is loaded
    from clawft.discovery.plugin_cache import load_places

    return load_places(app.workspace, _read_settings(app), app.environ, app.cache_dir, lambda: _find(app))


def find_served_places(app: "App") -> "list[Location]":
    """Where approved skills of the MCP servers lie that there are."""
    return served_locations(app.workspace.user_dir, lambda name: _has_server(app, name))


def _has_server(app: "App", name: str) -> bool:
    own = app.config.mcp.servers.get(name)
    if own is not None:
        return own.enabled
    from clawft.borrowing.servers import has_plugin_server  # few plugins bring servers that serve skills

    return has_plugin_server(app, name)


def _read_settings(app: "App") -> Mapping[str, Any]:
    return own_values(app.config, app.workspace.user_dir, "plugins")


def _find(app: "App") -> "Places":
    from clawft.joining import find_places

    return find_places(app)
