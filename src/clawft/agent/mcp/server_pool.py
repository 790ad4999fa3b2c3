"""All configured MCP servers: `server__tool` names in, results out. Without the package `mcp` it offers nothing.

Use it as an async context manager: leaving it ends every server. Nothing here decides who may use which tool.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from clawft.agent.mcp.launch import LaunchTerms, resolve_launch
from clawft.agent.mcp.remote import RemoteError, RemoteResult, RemoteToolListing, split_name
from clawft.config.tools import McpSettings, ServerSettings
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.sandbox.child import close_tasks
from clawft.trust.programs import make_host_programs
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from clawft.agent.mcp.launch import ServerConfinement
    from clawft.agent.mcp.offered_skills import OfferedSkill
    from clawft.agent.mcp.server import Connect, McpServer
    from clawft.agent.mcp.skill_listing import SkillListing


T = TypeVar("T")
_CLOSE_S = 5.0
# The SDK logs every request, and what it cannot read with a traceback.
_LOGGERS = ("mcp.client", "mcp.shared", "client", "httpx2", "httpcore2")


class McpServerPool:
    """The servers of `[mcp]`, and those that plugins brought. Each is started when its tools are first needed."""

    def __init__(
        self,
        settings: McpSettings,
        workspace: Workspace,
        environ: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
        connect: "Connect | None" = None,
        confine: "ServerConfinement | None" = None,
    ) -> None:
        self._settings = {name: server for name, server in settings.servers.items() if server.enabled}
        self._terms: dict[str, LaunchTerms] = {}
        self._workspace = workspace
        self._host_programs = confine.sandbox.host_programs if confine else make_host_programs(workspace, environ)
        self._clock = clock
        self._connect = connect
        self._confine = confine
        self._group: TaskGroup | None = None
        self._servers: dict[str, McpServer] = {}
        self._built: set[str] = set()
        self._diagnostics: tuple[Diagnostic, ...] = ()

    def join(self, name: str, settings: ServerSettings, terms: LaunchTerms) -> None:
        """Take in a server of a plugin."""
        self._settings[name], self._terms[name] = settings, terms

    def is_from_plugin(self, name: str) -> bool:
        """Return whether a plugin brought a server."""
        return name in self._terms

    async def leave(self, names: Iterable[str]) -> None:
        """End servers of plugins, and forget them."""
        with anyio.move_on_after(_CLOSE_S, shield=True):
            async with anyio.create_task_group() as closing:
                for name in names:
                    self._settings.pop(name, None)
                    self._terms.pop(name, None)
                    self._built.discard(name)
                    server = self._servers.pop(name, None)
                    if server is not None:
                        closing.start_soon(server.close)

    async def __aenter__(self) -> "McpServerPool":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._group is not None
        # Asked first, so that a session over HTTP is ended in order; then cancelled, whatever state it is in.
        with anyio.move_on_after(_CLOSE_S, shield=True):
            async with anyio.create_task_group() as closing:
                for server in self._servers.values():
                    closing.start_soon(server.close)
        self._servers, self._settings = {}, {}
        await close_tasks(self._group)

    async def tools(self) -> RemoteToolListing:
        """The tools of all servers, which are started at once as needed; what failed is in the diagnostics."""
        in_order = list((await _ask_all(self._load(), lambda server: server.list_tools())).values())
        return RemoteToolListing(
            tuple(tool for listing in in_order for tool in listing.tools),
            self._diagnostics + tuple(found for listing in in_order for found in listing.diagnostics),
        )

    async def call(self, name: str, arguments: Mapping[str, Any]) -> RemoteResult:
        """Run the tool `server__tool`. Raises: RemoteError."""
        server_name, tool = split_name(name)
        server = self._load().get(server_name)
        if server is None or not tool:
            raise self._unknown(server_name)
        try:
            msgspec.json.encode(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise RemoteError("mcp-arguments", f"The arguments of {name} cannot be sent") from error
        return await server.call(tool, arguments)

    async def skills(self, only: str = "") -> "dict[str, SkillListing]":
        """Return the skills that each server, or only one, offers, by server name. Problems with settings are in
        `diagnostics`. Raises: RemoteError if there is no such server."""
        servers = {only: self._get(only)} if only else self._load()
        return await _ask_all(servers, lambda server: server.list_skills())

    async def get_skill(self, server: str, uri: str) -> "OfferedSkill | None":
        """One skill of a server, listed or not. Raises: RemoteError."""
        return await self._get(server).get_skill(uri)

    async def read_skill_file(self, server: str, uri: str, max_bytes: int) -> bytes:
        """A file of a skill of a server. Raises: RemoteError."""
        return await self._get(server).read_skill_file(uri, max_bytes)

    def _get(self, name: str) -> "McpServer":
        """Raises: RemoteError."""
        server = self._load().get(name)
        if server is not None:
            return server
        for diagnostic in self._diagnostics:
            if diagnostic.code == "mcp-missing" or f"'{name}'" in diagnostic.message:
                raise RemoteError(diagnostic.code, diagnostic.message, hint=diagnostic.hint)
        raise self._unknown(name)

    def _unknown(self, name: str) -> RemoteError:
        close = find_close(name, self._settings)
        hint = f"Did you mean '{close}'?" if close else "Look at [mcp.servers] in the config"
        return RemoteError("mcp-unknown", f"No MCP server '{name}' that could be used", hint=hint)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems in the settings of servers, known once the servers are needed."""
        return self._diagnostics

    def _load(self) -> "dict[str, McpServer]":
        """The servers whose settings can be used; what is wrong with the others is said once and for all."""
        new = {name: settings for name, settings in self._settings.items() if name not in self._built}
        if new:
            self._built |= set(new)
            try:
                self._build(new)
            except ImportError as error:
                if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                    raise
                names = ", ".join(new)
                message = f"The package for MCP servers is not installed; these were left out: {names}"
                self._diagnostics += (Diagnostic("mcp-missing", "warning", message, hint="Install clawft[mcp]"),)
        return self._servers

    def _build(self, new: Mapping[str, ServerSettings]) -> None:
        from clawft.agent.mcp.server import McpServer, ServerFailures, open_target

        assert self._group is not None, "the pool is used inside `async with`"
        for logger in _LOGGERS:
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
        diagnostics: list[Diagnostic] = []
        for name, settings in new.items():
            terms = self._terms.get(name)  # of a plugin's, which is always confined
            confined = terms is not None or bool(self._confine and name in self._confine.servers)
            try:
                launch = resolve_launch(
                    name, settings, self._workspace, self._host_programs, confined=confined, terms=terms
                )
            except ClawftError as error:
                diagnostics.append(Diagnostic(error.code, "warning", str(error), hint=error.hint))
                continue
            if confined and settings.sandbox == "none":
                message = f"The MCP server '{name}' runs in the sandbox: what a project's config speaks of stays there"
                hint = f"To let it, say only sandbox = 'none' in [mcp.servers.{name}] of your own config"
                diagnostics.append(Diagnostic("mcp-sandbox", "warning", message, hint=hint))
            failures = ServerFailures(name, settings, launch.secrets, self._clock)
            connect = self._connect or partial(open_target, name=name, confine=self._confine)
            self._servers[name] = McpServer(name, settings, launch, failures, connect, self._group)
        self._diagnostics += tuple(diagnostics)


async def _ask_all(servers: "Mapping[str, McpServer]", ask: "Callable[[McpServer], Awaitable[T]]") -> "dict[str, T]":
    """Ask all servers at once; their answers in the order of the servers."""
    found: dict[str, T] = {}

    async def run(name: str, server: "McpServer") -> None:
        found[name] = await ask(server)

    names = list(servers)
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(run, name, servers[name])
    return {name: found[name] for name in names}
