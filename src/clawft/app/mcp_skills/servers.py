"""The MCP servers of an app and its plugins, and the check of what they list while turns run."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.agent.mcp.launch import ServerConfinement
from clawft.agent.mcp.plugin_servers import PluginServers, name_server
from clawft.app.mcp_skills.offers import MAX_NAMED, ServedStatus, judge_offer, judge_offered, load_known
from clawft.app.plugins import load_plugin_statuses
from clawft.errors import Diagnostic
from clawft.trust.modes import find_confined
from clawft.trust.plugins import PluginStatus, get_plugin_entry

if TYPE_CHECKING:
    from clawft.agent.mcp.skill_listing import SkillListing
    from clawft.app.app import App
    from clawft.config.extensions import PluginsSettings
    from clawft.sandbox.sandbox import Sandbox


def join_servers(app: "App", sandbox: "Sandbox", settings: "PluginsSettings") -> tuple[McpServerPool, PluginServers]:
    """The servers of the config, and what has those of plugins join them."""
    confine = ServerConfinement(sandbox, find_confined(app.config, app.workspace.user_dir), app.audit)
    pool = McpServerPool(app.config.mcp, app.workspace, app.environ, confine=confine)
    return pool, PluginServers(
        pool, app.workspace, lambda one: _supply_plugin(app, one, settings), app.config.mcp.servers
    )


@asynccontextmanager
async def open_servers(app: "App") -> AsyncIterator[McpServerPool]:
    """All servers there are, each started when it is asked something. Raises: ClawftError."""
    pool, servers_context = join_servers(app, app.open_sandbox(), app.own_config.plugins)
    async with pool, servers_context as servers:
        await servers.renew(load_plugin_statuses(app))
        yield pool


def has_plugin_server(app: "App", name: str) -> bool:
    """Return whether a plugin that may be used brings a server of a name."""
    ready = [
        status
        for status in load_plugin_statuses(app, by_digest=False)
        if status.state == "ready" and status.found.manifest
    ]
    return any(
        name_server(plugin.id, server.name) == name
        for plugin in ready
        for server in (plugin.found.manifest.servers if plugin.found.manifest else ())
    )


_REPORTED_WITH_TOOLS = ("mcp-start", "mcp-lost")  # a server that is not there is reported where its tools are missed


class ListingCheck:
    """Compares what servers list, whenever they list anew, with what was approved: what changed is approved no more."""

    def __init__(self, app: "App", pool: McpServerPool) -> None:
        self._app = app
        self._pool = pool
        self._seen: dict[str, SkillListing] = {}
        self._reported: set[str] = set()

    async def run(self) -> tuple[list[Diagnostic], bool]:
        """Compare new listings with the approvals; return new diagnostics, each once, and whether an approval was
        withdrawn.

        Raises: ClawftError.
        """
        listings = await self._pool.skills()
        new = {name: listing for name, listing in listings.items() if self._seen.get(name) is not listing}
        self._seen = listings
        diagnostics = [
            found
            for new_listing in new.values()
            for found in new_listing.diagnostics
            if found.code not in _REPORTED_WITH_TOOLS
        ]
        listed = {name: new_listing for name, new_listing in new.items() if new_listing.known}
        if not listed:
            return diagnostics, False
        judged = judge_offered(self._app, listed)
        judged = [await self._ask(skill) if skill.state == "unlisted" else skill for skill in judged]
        approved = {path for path, approval in load_known(self._app).items() if approval.kind == "skill"}
        changed = [skill for skill in judged if skill.state == "changed" and skill.found.folder in approved]
        for skill in changed:
            self._app.reviewer.withdraw([skill.found.folder], skill.reasons[0].message if skill.reasons else "")
        return [*diagnostics, *map(_tell_changed, changed), *self._tell_waiting(judged)], bool(changed)

    async def _ask(self, one: ServedStatus) -> ServedStatus:
        """A skill that is not listed, by what its server says of it alone: a listing need not be whole."""
        try:
            offered = await self._pool.get_skill(one.found.origin.server, one.found.origin.uri)
        except RemoteError:
            offered = None
        return judge_offer(self._app, offered, load_known(self._app)) if offered else one

    def _tell_waiting(self, judged: list[ServedStatus]) -> Iterator[Diagnostic]:
        for server in dict.fromkeys(skill.found.origin.server for skill in judged):
            names = [skill.name for skill in judged if skill.found.origin.server == server and skill.state == "waiting"]
            if names and server not in self._reported:
                self._reported.add(server)
                more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
                shown = f"{', '.join(names[:MAX_NAMED])}{more}"
                message = f"The MCP server '{server}' offers skills that nobody approved: {shown}"
                yield Diagnostic("mcp-skills-waiting", "note", message, hint=f"Look at them: weft mcp skills {server}")


def _tell_changed(one: ServedStatus) -> Diagnostic:
    why = f". {one.reasons[0].message}" if one.reasons else ""
    message = f"The skill '{one.found.reference}' of an MCP server is not used any more{why}"
    return Diagnostic(
        "mcp-skill-changed", "warning", message, hint=f"Look at it, then: weft mcp trust {one.found.reference}"
    )


def _supply_plugin(app: "App", status: PluginStatus, settings: "PluginsSettings") -> dict[str, str]:
    """The variables that a plugin was granted, for its servers; no text may hold those that are secrets from then on.

    Raises: ClawftError.
    """
    from clawft.plugins.settings import find_granted_env, record_secrets

    env = find_granted_env(status, get_plugin_entry(status.found, settings), app.environ)
    record_secrets(status, settings, ({}, env), app.secrets, app.audit)
    return env
