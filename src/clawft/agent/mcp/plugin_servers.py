"""The MCP servers of plugins: named after their plugin, confined to its grants, and run on an approved copy."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial

import anyio
from msgspec import Struct

from clawft.agent.mcp.launch import LaunchTerms
from clawft.agent.mcp.server_pool import McpServerPool
from clawft.config.tools import ServerSettings
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import is_within_any, real_path
from clawft.skills.discovery.plugins import load_plugin
from clawft.skills.parse.client_plugins import VARIABLE, find_host
from clawft.skills.parse.plugin import ServerSpec
from clawft.trust.plugins import PluginGrant, PluginStatus, covers_host
from clawft.trust.run_copies import open_skill_copy
from clawft.workspace import Workspace

Supply = Callable[[PluginStatus], Mapping[str, str]]
_AGENT = re.compile(r"\$\{(PLUGIN_ROOT|PLUGIN_DATA)\}")


def name_server(plugin_id: str, server: str) -> str:
    """Return the name of a plugin's server: the last part of the plugin's id, and the server's own name."""
    who, what = (re.sub(r"[^A-Za-z0-9-]+", "_", part) for part in (plugin_id.rpartition(".")[2], server))
    # Never the one alone, which may be what the user calls a server of his own, with rules for its tools.
    return f"{who}-{what.strip('_-') or 'server'}"[:64].strip("_-")


class PluginServers:
    """The servers of plugins in a pool. `taken` are the names of the user's own, which no plugin's takes the place of;
    `supply` gives the variables that a plugin was granted.

    Leaving it ends them, and removes the copies that they ran on.
    """

    def __init__(self, pool: McpServerPool, workspace: Workspace, supply: Supply, taken: Collection[str]) -> None:
        self._pool = pool
        self._workspace = workspace
        self._supply = supply
        self._taken = frozenset(taken)
        self._opened: dict[str, _Opened] = {}
        self._lock = anyio.Lock()
        self._news: list[Diagnostic] = []

    async def __aenter__(self) -> "PluginServers":
        return self

    async def __aexit__(self, *_: object) -> None:
        for plugin_id in list(self._opened):
            await self._close(plugin_id)

    async def renew(self, statuses: Iterable[PluginStatus]) -> list[Diagnostic]:
        """Go by what the user decided: servers of plugins that are not ready any more, or were granted something else,
        end, and new ones join. What there is to say, each thing once."""
        ready = (status for status in statuses if status.state == "ready")
        wanted = {status.id: status for status in ready if status.found.manifest and status.found.manifest.servers}
        async with self._lock:
            for plugin_id, opened in list(self._opened.items()):
                if plugin_id not in wanted or wanted[plugin_id].grant != opened.grant:
                    await self._close(plugin_id)
            for plugin_id, plugin_status in wanted.items():
                if plugin_id not in self._opened:
                    self._opened[plugin_id] = await self._open(plugin_status)
            news, self._news = self._news, []
        return news

    async def _open(self, one: PluginStatus) -> "_Opened":
        opened = _Opened(one.grant, AsyncExitStack())
        try:
            places, variables = await _open_places(opened.stack, one, self._workspace), self._supply(one)
        except (ClawftError, OSError) as error:
            self._tell(one, f"The servers of the plugin '{one.id}' are left out: {error}")
            return opened
        used = self._taken.union(*(other.names for other in self._opened.values()))
        copy = load_plugin(one.found.scope, places.root)  # not what stood there while it was looked for
        for server in copy.manifest.servers if copy.manifest else ():
            name = name_server(one.id, server.name)
            try:
                if name in used or name in opened.names:
                    raise Refused("plugin-servers", "another server has its name")
                self._pool.join(name, *_make(one, server, places, variables))
                opened.names.append(name)
            except ClawftError as error:
                self._tell(one, f"The server '{name}' of the plugin '{one.id}' is left out: {error}", error.hint)
        return opened

    async def _close(self, plugin_id: str) -> None:
        opened = self._opened.pop(plugin_id)
        await self._pool.leave(opened.names)
        await opened.stack.aclose()

    def _tell(self, one: PluginStatus, message: str, hint: str = "") -> None:
        self._news.append(Diagnostic("plugin-servers", "warning", message, one.found.file, 0, hint))


class _Opened:
    """The running servers of one plugin, and the permissions granted to it."""

    def __init__(self, grant: PluginGrant | None, stack: AsyncExitStack) -> None:
        self.grant = grant
        self.stack = stack
        self.names: list[str] = []


class _Places(Struct, frozen=True):
    """The folders of one plugin: the copy that its programs run on, and that of its data."""

    root: str
    data: str
    project: str


async def _open_places(stack: AsyncExitStack, one: PluginStatus, workspace: Workspace) -> _Places:
    """Raises: Refused if the plugin is not, or no longer, what was granted; OSError."""
    assert one.grant is not None
    data = os.path.join(workspace.user_dir, "plugin-data", one.id)
    os.makedirs(data, mode=0o700, exist_ok=True)
    copy = await stack.enter_async_context(open_skill_copy(workspace.user_dir, one.found.folder, one.grant.digest))
    return _Places(real_path(copy), real_path(data), workspace.project)


def _make(
    one: PluginStatus, server: ServerSpec, places: _Places, variables: Mapping[str, str]
) -> tuple[ServerSettings, LaunchTerms]:
    """The settings of one server. Raises: Refused for what was not granted, or cannot be filled in."""
    hint = f"Run: weft plugins grant {one.id}"
    if server.command and not one.permissions.shell:
        raise Refused("plugin-withheld", "it was not granted to start programs", hint=hint)
    find = (lambda name: f"${{{name}}}") if server.literal else partial(_find, places, variables)
    terms = LaunchTerms(find, hint, f"Give it one: weft plugins env {one.id}")
    if server.url:
        # What Agent Plugins has in an address or a header is never filled in.
        url = server.url if server.literal else _fill(server.url, find)
        host = find_host(ServerSpec(server.name, url=url, literal=True))
        if not any(covers_host(granted, host) for granted in one.permissions.network):
            raise Refused("plugin-withheld", f"it was not granted to reach {host}", hint=hint)
        return ServerSettings(url=url, headers=server.headers), terms
    root = places.root
    agent = {"PLUGIN_ROOT": root, "PLUGIN_DATA": places.data}  # what Agent Plugins fills in; all else stays as it is
    fill = partial(_AGENT.sub, lambda match: agent[match[1]]) if server.literal else partial(_fill, find=find)
    command = fill(server.command) if not server.literal else server.command
    if command.startswith("./"):
        command = _inside(f"{root}/{command[2:]}", root)
    cwd = fill(server.cwd) if server.cwd else root
    cwd = _inside(cwd if os.path.isabs(cwd) else f"{root}/{cwd}", root, places.data)
    env = {name: fill(value) if server.literal else value for name, value in server.env.items()}
    prefix = "" if server.literal else "CLAUDE_"
    settings = ServerSettings(
        command=command,
        args=tuple(map(fill, server.args)),
        env=env | {f"{prefix}PLUGIN_ROOT": root, f"{prefix}PLUGIN_DATA": places.data},
        cwd=cwd,
        sandbox="confined",
        hosts=one.permissions.network,
        readable=(root,),
        writable=(places.data,),
    )
    return settings, terms


def _find(places: _Places, variables: Mapping[str, str], inner: str) -> str | None:
    """Find the value of `${NAME}` or `${NAME:-default}` in Claude Code's syntax: None for what is not granted, or not
    set."""
    name, colon, default = inner.partition(":-")
    own = {
        "CLAUDE_PLUGIN_ROOT": places.root,
        "CLAUDE_PLUGIN_DATA": places.data,
        "CLAUDE_PROJECT_DIR": places.project,
    }
    value = own.get(name) or variables.get(name)
    return value or (default if colon else value)


def _fill(text: str, find: Callable[[str], str | None]) -> str:
    """Fill the variables into a text. Raises: Refused for a variable without a value."""

    def take(match: re.Match[str]) -> str:
        value = find(match[1])
        if value is None:
            message = f"the variable {ascii(match[1][:64])[1:-1]} is not set, or was not granted"
            raise Refused("mcp-env", message, hint="Give it one: weft plugins env ID")
        return value

    return VARIABLE.sub(take, text)


def _inside(path: str, *folders: str) -> str:
    """A path that really lies in one of the folders. Raises: Refused."""
    real = real_path(path)
    if not is_within_any(real, folders):
        raise Refused("plugin-path", "its command or cwd does not lie in the plugin's folder")
    return real
