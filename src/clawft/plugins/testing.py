"""For a plugin's own tests: it runs as weft runs it, in the sandbox, granted what it asks for, with a home of its own.

with run_plugin(FOLDER, config={"city": "Oslo"}) as plugin:
    assert plugin.call_tool("weather", days=2) == "Snow"
"""

import os
import queue
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from anyio.lowlevel import checkpoint
from msgspec import structs, to_builtins

from clawft.config.extensions import PluginEntry, PluginsSettings
from clawft.config.loader import Config
from clawft.config.redaction import Secrets
from clawft.config.tools import SandboxSettings, WebSettings
from clawft.contracts import (
    InboundMessage,
    MessagePayload,
    OutboundMessage,
    Permissions,
    PipelineContext,
    PluginError,
)
from clawft.errors import ClawftError
from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginEnvironment, log_path
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import load_plugin
from clawft.skills.parse.schema import check_arguments
from clawft.trust.audit import LOG_NAME, AuditLog
from clawft.trust.plugin_review import make_broken_error
from clawft.trust.plugins import PluginStatus, join_permissions, judge_plugins, make_grant
from clawft.trust.records import KEY_NAME, Seal
from clawft.workspace import Workspace, find_workspace

WAIT_S = 10.0
_NOTED_LINES = 40
_SOON = 20  # turns of the loop, in which it reads what a process wrote already


class ChannelUnderTest:
    """A channel that runs: what it hands in is kept until it is looked at."""

    def __init__(self, plugin: "PluginUnderTest", name: str) -> None:
        self._plugin = plugin
        self._name = name
        self._received: queue.Queue[InboundMessage] = queue.Queue()
        self._payloads: queue.Queue[tuple[str, str, MessagePayload]] = queue.Queue()

    def receive(self, timeout_s: float = WAIT_S) -> InboundMessage:
        """The next message that it handed in. Raises: TimeoutError."""
        try:
            return self._received.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError(f"The channel '{self._name}' handed in nothing") from None

    def send(self, message: OutboundMessage) -> None:
        """Have it send a message. Raises: ChannelError."""
        __tracebackhide__ = True
        self._plugin.call("send", channel=self._name, message=to_builtins(message))

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        """Accept a message from the plugin."""
        self._received.put(message)
        return True

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        """Deliver a message that is no text."""
        self._payloads.put((sender, conversation, payload))
        return True


class PluginUnderTest:
    """A plugin that runs. Its process is started by the first call."""

    def __init__(self, status: PluginStatus, plugins: Plugins, portal: BlockingPortal) -> None:
        self.id = status.id
        self.data_dir = os.path.join(plugins.around.workspace.user_dir, "plugin-data", status.id)
        self._log = log_path(plugins.around.workspace.user_dir, status.id)
        self._status = status
        self._plugins = plugins
        self._portal = portal

    def call(self, what: str, **arguments: Any) -> Any:
        """Have it do something. Raises: PluginError with its own answer; PluginFailed if it did not do it."""
        __tracebackhide__ = True
        return self._note_log(lambda: self._portal.call(lambda: self._plugins.call(self.id, what, **arguments)))

    def call_tool(self, name: str, **arguments: Any) -> str:
        """Call a tool and return its output. Raises: PluginError; ClawftError for arguments that no model could
        give."""
        __tracebackhide__ = True
        manifest = self._status.found.manifest
        assert manifest is not None
        declared = next((tool for tool in manifest.tools if tool.name == name), None)
        if declared is None:
            file = self._status.found.file
            raise ClawftError("plugin-tool", f"The manifest declares no tool '{name}'", path=file)
        problem = check_arguments(arguments, declared.parameters)
        if problem:
            raise ClawftError("plugin-tool", f"The arguments are not as the manifest says: {problem}")
        output = self.call("execute_tool", name=name, arguments=arguments)
        if output.is_error:
            raise PluginError(output.content)
        return str(output.content)

    def process(
        self, stage: str, request: Mapping[str, Any], response: Mapping[str, Any] | None = None
    ) -> PipelineContext:
        """Run a stage on a turn and return the resulting context. Raises: PluginError."""
        __tracebackhide__ = True
        context = PipelineContext(dict(request), dict(response) if response is not None else None)
        seen: PipelineContext = self.call("process", stage=stage, context=to_builtins(context))
        return seen

    def remember(self, backend: str, verb: str, **arguments: Any) -> Any:
        """Call a memory and return its result: `verb` is store, append, retrieve, search, delete or list_keys. Raises:
        PluginError."""
        __tracebackhide__ = True
        return self.call("memory", backend=backend, verb=verb, arguments=arguments)

    @contextmanager
    def open_channel(self, name: str) -> Iterator[ChannelUnderTest]:
        """A channel that receives, until this is left."""
        __tracebackhide__ = True
        channel = ChannelUnderTest(self, name)
        self._plugins.on_inbound(self.id, name, channel)
        running = self._portal.start_task_soon(lambda: self._plugins.call(self.id, "start_channel", channel=name))
        try:
            yield channel
        finally:
            self.call("stop_channel", channel=name)
            self._note_log(lambda: running.result(timeout=WAIT_S))

    def _note_log(self, work: Callable[[], Any]) -> Any:
        """Run a piece of work and return its result. An error includes the lines logged meanwhile, and omits the
        internal traceback.

        Raises: whatever the work raises.
        """
        __tracebackhide__ = True
        before = len(self._read_log())
        try:
            return work()
        except ClawftError as error:
            self._portal.call(_let_read)
            lines = self._read_log()[before:]
            if lines:
                refused = [line for line in lines[:-_NOTED_LINES] if " host: refused: " in line]
                error.add_note("\n".join(["The end of its log:", *refused, *lines[-_NOTED_LINES:]]))
            raise error.with_traceback(None) from None

    def _read_log(self) -> list[str]:
        try:
            with open(self._log, encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []


async def _let_read() -> None:
    for _ in range(_SOON):
        await checkpoint()


@contextmanager
def run_plugin(
    folder: str | os.PathLike[str],
    *,
    config: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    permissions: Permissions | None = None,
    home: str | os.PathLike[str] | None = None,
    servers: Sequence[str] = (),
) -> Iterator[PluginUnderTest]:
    """The plugin of a folder, with these settings and variables; ended on leaving.

    It is granted what its manifest asks for, or only `permissions`. Its data is kept in `home`, which is the same for
    several runs if you give one. `servers` are those of the test itself, as `127.0.0.1:8080`, which it reaches whatever
    its manifest asks for. Raises: ClawftError for a plugin that could not be put into use.
    """
    with ExitStack() as stack:
        place = os.fspath(home) if home is not None else stack.enter_context(tempfile.TemporaryDirectory())
        environ = {"PATH": os.environ.get("PATH", os.defpath), **(env or {}), "HOME": place}
        asked = Permissions(network=tuple(servers))
        settings, status = _judge(os.path.realpath(os.fspath(folder)), config or {}, (permissions, asked))
        web = WebSettings(block_private_ips=not servers)
        around = _surround(find_workspace(environ, place), environ, web)
        portal = stack.enter_context(start_blocking_portal())
        plugins = Plugins([status], settings, around)
        stack.enter_context(portal.wrap_async_context_manager(plugins))
        yield PluginUnderTest(status, plugins, portal)


def _judge(
    folder: str, config: Mapping[str, Any], permissions: tuple[Permissions | None, Permissions]
) -> tuple[PluginsSettings, PluginStatus]:
    """Load the plugin as if the user had just enabled it: with all permissions it asks for or only some, and with
    additional ones. Raises: ClawftError."""
    found = load_plugin("user", folder)
    if found.manifest is None:
        raise make_broken_error(found)
    settings = PluginsSettings(entries={found.id: PluginEntry(config=dict(config))})
    granted, more = permissions
    asked = join_permissions(found.manifest.permissions, more)
    found = structs.replace(found, manifest=structs.replace(found.manifest, permissions=asked))
    wanted = asked if granted is None else join_permissions(granted, more)
    grant = make_grant(found, compute_digest(folder).value, wanted)
    (status,) = judge_plugins([found], settings, lambda: [grant])
    if status.state != "ready":
        reason = status.reasons[0]
        raise ClawftError(reason.code, reason.message, path=reason.path, hint=reason.hint)
    return settings, status


def _surround(workspace: Workspace, environ: Mapping[str, str], web: WebSettings) -> PluginEnvironment:
    os.makedirs(workspace.user_dir, mode=0o700, exist_ok=True)
    secrets = Secrets.of(Config(), environ)
    audit = AuditLog(os.path.join(workspace.user_dir, LOG_NAME), Seal(os.path.join(workspace.user_dir, KEY_NAME)))
    return PluginEnvironment(workspace, environ, Sandbox(SandboxSettings(), workspace, environ, web), secrets, audit)
