"""The MCP servers there are for an app: those of the config, and those that plugins bring."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from clawft.config.mcp import find_confined
from clawft.mcp import McpHub
from clawft.mcp.brought import PluginServers, name_server
from clawft.mcp.confine import Confine
from clawft.plugging import load_plugin_standings, plugin_settings, supply_plugin

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.config.plugins import PluginsSettings
    from clawft.sandbox.sandbox import Sandbox

__all__ = ["has_plugin_server", "join_servers", "open_servers"]


def join_servers(app: "App", sandbox: "Sandbox", settings: "PluginsSettings") -> tuple[McpHub, PluginServers]:
    """The servers of the config, and what has those of plugins join them."""
    confine = Confine(sandbox, find_confined(app.config, app.workspace.user_dir), app.audit)
    hub = McpHub(app.config.mcp, app.workspace, app.environ, confine=confine)
    return hub, PluginServers(hub, app.workspace, lambda one: supply_plugin(app, one, settings), app.config.mcp.servers)


@asynccontextmanager
async def open_servers(app: "App") -> AsyncIterator[McpHub]:
    """All servers there are, each started when it is asked something. Raises: ClawftError."""
    hub, joining = join_servers(app, app.open_sandbox(), plugin_settings(app))
    async with hub, joining as servers:
        await servers.renew(load_plugin_standings(app))
        yield hub


def has_plugin_server(app: "App", name: str) -> bool:
    """Whether a plugin that may be used brings a server of a name."""
    ready = [one for one in load_plugin_standings(app, by_digest=False) if one.state == "ready" and one.found.manifest]
    return any(
        name_server(one.id, server.name) == name
        for one in ready
        for server in (one.found.manifest.servers if one.found.manifest else ())
    )
