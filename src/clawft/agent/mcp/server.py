"""One MCP server: start it when first needed, call it, restart it after failures with growing delays."""

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp import Client, ClientSession, MCPError
from mcp.client.session import IncomingMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from clawft import __version__
from clawft.agent.mcp.conversion import convert_result, fetch_tools
from clawft.agent.mcp.launch import HttpLaunch, Launch, ServerConfinement
from clawft.agent.mcp.offered_skills import OfferedSkill
from clawft.agent.mcp.remote import RemoteError, RemoteResult, RemoteToolListing, clean_text, cut_text
from clawft.agent.mcp.skill_listing import SkillListing, fetch_skill, fetch_skill_file, fetch_skills, has_skills
from clawft.agent.mcp.transports import ConnectionWatch, open_http, open_stdio
from clawft.config.redaction import Secrets
from clawft.config.tools import ServerSettings
from clawft.errors import ClawftError, Diagnostic

_MAX_WAIT_S = 60.0
_PATIENCE_S = 1.0
_MAX_REASON = 400


class ServerFailures:
    """A count of a server's failures since it last worked; each failure doubles the wait before the next try."""

    def __init__(self, name: str, settings: ServerSettings, secrets: Secrets, clock: Callable[[], float]) -> None:
        self._name = name
        self._settings = settings
        self._secrets = secrets
        self._clock = clock
        self._count = 0
        self._retry_at = 0.0
        self._code = ""
        self._message = ""

    def note_start(self, error: Exception, watch: ConnectionWatch) -> None:
        """It did not start: 1, 2, 4 … 60 s until the next try."""
        reason = _explain(error, self._settings)
        self._note("mcp-start", f"The MCP server '{self._name}' did not start: {reason}", watch, self._count + 1)

    def note_end(self, watch: ConnectionWatch) -> None:
        """It was up and went away: that may have been a single crash, so the first new try may come at once."""
        self._note("mcp-lost", f"The MCP server '{self._name}' went away", watch, self._count)

    def forget(self) -> None:
        """It did its work."""
        self._count = 0

    @property
    def patience_s(self) -> float:
        """The seconds that a turn waits for the server; one that failed to start keeps starting in the background."""
        return _PATIENCE_S if self._count and self._code == "mcp-start" else math.inf

    def last(self) -> RemoteError:
        """The last failure, as an error for the caller that needs the server now."""
        left = self._retry_at - self._clock()
        again = f"It is tried again in {left:.0f} s" if left > 0 else ""
        return RemoteError(self._code, self._message, hint=again or f"Look at [mcp.servers.{self._name}] in the config")

    def check_may_try(self) -> None:
        """Raises: RemoteError, the last failure, while the wait after it is not over."""
        if self._count and self._clock() < self._retry_at:
            raise self.last()

    def _note(self, code: str, message: str, watch: ConnectionWatch, waits: int) -> None:
        self._count += 1
        self._retry_at = self._clock() + (min(2.0 ** min(waits - 1, 10), _MAX_WAIT_S) if waits else 0.0)
        status = f" (HTTP {watch.status})" if watch.status else ""
        words = watch.last_words(self._secrets)
        self._code = code
        self._message = self._secrets.mask(message) + status + (f". Its last words: {words}" if words else "")


def explain_answer(name: str, error: Exception, watch: ConnectionWatch, secrets: Secrets) -> RemoteError:
    """Return an error that says why a request gave no result. It shows the server's own message, without secrets."""
    if _is_lost(error, watch):
        watch.end()
        return RemoteError(
            "mcp-lost", f"The MCP server '{name}' went away", hint="It is started again when next needed"
        )
    if not isinstance(error, MCPError):
        return RemoteError("mcp-refused", f"The MCP server '{name}' gave an answer that cannot be read")
    message = cut_text(clean_text(secrets.mask(error.message)), _MAX_REASON)
    code = "mcp-arguments" if error.code == INVALID_PARAMS else "mcp-refused"
    return RemoteError(code, f"The MCP server '{name}' refused: {message}")


def _is_lost(error: Exception, watch: ConnectionWatch) -> bool:
    # By its text too: servers use the same number for errors of their own.
    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message == "Connection closed"
    return closed or watch.ended.is_set()


def root_cause(error: Exception) -> Exception:
    """The first error that is no group of others."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _explain(error: Exception, settings: ServerSettings) -> str:
    if isinstance(error, ClawftError):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"it did not answer within {settings.start_timeout_s:g} s"
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}"
    if isinstance(error, httpx2.ConnectError):
        return "its address cannot be reached"
    if isinstance(error, MCPError):
        return cut_text(clean_text(error.message), _MAX_REASON)
    return f"it gave an answer that cannot be read ({type(error).__name__})"


T = TypeVar("T")
Connect = Callable[[Launch, ConnectionWatch], Any]
_CALLED: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)
_WHO = Implementation(name="clawft", version=__version__)
_LISTING_S = 15.0  # how long all pages of its skills may take, while a turn waits


def open_target(
    launch: Launch, watch: ConnectionWatch, *, name: str = "", confine: ServerConfinement | None = None
) -> Any:
    """Open what the SDK's client connects to; a confined launch is recorded in the audit log first. Raises: Refused."""
    if confine is not None:
        confine.note(name, launch)
    if isinstance(launch, HttpLaunch):
        return open_http(launch, watch)
    return open_stdio(launch, watch, name, confine)


def _unlisted(error: RemoteError) -> SkillListing:
    diagnostic = Diagnostic(error.code, "warning", str(error), hint=error.hint)
    return SkillListing(diagnostics=(diagnostic,), known=False)


class _Life:
    """One connection, from its start to its end."""

    def __init__(self) -> None:
        self.watch = ConnectionWatch()
        self.scope = anyio.CancelScope()  # of the attempt to connect, and of all that follows
        self.settled = anyio.Event()  # it is up, or it failed
        self.over = anyio.Event()
        self.session: ClientSession | None = None
        self.listing: RemoteToolListing | None = None
        self.listed = 0  # how many changes the listing knows of
        self.changes = 0  # how many the server told of
        self.deaf = False  # it would tell, but we can no longer hear it
        self.skills: SkillListing | None = None
        self.skills_until = 0.0  # when its listing of skills is asked for again

    async def hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.changes += 1


class McpServer:
    """A configured server. `group` holds the tasks that outlive the requests that needed them."""

    def __init__(
        self,
        name: str,
        settings: ServerSettings,
        launch: Launch,
        failures: ServerFailures,
        connect: Connect,
        group: TaskGroup,
    ) -> None:
        self.name = name
        self._settings = settings
        self._launch = launch
        self._failures = failures
        self._connect = connect
        self._group = group
        self._life: _Life | None = None

    async def list_tools(self) -> RemoteToolListing:
        """Its tools as of now, from memory unless they changed; a diagnostic where there are none to be had."""
        try:
            life = await self._come_alive(self._failures.patience_s)
            changes = life.changes
            if life.listing is None or life.listed != changes or life.deaf:
                fetch = partial(fetch_tools, server=self.name, trusted=self._settings.trusted)
                life.listing = await self._ask(life, fetch)
                life.listed = changes
            return life.listing
        except RemoteError as error:
            return RemoteToolListing(diagnostics=(Diagnostic(error.code, "warning", str(error), hint=error.hint),))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> RemoteResult:
        """Run one of its tools. Raises: RemoteError."""
        life = await self._come_alive()
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))

        # Not `Client.call_tool`: it checks results against the server's own schema, whose patterns could hang us.
        async def send(session: ClientSession) -> CallToolResult | InputRequiredResult:
            return await session.send_request(request, _CALLED)

        result = await self._ask(life, send)
        self._failures.forget()
        if isinstance(result, InputRequiredResult):
            raise RemoteError("mcp-input", f"The tool {tool} of '{self.name}' asks for input that is not offered here")
        return convert_result(result)

    async def list_skills(self) -> SkillListing:
        """The skills that it offers, from memory as long as it said; a diagnostic where it does not answer."""
        try:
            life = await self._come_alive(self._failures.patience_s)
        except RemoteError as error:
            return _unlisted(error)
        if life.session is not None and not has_skills(life.session):
            return SkillListing(known=False)
        if life.skills is None or anyio.current_time() >= life.skills_until:
            try:
                life.skills = await self._ask(life, partial(fetch_skills, server=self.name), _LISTING_S)
            except RemoteError as error:
                life.skills = _unlisted(error)  # for as long as a listing holds: no turn waits for it again
            life.skills_until = anyio.current_time() + life.skills.ttl_s
        return life.skills

    async def get_skill(self, uri: str) -> OfferedSkill | None:
        """One of its skills as it is now, listed or not. Raises: RemoteError."""
        life = await self._come_alive()
        return await self._ask(life, partial(fetch_skill, server=self.name, uri=uri))

    async def read_skill_file(self, uri: str, max_bytes: int) -> bytes:
        """A file of one of its skills. Raises: RemoteError."""
        life = await self._come_alive()
        return await self._ask(life, partial(fetch_skill_file, uri=uri, max_bytes=max_bytes))

    async def close(self) -> None:
        """End the connection, if there is one, and wait until it has ended."""
        life = self._life
        if life is not None:
            if not life.settled.is_set():
                life.scope.cancel()  # it would not notice: it waits for the server's greeting
            life.watch.end()
            await life.over.wait()

    async def _come_alive(self, patience_s: float = math.inf) -> _Life:
        """The connection, started if there is none. Raises: RemoteError if it fails, or failed a moment ago."""
        life = self._life
        if life is not None and life.watch.ended.is_set():
            await life.over.wait()  # bounded: its process is being ended
        if self._life is life and (life is None or life.over.is_set()):
            self._failures.check_may_try()
            self._life = _Life()
            self._group.start_soon(self._live, self._life)
        life = self._life
        assert life is not None
        with anyio.move_on_after(patience_s):
            await life.settled.wait()  # bounded by start_timeout_s
        if life.session is None:
            raise self._failures.last()
        return life

    async def _live(self, life: _Life) -> None:
        """Connect, and stay connected until either side ends it."""
        deadline = anyio.current_time() + self._settings.start_timeout_s
        failure: Exception = TimeoutError()
        try:
            failure = await self._hold(life, deadline, "auto")
            if life.session is None and life.watch.ended.is_set() and isinstance(failure, MCPError):
                life.watch = ConnectionWatch()  # old servers hang up on a first message that they do not know
                failure = await self._hold(life, deadline, "legacy")
        finally:
            life.watch.end()
            if life.session is None:
                self._failures.note_start(failure, life.watch)
            else:
                self._failures.note_end(life.watch)
                life.session = None
            life.settled.set()
            life.over.set()

    async def _hold(self, life: _Life, deadline: float, mode: str) -> Exception:
        """One attempt to connect; if it succeeds, until the connection ends. Gives the reason of a failure."""
        life.scope = anyio.CancelScope(deadline=deadline)
        try:
            # Left only after the client inside: a scope must not end before what was entered within it.
            with life.scope:
                target = self._connect(self._launch, life.watch)
                async with Client(target, client_info=_WHO, cache=None, message_handler=life.hear, mode=mode) as client:
                    life.scope.deadline = math.inf
                    life.session = client.session
                    life.settled.set()
                    await self._stay(life, client)
        except Exception as error:  # a server may fail in any way, and must not take the agent with it
            return root_cause(error)
        return TimeoutError()

    async def _stay(self, life: _Life, client: Client) -> None:
        tools = client.server_capabilities.tools
        async with anyio.create_task_group() as group:
            if tools is not None and tools.list_changed and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                group.start_soon(self._listen, life, client)
            try:
                await life.watch.ended.wait()
            finally:
                life.watch.end()
            group.cancel_scope.cancel()

    async def _listen(self, life: _Life, client: Client) -> None:
        """Hear of changes where the protocol asks for a subscription; older ones come by themselves."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                life.changes += 1  # something may have, before we listened
                async for _ in changes:
                    pass  # `hear` receives each of these as well
        except (MCPError, RuntimeError, ValueError):
            pass
        life.deaf = True

    async def _ask(self, life: _Life, ask: Callable[[ClientSession], Awaitable[T]], patience_s: float = math.inf) -> T:
        """One request, bounded. A caller that is cancelled, or the time limit, tells the server to stop (SDK)."""
        assert life.session is not None
        limit_s = min(patience_s, self._settings.timeout_s)
        try:
            with anyio.fail_after(limit_s):
                return await ask(life.session)
        except TimeoutError as error:
            raise RemoteError(
                "mcp-timeout",
                f"The MCP server '{self.name}' did not answer within {limit_s:g} s",
                hint=f"Raise timeout_s in [mcp.servers.{self.name}] if it needs longer",
            ) from error
        except (MCPError, ValueError, RuntimeError) as error:
            raise explain_answer(self.name, error, life.watch, self._launch.secrets) from error
